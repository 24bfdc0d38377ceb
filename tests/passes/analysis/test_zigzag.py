"""ZigZag's counting: the energies of published mappings, to the last digit."""

import ast
import csv
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.arch import Architecture, Fanout, MemoryLevel
from accnn.ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from accnn.ir.workload import Dim, Operand, Workload
from accnn.passes.analysis.zigzag import zigzag_cost, zigzag_elements

DATA = Path(__file__).parents[3] / "benchmarks" / "data" / "zigzag"
DIM = {"B": "N", "OY": "P", "OX": "Q", "FY": "R", "FX": "S", "G": "G", "K": "K", "C": "C"}
LEVELS = {
    Operand.I: ("spad_I", "glb", "dram"),
    Operand.W: ("spad_W", "dram"),
    Operand.O: ("spad_O", "glb", "dram"),
}


def eyeriss() -> Architecture:
    """The accelerator of eyeriss_salsa.yaml."""
    w, i, o = Operand
    spad = {"word_bits": 8, "read_energy": 1.0, "write_energy": 1.5}
    return Architecture(
        name="eyeriss",
        scratchpad="glb",
        accumulator_bits=16,
        mac_energy=0.5,
        levels=(
            MemoryLevel(
                name="dram",
                holds=(w, i, o),
                capacity=None,
                word_bits=64,
                read_energy=1000.0,
                write_energy=1000.0,
            ),
            MemoryLevel(
                name="glb",
                holds=(i, o),
                capacity=131072,
                word_bits=128,
                read_energy=30.0,
                write_energy=40.0,
            ),
            MemoryLevel(name="spad_W", holds=(w,), capacity=448, **spad),
            MemoryLevel(name="spad_I", holds=(i,), capacity=24, **spad),
            MemoryLevel(
                name="spad_O",
                holds=(o,),
                capacity=48,
                word_bits=16,
                read_energy=1.5,
                write_energy=2.0,
            ),
        ),
        fanouts=(
            Fanout(name="D1", below="glb", size=14),
            Fanout(name="D2", below="glb", size=12),
        ),
    )


def workload(text: str) -> Workload:
    found = {name: int(value) for name, value in re.findall(r"([A-Za-z]+)(\d+)", text)}
    stride = found.pop("s")
    return Workload(
        stride=(stride, stride), **{DIM[name]: extent for name, extent in found.items()}
    )


def nest(row: Mapping[str, str]) -> LoopNest:
    mapping = ast.literal_eval(re.sub(r"\b([A-Z]+)\b", r"'\1'", row["temporal_mapping"]))
    spatial = ast.literal_eval(row["spatial"])
    loops = [loop for level in mapping["O"] for loop in level]
    allocations: list[Allocation] = []
    for operand, names in LEVELS.items():
        inside = 0
        found = []
        for name, level in zip(names, mapping[operand.value], strict=True):
            inside += len(level)
            found.append(Allocation(operand, name, len(loops) - inside))
        allocations += reversed(found)
    return LoopNest(
        workload=workload(row["dims"]),
        temporal=tuple(Loop(Dim(DIM[dim]), extent) for dim, extent in reversed(loops)),
        spatial=tuple(
            SpatialLoop(Dim(DIM[dim]), extent, axis)
            for axis, unrolled in spatial.items()
            for dim, extent in unrolled
        ),
        allocations=tuple(allocations),
    )


ROWS = list(csv.DictReader((DATA / "results.csv").read_text().splitlines()))


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row['engine']}{row['lpf_limit']}-{row['dnn']}-{row['layer']}"
)
def test_energy_equals_zigzag_to_the_last_digit(row):
    cost = zigzag_cost(nest(row), eyeriss())

    assert f"{cost.energy:.5e}" == f"{float(row['energy_pJ']):.5e}"
    assert f"{cost.mac_energy:.5e}" == f"{float(row['mac_energy_pJ']):.5e}"
    assert cost.cycles == int(row["ideal_temporal_cycles"])


@pytest.mark.parametrize("row", ROWS[:10], ids=lambda row: row["layer"])
def test_zigzag_mappings_are_valid_nests(row):
    nest(row).verify(eyeriss())


PAIRS = st.tuples(st.integers(1, 4), st.integers(1, 4))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(PAIRS, PAIRS, PAIRS, PAIRS, st.tuples(st.integers(1, 20), st.integers(1, 20)))
def test_an_input_tile_has_the_rows_and_columns_that_it_meets_as_far_as_they_exist(
    outputs, taps, stride, dilation, stored
):
    tile = {Dim.P: outputs[0], Dim.Q: outputs[1], Dim.R: taps[0], Dim.S: taps[1]}
    tile |= {Dim.C: 3, Dim.N: 2, Dim.G: 1, Dim.K: 7}
    met = [
        len(
            {
                output * stride[axis] + tap * dilation[axis]
                for output in range(outputs[axis])
                for tap in range(taps[axis])
            }
        )
        for axis in (0, 1)
    ]

    found = zigzag_elements(Workload(stride=stride, dilation=dilation), Operand.I, tile, stored)

    assert found == min(met[0], stored[0]) * min(met[1], stored[1]) * 3 * 2

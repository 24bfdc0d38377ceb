"""ZigZag's files have the forms that its validators ask for, and say what the nest says."""

import math
import re

import pytest

from accnn.backend.load import catalogue, load_architecture
from accnn.ir.arch import Architecture
from accnn.ir.errors import OptionError
from accnn.ir.workload import Dim, Workload
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.output_stationary import OutputStationary
from accnn.passes.mapping.zigzag_files import (
    write_zigzag_accelerator,
    write_zigzag_mapping,
    write_zigzag_workload,
)

LAYER = Workload(R=3, S=3, P=16, Q=16, C=16, K=32, stride=(2, 1), dilation=(1, 2))
NAMES = {"B": Dim.N, "K": Dim.K, "C": Dim.C, "OY": Dim.P, "OX": Dim.Q, "FY": Dim.R, "FX": Dim.S}
UNROLLED = re.compile(r'"([A-Z]+), (\d+)"')
LOOP = re.compile(r"^    - \[([A-Z]+), (\d+)\]$", re.M)
MOVE = re.compile(r'"(I[12]|O), (fh|tl|fl|th)"')
PORT = re.compile(
    r"^      - \{name: r?w?_port_1, type: (read|write|read_write), bandwidth_min: (\d+), "
    r"bandwidth_max: (\d+), allocation: \[(.*)\]\}$"
)


def machine(name: str) -> Architecture:
    arch = load_architecture(name)
    return arch.for_npu(arch.npus[0])


def nest_on(arch: Architecture, layer: Workload = LAYER):
    return OutputStationary().map(MappingProblem(workload=layer, arch=arch)).nest


def test_a_workload_is_a_convolution_with_its_strides() -> None:
    arch = machine("simba")

    text = write_zigzag_workload(nest_on(arch), arch)

    assert "  dimension_relations: [ix=1*ox+2*fx, iy=2*oy+1*fy]\n" in text
    assert "  loop_dims: [B, K, C, OY, OX, FY, FX]\n" in text
    assert "  loop_sizes: [1, 32, 16, 16, 16, 3, 3]\n" in text
    assert "{W: 8, I: 8, O: 24, O_final: 8}" in text


@pytest.mark.parametrize("name", ["simba", "edge-1m", "edge-fp32"])
def test_all_loops_of_the_nest_are_in_the_mapping(name: str) -> None:
    arch = machine(name)
    nest = nest_on(arch)

    text = write_zigzag_mapping(nest, arch)

    for short, dim in NAMES.items():
        factors = [
            int(size)
            for found, size in (*UNROLLED.findall(text), *LOOP.findall(text))
            if found == short
        ]
        assert math.prod(factors) == nest.extents[dim]
    innermost = next(loop for loop in reversed(nest.temporal) if loop.extent > 1)
    first = LOOP.findall(text)[0]
    assert (NAMES[first[0]], int(first[1])) == (innermost.dim, innermost.extent)


@pytest.mark.parametrize("name", [item.name for item in catalogue()])
def test_memories_have_what_the_validator_asks_for(name: str) -> None:
    arch = machine(name)

    text = write_zigzag_accelerator(arch)

    memories = text.split("memories:\n")[1].split("    size: ")[1:]
    assert len(memories) == len(arch.levels)
    for level, memory in zip(reversed(arch.levels), memories, strict=True):
        ports = [found for line in memory.splitlines() if (found := PORT.match(line))]
        assert len(ports) == (1 if level.shared_port else 2)
        moves = [
            move for port in ports for move in re.findall(r'"(I[12]|O), (fh|tl|fl|th)"', port[4])
        ]
        assert len(moves) == len(set(moves)) == sum(4 if item == "O" else 2 for item in level.holds)
        assert all(0 < int(port[2]) <= int(port[3]) for port in ports)
        size = int(memory.split("\n")[0])
        assert size == (10**13 if level.usable is None else 8 * level.usable)
    served = re.findall(r"served_dimensions: \[(.*)\]", text)
    assert served[-1].count("D") == len(arch.fanouts)
    assert [item.count("D") for item in served] == sorted(item.count("D") for item in served)


def test_groups_have_no_form() -> None:
    arch = machine("edge-1m")
    nest = nest_on(arch, Workload(P=4, Q=4, R=3, S=3, G=4))

    with pytest.raises(OptionError, match="without groups"):
        write_zigzag_workload(nest, arch)
    with pytest.raises(OptionError, match="without groups"):
        write_zigzag_mapping(nest, arch)

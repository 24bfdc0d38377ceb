"""Figures of ZigZag runs as nests and workloads of accnn; see ``data/zigzag/README.md``."""

import ast
import csv
import re
from dataclasses import dataclass
from pathlib import Path

from accnn.ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from accnn.ir.workload import Dim, Operand, Workload

HERE = Path(__file__).parent / "data" / "zigzag"
_DIMS = {"B": "N", "OY": "P", "OX": "Q", "FY": "R", "FX": "S", "G": "G", "K": "K", "C": "C"}
_AXES = {"D1": "column", "D2": "row"}
_CHAINS = {
    Operand.W: ("wb", "dram"),
    Operand.I: ("ib", "gb", "dram"),
    Operand.O: ("ab", "gb", "dram"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of ZigZag's engine on one layer.

    Attributes:
        engine: ``"salsa"`` or ``"loma"``.
        limit: LOMA's ``lpf_limit``; 0 for SALSA.
        layer: ``"alexnet/L2"``.
        objective: ``"energy"`` or ``"latency"``.
        even: Whether the mapping is even.
        nest: The mapping that it found, for ``eyeriss``.
        energy: What it reports [pJ].
        cpu_seconds: Of the run [s].
    """

    engine: str
    limit: int
    layer: str
    objective: str
    even: bool
    nest: LoopNest
    energy: float
    cpu_seconds: float


def read_runs() -> tuple[Run, ...]:
    """Return all runs, in the order of the file."""
    with (HERE / "results.csv").open(newline="") as file:
        return tuple(_run(row) for row in csv.DictReader(file))


def read_best() -> dict[str, float]:
    """Return the least energy known per layer [pJ]."""
    with (HERE / "best_known.csv").open(newline="") as file:
        return {
            f"{row['dnn']}/{row['layer']}": float(row["best_energy_pJ"])
            for row in csv.DictReader(file)
        }


def _run(row: dict[str, str]) -> Run:
    return Run(
        engine=row["engine"],
        limit=int(row["lpf_limit"] or 0),
        layer=f"{row['dnn']}/{row['layer']}",
        objective=row["opt"],
        even=row["mapping_type"] == "even",
        nest=_nest(row),
        energy=float(row["energy_pJ"]),
        cpu_seconds=float(row["cpu_seconds"]),
    )


def _workload(text: str) -> Workload:
    found = {name: int(value) for name, value in re.findall(r"([A-Za-z]+)(\d+)", text)}
    stride = found.pop("s")
    extents = {_DIMS[name]: extent for name, extent in found.items()}
    return Workload(**extents, stride=(stride, stride), psum_bits=16)


def _nest(row: dict[str, str]) -> LoopNest:
    mapping = ast.literal_eval(re.sub(r"\b([A-Z]+)\b", r"'\1'", row["temporal_mapping"]))
    loops = [loop for level in mapping["O"] for loop in level]
    allocations: list[Allocation] = []
    for operand, names in _CHAINS.items():
        own: list[Allocation] = []
        inside = 0
        for name, level in zip(names, mapping[operand.value], strict=True):
            inside += len(level)
            own.append(Allocation(operand, name, len(loops) - inside))
        allocations += reversed(own)
    spatial = ast.literal_eval(row["spatial"])
    return LoopNest(
        workload=_workload(row["dims"]),
        temporal=tuple(Loop(Dim(_DIMS[dim]), extent) for dim, extent in reversed(loops)),
        spatial=tuple(
            SpatialLoop(Dim(_DIMS[dim]), extent, _AXES[axis])
            for axis, unrolled in spatial.items()
            for dim, extent in unrolled
        ),
        allocations=tuple(allocations),
    )

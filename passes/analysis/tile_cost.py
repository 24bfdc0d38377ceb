"""Cost of one tile operation: the work inside of the on-chip tiles, at its actual extents.

The compiler unrolls the loops outside of the on-chip tiles into instructions; each MAC instruction
executes ``temporal[start:]`` and the spatial loops of the nest, with every operand lying in its
*home*, the outermost on-chip memory that keeps it. Operations at the border of the workload are
smaller: their loops are clipped, unrolled loops last.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...ir.arch import Architecture
from ...ir.mapping import Loop, LoopNest, SpatialLoop
from ...ir.workload import DIMS, Dim, Operand
from .cost import evaluate_view
from .traffic import Traffic
from .view import Chain, NestView


@dataclass(frozen=True, slots=True, kw_only=True)
class TileCost:
    """What one tile operation costs.

    Attributes:
        cycles: With fill from and drain to the homes, rounded up [cycle].
        steady_cycles: Without fill and drain, for operations back to back, rounded up [cycle].
        compute_cycles: Steps of the array [cycle].
        traffic: Accesses at and below the homes, and transfers over the fan-outs.
        energy_pj: Of all that [pJ].
        macs: Multiply-accumulates of the operation, without padding.
    """

    cycles: int
    steady_cycles: int
    compute_cycles: int
    traffic: tuple[Traffic, ...]
    energy_pj: float
    macs: int


def tile_cost(
    nest: LoopNest, arch: Architecture, tile_dims: Mapping[Dim, int], start: int
) -> TileCost:
    """Return the cost of one operation of ``temporal[start:]`` at the given extents.

    Args:
        nest: The operator's nest.
        arch: The machine, as one NPU sees it.
        tile_dims: Actual extents of the operation (absent: 1), at most those of the loops.
        start: First temporal loop that belongs to the operation.
    """
    dims = {dim: tile_dims.get(dim, 1) for dim in DIMS}
    temporal, spatial = clip_loops(nest.temporal[start:], nest.spatial, dims)
    workload = nest.workload.resized(dims)
    view = NestView(
        workload=workload,
        temporal=temporal,
        spatial=spatial,
        chains={operand: _home_chain(nest, arch, operand, start) for operand in Operand},
    )
    report = evaluate_view(view, arch)
    return TileCost(
        cycles=math.ceil(report.cycles),
        steady_cycles=math.ceil(report.steady_cycles),
        compute_cycles=report.compute_cycles,
        traffic=report.traffic,
        energy_pj=report.energy_pj,
        macs=workload.macs,
    )


def clip_loops(
    temporal: Sequence[Loop], spatial: Sequence[SpatialLoop], dims: Mapping[Dim, int]
) -> tuple[tuple[Loop, ...], tuple[SpatialLoop, ...]]:
    """Return the loops cut down to what ``dims`` needs: outer temporal loops shrink first."""
    left = dict(dims)

    def clipped(dim: Dim, extent: int) -> int:
        taken = min(extent, left[dim])
        left[dim] = math.ceil(left[dim] / taken)
        return taken

    unrolled = tuple(
        SpatialLoop(loop.dim, clipped(loop.dim, loop.extent), loop.fanout)
        for loop in reversed(spatial)
    )
    inner = tuple(Loop(loop.dim, clipped(loop.dim, loop.extent)) for loop in reversed(temporal))
    return inner[::-1], unrolled[::-1]


def _home_chain(nest: LoopNest, arch: Architecture, operand: Operand, start: int) -> Chain:
    on_chip = [item for item in nest.of(operand) if item.level != arch.off_chip.name]
    inner = [(item.level, max(0, item.start - start)) for item in on_chip]
    scratchpad = arch.scratchpad
    if operand in arch.scratchpad_level.holds and (not inner or inner[0][0] != scratchpad):
        inner = [(scratchpad, 0), *inner]
    elif not inner:
        inner = [(arch.home(operand).name, 0)]
    (home, _), *rest = inner
    return ((home, 0), *rest)

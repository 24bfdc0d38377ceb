"""Time and on-chip traffic of one MAC instruction, from the cost model of its inner nest."""

import math
from collections.abc import Callable
from functools import cache

from ...ir.arch import Architecture
from ...ir.mapping import LoopNest
from ...ir.program import LevelTraffic, MacProfile
from ...ir.workload import DIMS, Operand
from ..analysis.tile_cost import TileCost, tile_cost
from ..analysis.traffic import Direction


def profiler(
    nest: LoopNest, arch: Architecture
) -> Callable[[tuple[int, ...], int], tuple[MacProfile, ...]]:
    """Return a function from operation extents (R S P Q C K N G) and first inner loop to the
    profile on each NPU; shapes are evaluated once.
    """  # noqa: D205 - one sentence
    machines = tuple(arch.for_npu(npu) for npu in arch.npus)

    @cache
    def profile(extents: tuple[int, ...], start: int) -> tuple[MacProfile, ...]:
        dims = dict(zip(DIMS, extents, strict=True))
        return tuple(
            profile_of(tile_cost(nest, machine, dims, start), arch) for machine in machines
        )

    return profile


def profile_of(cost: TileCost, arch: Architecture) -> MacProfile:
    """Return the profile of one operation from its cost: steady time, traffic, MAC energy."""
    moved: dict[tuple[str, Operand], list[float]] = {}
    for item in cost.traffic:
        if item.direction in (Direction.READ, Direction.WRITE):
            pair = moved.setdefault((item.place, item.operand), [0.0, 0.0])
            pair[item.direction is Direction.WRITE] += item.bytes
    return MacProfile(
        cycles=cost.steady_cycles,
        macs=cost.macs,
        traffic=tuple(
            LevelTraffic(level, operand, math.ceil(read), math.ceil(written))
            for (level, operand), (read, written) in moved.items()
        ),
        compute_pj=cost.macs * arch.mac_energy,
    )

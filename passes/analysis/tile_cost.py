"""Cost of one MAC instruction: what the array runs from the homes of the operands inwards.

This is the compiler's prediction of what ``runtime_sim/array`` derives from the instruction: the
same rules, in other code.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from ...ir.arch import Architecture
from ...ir.mapping import LoopNest
from .cost import evaluate
from .traffic import PortTraffic


@dataclass(frozen=True, slots=True, kw_only=True)
class TileCost:
    """What one MAC instruction costs.

    Attributes:
        steps: Cycles in which the array multiplies [cycle].
        fill_cycles: Until the first tiles have reached the innermost memories; hidden where the
            instruction before computes meanwhile [cycle].
        steady_cycles: The slowest of the array and every port [cycle].
        drain_cycles: From the last step until the last sums are in their home [cycle].
        traffic: Accesses at and below the homes, and transfers over the fan-outs.
        energy_pj: Of all that and of the MACs, padded ones included [pJ].
    """

    steps: int
    fill_cycles: int
    steady_cycles: int
    drain_cycles: int
    traffic: tuple[PortTraffic, ...]
    energy_pj: float


@lru_cache(maxsize=4096)
def tile_cost(inner: LoopNest, arch: Architecture, *, accumulate: bool = False) -> TileCost:
    """Return the cost of one MAC instruction; schedulers ask for the same ones again and again.

    Args:
        inner: What the array runs; its first allocations are the homes.
        arch: The machine, as one NPU sees it.
        accumulate: Whether sums lie in their home already and are added to.
    """
    report = evaluate(inner, arch, has_sums=accumulate)
    return TileCost(
        steps=report.compute_cycles,
        fill_cycles=_whole(report.fill_cycles),
        steady_cycles=_whole(report.steady_cycles),
        drain_cycles=_whole(report.drain_cycles),
        traffic=report.traffic,
        energy_pj=report.energy_pj,
    )


def _whole(cycles: float) -> int:
    """Return whole cycles, rounded up; what is only an error of floats is no cycle."""
    return math.ceil(cycles * (1 - 1e-12))

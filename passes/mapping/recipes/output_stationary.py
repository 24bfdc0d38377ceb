"""A simple mapper: unroll what fills the array, keep outputs where they accumulate.

All reduction loops stand inside of all other loops that run outside of the accumulators, so no
partial sum ever leaves them. Tiles grow greedily from the inside out, as far as the memories
allow. No search, no proof; every other mapper is measured against it.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ....ir.arch import Architecture, Fanout
from ....ir.errors import InfeasibleError
from ....ir.mapping import LoopNest, SpatialLoop
from ....ir.workload import REDUCTION, Dim, Workload
from ..mapper import Mapper, MappingResult, MappingStatus
from ..problem import MappingProblem
from ..search.growing import Growing, all_outside, shares
from ..search.orders.spatial import Unrolling

_NEAR_MACS = (Dim.C, Dim.R, Dim.S, Dim.G, Dim.K, Dim.Q, Dim.P, Dim.N)
_FARTHER = (Dim.K, Dim.G, Dim.Q, Dim.P, Dim.N, Dim.C, Dim.R, Dim.S)
_REDUCTIONS = (Dim.C, Dim.S, Dim.R)

_Unrolled = tuple[tuple[Dim, int], ...]
"""Dimensions with the extents of their unrolled loops."""


@dataclass(frozen=True)
class OutputStationary(Mapper):
    """The greedy output-stationary mapper."""

    name: str = "output-stationary"

    def find(self, problem: MappingProblem) -> MappingResult:
        """Return the best output-stationary nest of several unrollings.

        Raises:
            InfeasibleError: One element of each operand does not fit; the shortage says where.
        """
        nests = self.nests(problem)
        values = problem.values(nests)
        least = min(values)
        return MappingResult(
            nest=nests[values.index(least)],
            mapper=self.name,
            status=MappingStatus.HEURISTIC,
            objective=least,
        )

    def nests(self, problem: MappingProblem) -> tuple[LoopNest, ...]:
        """Return a nest of each of several unrollings that keep the array equally busy.

        Raises:
            InfeasibleError: One element of each operand does not fit; the shortage says where.
        """
        return _nests(problem)


@lru_cache(maxsize=256)
def _nests(problem: MappingProblem) -> tuple[LoopNest, ...]:
    """Return the nests of a problem; mappers that begin with them ask several times."""
    options = unrollings(problem.workload, problem.machine)
    fitting = dict.fromkeys(_that_fits(problem, spatial) for spatial in options)
    return Growing(problem, tuple(fitting)).grown()


def map_output_stationary(workload: Workload, arch: Architecture) -> MappingResult:
    """Return an output-stationary nest of few cycles on a machine with nothing resident.

    Raises:
        InfeasibleError: One element of each operand does not fit; the shortage says where.
    """
    return OutputStationary().map(MappingProblem(workload=workload, arch=arch))


def _that_fits(problem: MappingProblem, spatial: Unrolling) -> Unrolling:
    """Return an unrolling, smaller where one step of all other loops does not fit with it."""
    while True:
        try:
            all_outside(problem, spatial).verify(problem.machine)
            return spatial
        except InfeasibleError:
            if not spatial:
                raise
            spatial = _smaller(spatial)


_MOST_UNROLLINGS = 4
"""Unrollings that are grown into nests."""


def unrollings(workload: Workload, arch: Architecture) -> tuple[Unrolling, ...]:
    """Return unrollings that keep the array as busy as can be, the preferred one first.

    Fan-outs are filled from the MACs outwards, each by one or two dimensions; of equal unrollings,
    the innermost fan-out prefers input channels, the others output channels.
    They differ in the outermost fan-out, which decides what passes to it how often. Where the
    innermost fan-out adds up and is best filled with outputs, it is filled with reductions alone
    as well: fewer MACs may be busy so, but each sum passes the accumulators once.
    """
    found = _unrollings_with(workload, arch, _NEAR_MACS)
    inner = arch.fanouts[-1] if arch.fanouts else None
    if inner is None or not inner.reduction or _adds_up(found[0], inner):
        return found
    return tuple(dict.fromkeys((*found, *_unrollings_with(workload, arch, _REDUCTIONS))))


def _adds_up(spatial: Sequence[SpatialLoop], fanout: Fanout) -> bool:
    """Whether a fan-out has reductions alone."""
    return all(loop.dim in REDUCTION for loop in spatial if loop.fanout == fanout.name)


def _unrollings_with(
    workload: Workload, arch: Architecture, nearest: Sequence[Dim]
) -> tuple[Unrolling, ...]:
    """Return unrollings that keep the array equally busy.

    Args:
        workload: What is unrolled.
        arch: The machine.
        nearest: Dimensions that the innermost fan-out may have, the preferred ones first.
    """
    left = dict(workload.dims)
    limits = {fanout.name: _limit(arch, fanout) for fanout in arch.fanouts}
    loops: list[SpatialLoop] = []
    options: tuple[_Unrolled, ...] = ((),)
    fanout = None
    for position, fanout in enumerate(reversed(arch.fanouts)):
        preference = nearest if position == 0 else _FARTHER
        options = _fillings(fanout, limits[fanout.name], left, preference)
        if position == len(arch.fanouts) - 1:
            break
        for dim, extent in options[0]:
            left[dim] = math.ceil(left[dim] / extent)
            loops.append(SpatialLoop(dim, extent, fanout.name))
        used = math.prod(extent for _, extent in options[0])
        for group in arch.groups:
            if fanout.name in group.fanouts:
                for name in group.fanouts:
                    limits[name] = min(limits[name], max(1, group.limit // used))
    outermost = (
        [SpatialLoop(dim, extent, fanout.name) for dim, extent in option] if fanout else []
        for option in options[:_MOST_UNROLLINGS]
    )
    return tuple((*loops, *outer)[::-1] for outer in outermost)


def _limit(arch: Architecture, fanout: Fanout) -> int:
    joint = [group.limit for group in arch.groups if fanout.name in group.fanouts]
    return min([fanout.size, *joint])


def _fillings(
    fanout: Fanout, limit: int, left: Mapping[Dim, int], preference: Sequence[Dim]
) -> tuple[_Unrolled, ...]:
    """Return the unrollings of a fan-out, of one or two dimensions, with the largest speed-up."""
    allowed = [
        dim
        for dim in preference
        if dim in fanout.dims and left[dim] > 1 and (fanout.reduction or dim not in REDUCTION)
    ]
    options: list[_Unrolled] = [()]
    for first in allowed:
        options += [((first, extent),) for extent in _unrollings(left[first], limit)]
    for first, second in itertools.combinations(allowed, 2):
        for extent in _unrollings(left[first], limit):
            rest = _unrollings(left[second], limit // extent)
            options += [((first, extent), (second, other)) for other in rest]
    speedups = [
        math.prod(left[dim] / math.ceil(left[dim] / extent) for dim, extent in option)
        for option in options
    ]
    best = max(speedups) * (1 - 1e-9)
    chosen = zip(options, speedups, strict=True)
    return tuple(option for option, speedup in chosen if speedup >= best)


def _unrollings(extent: int, limit: int) -> list[int]:
    """Return useful unrollings of an extent, largest first."""
    found = [share for share in shares(extent) if 1 < share <= limit]
    return found[:24]


def _smaller(spatial: Unrolling) -> Unrolling:
    """Return the unrolling with its outermost loop halved."""
    first, *rest = spatial
    extent = first.extent // 2
    shrunk = [SpatialLoop(first.dim, extent, first.fanout)] if extent > 1 else []
    return (*shrunk, *rest)

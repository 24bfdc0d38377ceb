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
from ....ir.mapping import Loop, LoopNest, SpatialLoop, even_nest
from ....ir.workload import DIMS, REDUCTION, Dim, Operand, Workload
from ...analysis.batches.batch import evaluate_batch
from ...analysis.batches.nest_batch import batch_nests
from ..mapper import Mapper, MappingResult, MappingStatus
from ..problem import MappingProblem, OfProblem

_NEAR_MACS = (Dim.C, Dim.R, Dim.S, Dim.G, Dim.K, Dim.Q, Dim.P, Dim.N)
_FARTHER = (Dim.K, Dim.G, Dim.Q, Dim.P, Dim.N, Dim.C, Dim.R, Dim.S)
_REDUCTIONS = (Dim.C, Dim.S, Dim.R)
_OUTPUTS = (Dim.Q, Dim.P, Dim.K, Dim.N, Dim.G)

_Unrolled = tuple[tuple[Dim, int], ...]
"""Dimensions with the extents of their unrolled loops."""

Factors = dict[str, dict[Dim, int]]
"""Temporal extents of each level."""


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
    return _Greedy(problem=problem).solve()


def map_output_stationary(workload: Workload, arch: Architecture) -> MappingResult:
    """Return an output-stationary nest of few cycles on a machine with nothing resident.

    Raises:
        InfeasibleError: One element of each operand does not fit; the shortage says where.
    """
    return OutputStationary().map(MappingProblem(workload=workload, arch=arch))


@dataclass(frozen=True, kw_only=True)
class _Greedy(OfProblem):
    def solve(self) -> tuple[LoopNest, ...]:
        """Return a nest of each of several unrollings."""
        starts = unrollings(self.workload, self.arch)
        found = dict.fromkeys(self._that_fits(spatial) for spatial in starts)
        return tuple(map(self._grown, found))

    def _grown(self, spatial: tuple[SpatialLoop, ...]) -> LoopNest:
        factors: Factors = {level.name: dict.fromkeys(DIMS, 1) for level in self.arch.levels}
        left = _left(self.workload.dims, spatial)
        inside, outside = self._levels_around_sums()
        for level in inside:
            for dim in (*_REDUCTIONS, *_OUTPUTS):
                self._grow(factors, left, spatial, level, dim)
        for level in outside:
            for dim in _REDUCTIONS:
                self._grow(factors, left, spatial, level, dim)
            if all(left[dim] == 1 for dim in _REDUCTIONS):
                self._grow_together(factors, left, spatial, level)
        factors[self.arch.off_chip.name] = left
        return self._best_order(factors, spatial)

    def _levels_around_sums(self) -> tuple[list[str], list[str]]:
        """Return on-chip levels from the accumulators inwards and outside of them, inner first."""
        names = [level.name for level in self.arch.levels[1:]]
        sums = max(
            index for index, level in enumerate(self.arch.levels[1:]) if Operand.O in level.holds
        )
        return names[sums:][::-1], names[:sums][::-1]

    def _that_fits(self, spatial: tuple[SpatialLoop, ...]) -> tuple[SpatialLoop, ...]:
        while True:
            try:
                nest = self._nest(
                    _no_factors(self.arch, _left(self.workload.dims, spatial)), spatial
                )
                nest.verify(self.arch)
                return spatial
            except InfeasibleError:
                if not spatial:
                    raise
                spatial = _smaller(spatial)

    def _nest(
        self,
        factors: Factors,
        spatial: Sequence[SpatialLoop],
        outer: Sequence[Dim] = (Dim.N, Dim.G, Dim.P, Dim.Q, Dim.K),
    ) -> LoopNest:
        order = (*outer, *_REDUCTIONS)
        temporal = {
            level: [Loop(dim, extents[dim]) for dim in order] for level, extents in factors.items()
        }
        bypass = self.problem.bypassed
        return even_nest(self.workload, self.arch, temporal, spatial, bypass)

    def _whole(
        self, factors: Factors, left: Mapping[Dim, int], spatial: Sequence[SpatialLoop]
    ) -> LoopNest:
        """Return the nest whose outermost loops are what is left."""
        return self._nest({**factors, self.arch.off_chip.name: dict(left)}, spatial)

    def _fits(self, nest: LoopNest) -> bool:
        """Whether the tiles of a nest fit; it differs from one that is right in extents alone."""
        try:
            nest.verify_capacities(self.arch)
        except InfeasibleError:
            return False
        return True

    def _grow(
        self,
        factors: Factors,
        left: dict[Dim, int],
        spatial: Sequence[SpatialLoop],
        level: str,
        dim: Dim,
    ) -> None:
        """Give a level the largest share of a dimension that fits."""
        for share in _shares(left[dim]):
            if share == 1:
                return
            tried, rest = _with(factors, left, level, dim, share)
            if self._fits(self._whole(tried, rest, spatial)):
                factors[level][dim] *= share
                left[dim] = rest[dim]
                return

    def _grow_together(
        self,
        factors: Factors,
        left: dict[Dim, int],
        spatial: Sequence[SpatialLoop],
        level: str,
    ) -> None:
        """Grow the output dimensions of a level step by step, the most useful one first."""
        start = {dim: left[dim] for dim in _OUTPUTS}
        if all(_next_share(start[dim], factors[level][dim]) is None for dim in _OUTPUTS):
            return
        (best,) = self._costs([self._whole(factors, left, spatial)])
        while True:
            offered: list[tuple[Dim, int, int]] = []
            nests: list[LoopNest] = []
            for dim in _OUTPUTS:
                share = _next_share(start[dim], factors[level][dim])
                if share is None:
                    continue
                tried = {**factors, level: {**factors[level], dim: share}}
                rest = {**left, dim: math.ceil(start[dim] / share)}
                nest = self._whole(tried, rest, spatial)
                if self._fits(nest):
                    offered.append((dim, share, rest[dim]))
                    nests.append(nest)
            choice: tuple[Dim, int, int] | None = None
            for option, cost in zip(offered, self._costs(nests), strict=True):
                if cost < best or (choice is None and cost == best):
                    best, choice = cost, option
            if choice is None:
                return
            dim, share, remainder = choice
            factors[level][dim], left[dim] = share, remainder

    def _costs(self, nests: Sequence[LoopNest]) -> list[tuple[float, float]]:
        """Return objective and off-chip bytes of nests that are unrolled alike."""
        if not nests:
            return []
        problem = self.problem
        cost = evaluate_batch(batch_nests(nests), problem.machine, placement=problem.held)
        values = problem.objective.of(cost)
        return list(zip(values.tolist(), cost.offchip_bytes.tolist(), strict=True))

    def _best_order(self, factors: Factors, spatial: Sequence[SpatialLoop]) -> LoopNest:
        """Return the better of weights outside and images outside."""
        if not any(_turns_both(extents) for extents in factors.values()):
            return self._nest(factors, spatial, (Dim.G, Dim.N, Dim.P, Dim.Q, Dim.K))
        orders = (
            (Dim.G, Dim.N, Dim.P, Dim.Q, Dim.K),
            (Dim.G, Dim.K, Dim.N, Dim.P, Dim.Q),
        )
        nests = [self._nest(factors, spatial, order) for order in orders]
        values = self.problem.values(nests)
        return nests[values.index(min(values))]


def _turns_both(extents: Mapping[Dim, int]) -> bool:
    """Whether loops over weights and over images turn, so that their order matters."""
    return extents[Dim.K] > 1 and any(extents[dim] > 1 for dim in (Dim.N, Dim.P, Dim.Q))


def _no_factors(arch: Architecture, left: dict[Dim, int]) -> Factors:
    factors: Factors = {level.name: dict.fromkeys(DIMS, 1) for level in arch.levels}
    factors[arch.off_chip.name] = left
    return factors


def _left(dims: Mapping[Dim, int], spatial: Sequence[SpatialLoop]) -> dict[Dim, int]:
    left = dict(dims)
    for loop in spatial:
        left[loop.dim] = math.ceil(left[loop.dim] / loop.extent)
    return left


def _with(
    factors: Factors, left: Mapping[Dim, int], level: str, dim: Dim, share: int
) -> tuple[Factors, dict[Dim, int]]:
    extents = {**factors[level], dim: factors[level][dim] * share}
    return {**factors, level: extents}, {**left, dim: math.ceil(left[dim] / share)}


@lru_cache(maxsize=4096)
def _shares(extent: int) -> tuple[int, ...]:
    """Return sensible shares of an extent, largest first: each leaves the least padding."""
    found = [extent]
    while found[-1] > 1:
        parts = -(-extent // (found[-1] - 1))  # the fewest that leave less
        found.append(-(-extent // parts))
    return tuple(found)


def _next_share(extent: int, share: int) -> int | None:
    """Return the next larger share, at least half as large again, or ``None``."""
    bigger = [item for item in _shares(extent) if item > share]
    if not bigger:
        return None
    enough = [item for item in bigger if 2 * item >= 3 * share]
    return min(enough or bigger)


_MOST_UNROLLINGS = 4
"""Unrollings that are grown into nests."""


def unrollings(workload: Workload, arch: Architecture) -> tuple[tuple[SpatialLoop, ...], ...]:
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
) -> tuple[tuple[SpatialLoop, ...], ...]:
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
    found = [share for share in _shares(extent) if 1 < share <= limit]
    return found[:24]


def _smaller(spatial: tuple[SpatialLoop, ...]) -> tuple[SpatialLoop, ...]:
    """Return the unrolling with its outermost loop halved."""
    first, *rest = spatial
    extent = first.extent // 2
    shrunk = [SpatialLoop(first.dim, extent, first.fanout)] if extent > 1 else []
    return (*shrunk, *rest)

"""Tiles that grow from the inside out as far as memories allow, on several unrollings side by side.

Reductions stand inside of all other loops that run outside of the accumulators, so that no partial
sum ever leaves them. Memories from the accumulators inwards get the largest share of each
dimension that fits. Outside of them outputs grow step by step, by the most useful dimension, once
all reductions lie further inside.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

import numpy as np

from ....ir.mapping import Loop, LoopNest, SpatialLoop, even_nest
from ....ir.workload import DIMS, Dim, Operand
from ...analysis.batches.batch import BatchCost
from ...analysis.batches.capacity import memory_overflow
from ...analysis.batches.counts import Counts
from ...analysis.batches.nest_batch import Ints, batch_nests, unrollings_of
from ..problem import MappingProblem
from .orders.spatial import Unrolling

_REDUCTIONS = (Dim.C, Dim.S, Dim.R)
_OUTPUTS = (Dim.Q, Dim.P, Dim.K, Dim.N, Dim.G)

_WHILE_GROWING = (Dim.N, Dim.G, Dim.P, Dim.Q, Dim.K)
_IMAGES_OUTSIDE = (Dim.G, Dim.N, Dim.P, Dim.Q, Dim.K)
_WEIGHTS_OUTSIDE = (Dim.G, Dim.K, Dim.N, Dim.P, Dim.Q)


@dataclass(frozen=True, slots=True)
class _Share:
    """What a memory may get of a dimension.

    Attributes:
        row: On which unrolling.
        dim: The dimension.
        extent: Of the memory's loop.
        rest: Of the loop outside of all tiles.
    """

    row: int
    dim: Dim
    extent: int
    rest: int


class Growing:
    """Tiles of several unrollings while they grow.

    Args:
        problem: What is mapped.
        unrollings: With each of them one step of all other loops fits.
    """

    def __init__(self, problem: MappingProblem, unrollings: Sequence[Unrolling]) -> None:
        self._problem = problem
        self._unrollings = unrollings
        self._rows = range(len(unrollings))
        self._levels = [level.name for level in problem.machine.levels]
        self._extents = np.ones((len(unrollings), len(self._levels), len(DIMS)), np.int64)
        for row, spatial in enumerate(unrollings):
            left = _left_of(problem.workload.dims, spatial)
            self._extents[row, 0] = [left[dim] for dim in DIMS]
        ways, which = unrollings_of(unrollings)
        first = batch_nests([all_outside(problem, ())])
        self._first = replace(first, unrollings=ways, which=which)

    def grown(self) -> tuple[LoopNest, ...]:
        """Return the nest of each unrolling, all tiles grown."""
        inside, outside = self._levels_around_sums()
        for level in inside:
            for dim in (*_REDUCTIONS, *_OUTPUTS):
                self._grow(level, dim)
        for level in outside:
            for dim in _REDUCTIONS:
                self._grow(level, dim)
            self._grow_together(level)
        return self._in_the_best_order()

    def _levels_around_sums(self) -> tuple[Sequence[int], Sequence[int]]:
        """Return on-chip levels from the accumulators inwards and outside of them, inner first."""
        levels = self._problem.machine.levels
        sums = max(at for at, level in enumerate(levels[1:], start=1) if Operand.O in level.holds)
        return range(len(levels) - 1, sums - 1, -1), range(sums - 1, 0, -1)

    def _grow(self, level: int, dim: Dim) -> None:
        """Give a level the largest share of a dimension that fits."""
        offered: list[_Share] = []
        for row in self._rows:
            left = self._extent(row, 0, dim)
            offered += [_Share(row, dim, item, -(-left // item)) for item in shares(left)[:-1]]
        fitting, _ = self._fitting(level, offered)
        for share in {share.row: share for share in reversed(fitting)}.values():
            self._take(level, share)

    def _grow_together(self, level: int) -> None:
        """Grow the output dimensions of a level step by step, the most useful one first."""
        start = self._extents[:, 0].copy()
        rows = [row for row in self._rows if self._is_summed_inside(row)]
        rows = list(dict.fromkeys(share.row for share in self._next(level, start, rows)))
        if not rows:
            return
        costs = self._costs(self._counts(self._extents[rows], rows))
        best = dict(zip(rows, costs, strict=True))
        while rows:
            chosen: dict[int, _Share] = {}
            fitting, counts = self._fitting(level, self._next(level, start, rows))
            for share, cost in zip(fitting, self._costs(counts), strict=True):
                known = best[share.row]
                if cost < known or (share.row not in chosen and cost == known):
                    best[share.row], chosen[share.row] = cost, share
            for share in chosen.values():
                self._take(level, share)
            rows = sorted(chosen)

    def _is_summed_inside(self, row: int) -> bool:
        return all(self._extent(row, 0, dim) == 1 for dim in _REDUCTIONS)

    def _next(self, level: int, start: Ints, rows: Sequence[int]) -> list[_Share]:
        """Return the next larger shares of a level.

        Args:
            level: Number of the level.
            start: What there was to be shared, ``[U, 8]``.
            rows: Of these unrollings.
        """
        found: list[_Share] = []
        for row in rows:
            for dim in _OUTPUTS:
                whole = int(start[row, DIMS.index(dim)])
                share = _next_share(whole, self._extent(row, level, dim))
                if share is not None:
                    found.append(_Share(row, dim, share, -(-whole // share)))
        return found

    def _extent(self, row: int, level: int, dim: Dim) -> int:
        return int(self._extents[row, level, DIMS.index(dim)])

    def _take(self, level: int, share: _Share) -> None:
        column = DIMS.index(share.dim)
        self._extents[share.row, level, column] = share.extent
        self._extents[share.row, 0, column] = share.rest

    def _fitting(
        self, level: int, offered: Sequence[_Share]
    ) -> tuple[Sequence[_Share], Counts | None]:
        """Return the shares with which all tiles fit, and what is counted then, if there are any.

        Args:
            level: Number of the level that may have them.
            offered: The shares.
        """
        if not offered:
            return (), None
        rows = [share.row for share in offered]
        columns = [DIMS.index(share.dim) for share in offered]
        extents, place = self._extents[rows], np.arange(len(offered))
        extents[place, level, columns] = [share.extent for share in offered]
        extents[place, 0, columns] = [share.rest for share in offered]
        counts = self._counts(extents, rows)
        fits = np.flatnonzero(memory_overflow(counts) <= 1.0)
        places: list[int] = fits.tolist()
        return [offered[at] for at in places], counts.take(fits) if places else None

    def _counts(self, extents: Ints, rows: Sequence[int]) -> Counts:
        """Return what moves in nests.

        Args:
            extents: Of the loops of each level, ``[B, levels, 8]``.
            rows: In which of the ways they are unrolled, ``[B]``.
        """
        order = [DIMS.index(dim) for dim in (*_WHILE_GROWING, *_REDUCTIONS)]
        many, levels = len(rows), len(self._levels)
        batch = replace(
            self._first,
            dims=np.tile(np.array(order), (many, levels)),
            extents=extents[:, :, order].reshape(many, -1),
            which=self._first.which[rows],
            starts={
                operand: np.tile([len(order) * self._levels.index(name) for name in own], (many, 1))
                for operand, own in self._first.levels.items()
            },
        )
        return Counts(batch, self._problem.machine, self._problem.held)

    def _costs(self, counts: Counts | None) -> list[tuple[float, float]]:
        """Return objective and off-chip bytes of nests."""
        if counts is None:
            return []
        cost = BatchCost(counts)
        values = self._problem.objective.of(cost)
        return list(zip(values.tolist(), cost.offchip_bytes.tolist(), strict=True))

    def _in_the_best_order(self) -> tuple[LoopNest, ...]:
        """Return the nests, each with the better of weights outside and images outside."""
        orders = [
            (_IMAGES_OUTSIDE, _WEIGHTS_OUTSIDE)[: 1 + self._turns_both(row)] for row in self._rows
        ]
        nests = [[self._nest(row, outer) for outer in orders[row]] for row in self._rows]
        every = list(chain.from_iterable(nests))
        values = dict(zip(every, self._problem.values(every), strict=True))
        return tuple(min(own, key=values.__getitem__) for own in nests)

    def _turns_both(self, row: int) -> bool:
        """Whether loops of one level turn over weights and over images: their order matters."""
        turning = self._extents[row] > 1
        images = turning[:, [DIMS.index(dim) for dim in (Dim.N, Dim.P, Dim.Q)]].any(axis=1)
        return bool((turning[:, DIMS.index(Dim.K)] & images).any())

    def _nest(self, row: int, outer: Sequence[Dim]) -> LoopNest:
        order = (*outer, *_REDUCTIONS)
        temporal = {
            name: [Loop(dim, self._extent(row, level, dim)) for dim in order]
            for level, name in enumerate(self._levels)
        }
        problem = self._problem
        return even_nest(
            problem.workload, problem.machine, temporal, self._unrollings[row], problem.bypassed
        )


def all_outside(problem: MappingProblem, spatial: Unrolling) -> LoopNest:
    """Return the nest of an unrolling whose tiles hold one step of it each.

    Args:
        problem: What is mapped.
        spatial: The unrolled loops.
    """
    left = _left_of(problem.workload.dims, spatial)
    loops = [Loop(dim, left[dim]) for dim in (*_WHILE_GROWING, *_REDUCTIONS)]
    outermost = {problem.machine.off_chip.name: loops}
    return even_nest(problem.workload, problem.machine, outermost, spatial, problem.bypassed)


def _left_of(dims: Mapping[Dim, int], spatial: Sequence[SpatialLoop]) -> dict[Dim, int]:
    """Return what unrolled loops leave of each dimension, padded."""
    left = dict(dims)
    for loop in spatial:
        left[loop.dim] = math.ceil(left[loop.dim] / loop.extent)
    return left


@lru_cache(maxsize=4096)
def shares(extent: int) -> tuple[int, ...]:
    """Return sensible shares of an extent, largest first: each leaves the least padding."""
    found = [extent]
    while found[-1] > 1:
        parts = -(-extent // (found[-1] - 1))  # the fewest that leave less
        found.append(-(-extent // parts))
    return tuple(found)


@lru_cache(maxsize=4096)
def _next_share(extent: int, share: int) -> int | None:
    """Return the next larger share, at least half as large again, or ``None``."""
    bigger = [item for item in shares(extent) if item > share]
    if not bigger:
        return None
    enough = [item for item in bigger if 2 * item >= 3 * share]
    return min(enough or bigger)

"""Which chains of a fused group may lag a stripe, so that engines wait less.

    in turn      array   a0 .. b0 .. a1 .. b1 ..        b waits for what the vector unit makes of a
                 vector     a0    b0    a1    b1

    b lags       array   a0 a1 b0 a2 b1 a3 b2 ..
                 vector     a0 a1 b0 a2 b1 a3 ..

Each lag takes space for more rows, and only scheduling tells what fits. Which sets of chains are
worth that is estimated from some stripes: their operations wait for their engine and for what they
read, and for nothing else.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..engine.kernel.arrays import UNIT, TileArrays
from ..engine.kernel.issue import makespan
from .attempts import Attempt
from .issue_order import Dealing, issue_order

Ints = NDArray[np.int64]

Lags = tuple[int, ...]
"""Numbers of the chains that lag a stripe more than the one before."""

FEW, MANY = 4, 8
"""Stripes that are looked at."""

_DEPTH = 4
"""Chains that lag at most."""

_WORTH = 0.98
"""Part of the time of another order that a better one takes at most."""


@dataclass(frozen=True)
class LagSearch:
    """Looks for the chains of a group that should lag.

    Attributes:
        may_lag: Which chains can.
        stripes: How many stripes the group has.
        makespan: Tells what the operations of so many stripes, the first ones, are expected to take
            where some chains lag [cycle].
        work: Tells what the busiest engine works in so many, dealt out evenly [cycle].
        fits: Tells whether the tiles of each operation fit together; it is asked of few lags.
    """

    may_lag: Lags
    stripes: int
    makespan: Callable[[Lags, int], int]
    work: Callable[[int], float]
    fits: Callable[[Lags], bool]

    def options(self) -> Iterator[tuple[Lags, float]]:
        """Yield lags that fit and are expected to take less time than none, the best ones first.

        One chain after the other is added, always the one with which all takes least then; none
        where the busiest engine hardly waits. With each comes what it is expected to take [cycle].
        """
        if not self.may_lag:
            return
        expected: dict[Lags, float] = {(): self._expected(())}
        if self._continued(self.work) >= _WORTH * expected[()]:
            return
        best: Lags = ()
        for _ in range(_DEPTH):
            added = [tuple(sorted((*best, item))) for item in self.may_lag if item not in best]
            expected.update((item, self._expected(item)) for item in added if item not in expected)
            best = next(filter(self._fits, _sorted(expected)))
            if len(best) < max(map(len, expected)):
                break
        worth = {item: time for item, time in expected.items() if time < _WORTH * expected[()]}
        yield from ((item, worth[item]) for item in filter(self._fits, _sorted(worth)))

    def _fits(self, behind: Lags) -> bool:
        return not behind or self.fits(behind)

    def _expected(self, behind: Lags) -> float:
        """Return what all stripes are expected to take, if they fit [cycle]."""
        return self._continued(lambda stripes: self.makespan(behind, stripes))

    def _continued(self, time: Callable[[int], float]) -> float:
        """Return a time of all stripes from that of the first ones [cycle].

        Those that are not looked at are taken to go on as the last ones do that are.
        """
        many = time(MANY)
        if self.stripes <= MANY:
            return many
        return many + (many - time(FEW)) / (MANY - FEW) * (self.stripes - MANY)


@dataclass(frozen=True)
class MixedStripes:
    """What orders are expected to take in which all stripes in work are evenly mixed.

    Each operation takes as long as it took in a schedule in which no chain lags.

    Attributes:
        in_turn: What was issued there.
        dealing: How accumulations are dealt out.
        ordered: Returns the numbers of the operations in their order where some chains lag, of so
            many stripes, the first ones.
    """

    in_turn: Attempt
    dealing: Dealing
    ordered: Callable[[Lags, int], Ints]

    def work(self, stripes: int) -> float:
        """Return what the busiest engine works in some stripes, dealt out evenly [cycle].

        Args:
            stripes: How many.
        """
        ops = self.ordered((), stripes)
        units = self._tiles.ops[ops, UNIT]
        return float(np.bincount(units, self._cycles[ops]).max()) / self._tiles.npus

    def makespan(self, behind: Lags, stripes: int) -> int:
        """Return what the operations of some stripes are expected to take [cycle].

        Args:
            behind: Which chains lag.
            stripes: How many stripes.
        """
        tiles = self._tiles
        order = issue_order(tiles, self.dealing, self.ordered(behind, stripes))
        free = np.zeros((len(self.in_turn.tables.units), tiles.npus), np.int64)
        return makespan(tiles, order, self._cycles, free, np.zeros(len(tiles.tiles), np.int64))

    @property
    def _tiles(self) -> TileArrays:
        return self.in_turn.tables.tiles

    @cached_property
    def _cycles(self) -> Ints:
        """How long each operation took [cycle] ``[ops]``."""
        found = np.zeros(len(self.in_turn.graph.ops), np.int64)
        for number, cycles in self.in_turn.computed:
            found[number] = cycles
        return found


def _sorted(expected: Mapping[Lags, float]) -> list[Lags]:
    """Return lags, those first that are expected to take the least time."""
    return sorted(expected, key=lambda item: (expected[item], item))

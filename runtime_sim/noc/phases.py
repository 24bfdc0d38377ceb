"""When the tiles of a nest come and go.

A *phase* is what the array does while no memory that the mesh serves gets another tile. The loops
outside of it are an odometer: a phase turns one of them and resets those inside of it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...ir.workload import REDUCTION, RELEVANT, Operand
from ..array.nest import ArrayNest, Leg
from .kernel import Ints


@dataclass(frozen=True, slots=True)
class Visits:
    """The tiles of one operand that one memory gets, one after the other.

    Attributes:
        tile: Number of the tile of each.
        first: First phase of each.
        last: Last phase of each.
        earlier: The visit before of the same tile, -1 for none.
        is_final: Whether each one's sums have seen all of their reduction in time.
    """

    tile: Ints
    first: Ints
    last: Ints
    earlier: Ints
    is_final: Ints

    def __len__(self) -> int:
        return len(self.first)

    def at(self, phases: Ints) -> Ints:
        """Return the visit of each phase."""
        return np.searchsorted(self.first, phases, side="right") - 1


class Phases:
    """The first phases of a nest.

    Attributes:
        nest: The loops on the machine.
        depth: Loops outside of a phase.
        all: Phases of the whole nest.
        count: Those looked at.
    """

    def __init__(self, nest: ArrayNest, legs: tuple[Leg, ...], most: int) -> None:
        """Take a nest.

        Args:
            nest: The loops on the machine.
            legs: The ways into the memories that the mesh serves, and outside of these.
            most: Phases looked at.
        """
        self.nest = nest
        self._extents = [loop.extent for loop in nest.nest.temporal]
        self.depth = max([self._changing(leg) + 1 for leg in legs], default=0)
        self.all = math.prod(self._extents[: self.depth])
        self.count = min(self.all, most)
        numbers = np.arange(self.count)
        self._turned = np.full(self.count, self.depth)
        for loop in reversed(range(self.depth)):
            self._turned[numbers % self._inner(loop) == 0] = loop
        self._turned[0] = -1

    def _inner(self, loop: int) -> int:
        """Return the phases of one step of a loop."""
        return math.prod(self._extents[loop + 1 : self.depth])

    def _changing(self, leg: Leg) -> int:
        """Return the innermost loop that gives the inner memory another tile, -1 for none."""
        if leg.child is None:  # the MACs keep nothing
            return leg.start - 1
        return max(
            [
                place
                for place, loop in enumerate(self.nest.nest.temporal[: leg.start])
                if loop.extent > 1 and loop.dim in RELEVANT[leg.operand]
            ],
            default=-1,
        )

    def share(self, leg: Leg) -> Fraction:
        """Return the tiles that go over a leg, per phase of the whole nest."""
        changing = self._changing(leg)
        return Fraction(math.prod(self._extents[: changing + 1]), self.all)

    def different(self, leg: Leg) -> int:
        """Return how many different tiles of the whole nest go over a leg."""
        return math.prod(
            loop.extent
            for loop in self.nest.nest.temporal[: leg.start]
            if loop.dim in RELEVANT[leg.operand]
        )

    def _digit(self, loop: int, phases: Ints) -> Ints:
        return phases // self._inner(loop) % self._extents[loop]

    def visits(self, leg: Leg) -> Visits:
        """Return the tiles that go over a leg."""
        first = np.flatnonzero(self._turned <= self._changing(leg))
        last = np.append(first[1:], self.count) - 1
        tile, is_final = np.zeros(len(first), np.int64), np.ones(len(first), np.bool_)
        for loop in range(min(leg.start, self.depth)):
            dim = self.nest.nest.temporal[loop].dim
            if dim in RELEVANT[leg.operand]:
                tile = tile * self._extents[loop] + self._digit(loop, first)
            if leg.operand is Operand.O and dim in REDUCTION:
                is_final &= self._digit(loop, last) == self._extents[loop] - 1
        return Visits(tile, first, last, _earlier(tile), is_final.astype(np.int64))


def _earlier(tile: Ints) -> Ints:
    """Return for each place the one before with the same value, -1 for none."""
    order = np.argsort(tile, kind="stable")
    same = tile[order[1:]] == tile[order[:-1]]
    found = np.full(len(tile), -1)
    found[order[1:][same]] = order[:-1][same]
    return found

"""Issue the operations of a group's stripes when they can start, on the engines that are free.

    evenly mixed   array   a2 b1 a2 b1 ..      b1 waits for what the vector unit makes of a1,
                                               and a2 waits behind it
    when ready     array   a2 a2 b1 b1 ..      a2 needs nothing of that, and goes first

Of each turn of the stripes, operations that lag as much keep their order. Accumulations that lag
differently take turns: the one is next that can start first, on the NPU that is done with it first.
Operations take as long as they do alone, wait for what they read, and for rows whose place they
take; where tiles lie, and who shares a port, is not looked at.

References:
    Graham: Bounds on Multiprocessing Timing Anomalies. SIAM Journal on Applied Mathematics 17(2),
    1969 (list scheduling).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....ir.tiles.events import EventKind
from ...tiling.groups.group import OpPlace
from ..engine.kernel import ready
from ..engine.kernel.arrays import UNIT, IssueOrder, TileArrays
from ..engine.kernel.issue import Accumulations
from ..timing.issued import entries, firsts
from .issue_order import accumulations, in_turns
from .tables import GraphTables

Ints = NDArray[np.int64]


class Preference(Enum):
    """Which accumulation is next, of several that can start at once."""

    EVEN = int(ready.EVEN)
    """That of the lag of which most of the turn's work is left."""
    LATE = int(ready.LATE)
    """The one that lags most."""
    EARLY = int(ready.EARLY)
    """The one that lags least."""


@dataclass(frozen=True, eq=False)
class ReadyOrder:
    """Operations in the order in which they can start.

    Attributes:
        tiles: Tiles and operations.
        accumulations: What one NPU works through, by turn of the stripes, and lag.
        issued: Accumulation and NPU, in order ``[accumulations, 2]``.
        cycles: When the last one is expected to end.
    """

    tiles: TileArrays
    accumulations: Accumulations
    issued: Ints
    cycles: int

    @cached_property
    def turns(self) -> IssueOrder:
        """All operations, each with its NPU."""
        known, number = self.accumulations, self.issued[:, 0]
        turns = known.members[entries(known.begins, number)]
        npus = np.repeat(self.issued[:, 1], np.diff(known.begins)[number])
        return in_turns(self.tiles, known, np.stack((turns, npus), axis=1))


@dataclass(frozen=True, eq=False)
class ReadyStripes:
    """The operations of a group's stripes, to be put in the order in which they can start.

    Attributes:
        tables: Tiles and operations.
        places: Turn and lag of every operation; turns follow each other.
    """

    tables: GraphTables
    places: Sequence[OpPlace]
    _orders: dict[Preference, ReadyOrder] = field(
        init=False, repr=False, default_factory=dict[Preference, ReadyOrder]
    )

    def order(self, preference: Preference) -> ReadyOrder:
        """Return the order, found once.

        Args:
            preference: Which goes first of those that can start at once.
        """
        if preference not in self._orders:
            tiles, units = self.tables.tiles, len(self.tables.units)
            run = ready.empty_order(tiles, self._parts, units)
            cycles = ready.run_ready(tiles, self._parts, preference.value, run)
            found = ReadyOrder(tiles, self._accumulations, run.issued, cycles)
            self._orders[preference] = found
        return self._orders[preference]

    @property
    def work(self) -> float:
        """What the busiest kind of engine works, dealt out evenly [cycle]."""
        units = self.tables.tiles.ops[:-1, UNIT]
        return float(np.bincount(units, self.cycles[:, 0]).max()) / len(self.tables.arch.npus)

    @cached_property
    def cycles(self) -> Ints:
        """How long each operation takes by NPU, alone [cycle] ``[ops, npus]``."""
        npus = range(len(self.tables.arch.npus))
        ops = range(len(self.tables.graph.ops))
        return np.array([[self._cycles(op, npu) for npu in npus] for op in ops], np.int64)

    def _cycles(self, op: int, npu: int) -> int:
        works = self.tables.works
        work = works.to_do(EventKind.COMPUTE, op, npu, clear=False)
        return work.lead + works.length(work)

    @cached_property
    def _accumulations(self) -> Accumulations:
        """What one NPU works through, by turn of the stripes, and by how many these it lags."""
        found = accumulations(self.tables.tiles)
        places = self._places_of(found)
        order = np.lexsort((places[:, 1], places[:, 0]))
        return found._replace(
            members=found.members[entries(found.begins, order)],
            begins=firsts(np.diff(found.begins)[order]),
        )

    def _places_of(self, found: Accumulations) -> Ints:
        """Return turn and lag with which accumulations begin ``[accumulations, 2]``."""
        first = found.ops[found.turns[found.members[found.begins[:-1]]]]
        return np.array(self.places, np.int64).reshape(-1, 2)[first]

    @cached_property
    def _parts(self) -> ready.Parts:
        known = self._accumulations
        ops = known.ops[entries(known.turns, known.members)]
        lengths = np.diff(known.turns)[known.members]
        begins = firsts(np.add.reduceat(lengths, known.begins[:-1]))
        work = np.add.reduceat(self.cycles[ops, 0], begins[:-1])
        places = self._places_of(known)
        is_new = np.any(np.diff(places, axis=0, prepend=-1) != 0, axis=1)
        parts = np.column_stack((places, np.arange(len(places))))[is_new]
        return ready.Parts(
            parts=np.append(parts, [(-1, 0, len(places))], axis=0),
            accumulations=np.stack((begins, np.append(work, 0)), axis=1),
            ops=ops,
            cycles=self.cycles,
        )

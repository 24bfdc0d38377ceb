"""One run of the engine over an order of turns: events, and when the clock lets them run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....ir.errors import InfeasibleError
from ....ir.isa.instructions import Space
from ....ir.proof import Scope
from ....ir.tiles.events import Event, EventKind, Placement
from ....ir.tiles.graph import TileGraph
from ....ir.tiles.schedule import TileSchedule
from ..engine.kernel.arrays import (
    ALL_WAITS,
    CLAIM,
    COMPUTE,
    ENTERED,
    EVENT_KIND,
    EVENT_WORK,
    EVENTS,
    EXTENT,
    HURRIED,
    LACKING,
    MEMORY,
    MISSING,
    OVERFLOW,
    PLACEMENTS,
    QUEUE,
    SUBJECT,
    WAITS,
    Capacity,
    IssueOrder,
    RunArrays,
    TurnArrays,
)
from ..engine.kernel.start import empty_run
from ..engine.kernel.turns import run_turns
from ..timing.issued import IssuedEvents, times_of
from ..timing.work import Work
from .demand import too_many
from .fixed_places import NOWHERE, FixedPlaces
from .tables import GraphTables

Ints = NDArray[np.int64]

_KINDS = (
    EventKind.LOAD,
    EventKind.STORE,
    EventKind.SPILL,
    EventKind.RETRIEVE,
    EventKind.COMPUTE,
)
"""Kinds of events, in the order of their numbers."""


@dataclass(frozen=True, eq=False)
class Attempts:
    """Runs of the engine over one order of turns, in one space.

    Attributes:
        tables: Tiles and operations.
        order: Operations as they are issued, each with its NPU.
        ranges: First byte and size of the range of each space that tiles may use.
        places: Addresses that are known beforehand.
        numbers: Of the operations, in the order in which the schedule is to name them; as in the
            tables by default.
    """

    tables: GraphTables
    order: IssueOrder
    ranges: Mapping[Space, tuple[int, int]]
    places: FixedPlaces = NOWHERE
    numbers: Ints | None = None

    def run(self, patient: frozenset[int] = frozenset()) -> "Attempt":
        """Issue all turns.

        Args:
            patient: Tiles that are not fetched for a channel that is idle.

        Raises:
            InfeasibleError: There is no space for a tile when it has to come.
        """
        turns, works = self._turns
        tiles, capacity = self.tables.tiles, self.tables.capacity(self.ranges, self.places, patient)
        size = 64 + 2 * (len(turns.does) + len(turns.copies))
        while True:
            found = empty_run(tiles, capacity, len(self.tables.engines), size)
            ended = run_turns(tiles, turns, capacity, found)
            if ended != OVERFLOW:
                break
            size *= 2
        if ended == LACKING:
            raise self._shortage(found, capacity)
        counts = found.scalars
        return Attempt(
            tables=self.tables,
            works=works,
            events=found.events[: counts[EVENTS] + 1].copy(),  # the arrays are much larger
            waits=found.waits[: counts[ALL_WAITS]].copy(),
            placements=found.placements[: counts[PLACEMENTS]].copy(),
            hurried=frozenset(np.flatnonzero(found.tiles[:, HURRIED]).tolist()),
            numbers=self.numbers,
        )

    @cached_property
    def _turns(self) -> tuple[TurnArrays, tuple[Work, ...]]:
        return self.tables.turns(self.order)

    def _shortage(self, found: RunArrays, capacity: Capacity) -> InfeasibleError:
        """Return what to say of a tile for which there is no space."""
        missing, npus = int(found.scalars[MISSING]), len(self.tables.arch.npus)
        memory = self._memory(missing)
        here = np.flatnonzero(found.copies[:, CLAIM] >= 0).tolist()
        others = [copy for copy in here if self._memory(copy) == memory]
        others.sort(key=lambda copy: found.copies[copy, ENTERED])
        tiles = self.tables.graph.tiles
        item, *rest = needed = [tiles[copy // npus] for copy in (missing, *others)]
        size = int(capacity.memories[memory, EXTENT])
        free = size - sum(other.occupied for other in rest)
        if item.occupied > free:
            return too_many(self.tables.graph, needed, size)
        return InfeasibleError(
            f"a tile of %{self.tables.graph.operators[0]} needs {item.occupied} byte of "
            f"{item.space} in one piece; {free} are free, in several",
            hint="give it a larger scratchpad, or another mapper",
        )

    def _memory(self, copy: int) -> int:
        """Return the number of the memory in which a copy of a tile lies."""
        tile, npu = divmod(copy, len(self.tables.arch.npus))
        is_known = tile in self.places.addresses
        return -1 if is_known else int(self.tables.tiles.tiles[tile, MEMORY]) + npu


@dataclass(frozen=True, eq=False)
class Attempt:
    """What a run of the engine has issued.

    Attributes:
        tables: Tiles and operations.
        works: What events do.
        events: As the engine has them ``[events + 1, 7]``.
        waits: What they wait for ``[., 2]``.
        placements: Of the tiles ``[., 4]``.
        hurried: Tiles that have left before anything read them.
        numbers: Of the operations, in the order in which the schedule names them; as in the tables
            by default.
    """

    tables: GraphTables
    works: Sequence[Work]
    events: Ints
    waits: Ints
    placements: Ints
    hurried: frozenset[int]
    numbers: Ints | None = None

    @cached_property
    def graph(self) -> TileGraph:
        """Tiles and operations, as the schedule names them."""
        known = self.tables.graph
        if self.numbers is None:
            return known
        return replace(known, ops=tuple(map(known.ops.__getitem__, self.numbers.tolist())))

    @property
    def _events(self) -> Ints:
        return self.events[:-1]

    @cached_property
    def issued(self) -> IssuedEvents:
        """What events wait for and do."""
        numbers, first = np.unique(self._events[:, QUEUE], return_index=True)
        by_event: list[int] = numbers[np.argsort(first)].tolist()
        renumbered = np.zeros(len(self.tables.engines), np.int64)
        renumbered[by_event] = np.arange(len(by_event))
        return IssuedEvents(
            engines=tuple(self.tables.engines[number] for number in by_event),
            queue=renumbered[self._events[:, QUEUE]],
            work=self._events[:, EVENT_WORK],
            works=self.works,
            waits_from=self.events[:, WAITS],
            waits=np.stack((renumbered[self.waits[:, 0]], self.waits[:, 1]), axis=1),
        )

    @cached_property
    def _spans(self) -> Ints:
        return self.issued.spans(self.tables.works)

    @cached_property
    def cycles(self) -> int:
        """When the last event ends."""
        return int(self._spans[:, 3].max(initial=0))

    @cached_property
    def transferred_bytes(self) -> int:
        """Bytes between off-chip memory and the chip."""
        tiles = self.tables.graph.tiles
        is_moving = self._events[:, EVENT_KIND] != COMPUTE
        moved: list[int] = self._events[is_moving, SUBJECT].tolist()
        return sum(tiles[number].bytes for number in moved)

    @property
    def computed(self) -> Sequence[tuple[int, int]]:
        """Operations of the tables as they are issued, each with how long it takes [cycle]."""
        computes = self._events[:, EVENT_KIND] == COMPUTE
        cycles = self._spans[computes, 2] - self._spans[computes, 1]
        return list(zip(self._events[computes, SUBJECT].tolist(), cycles.tolist(), strict=True))

    @cached_property
    def schedule(self) -> TileSchedule:
        """The schedule, timed."""
        bound = self.issued.bound(self.tables.works)
        return TileSchedule(
            graph=self.graph,
            events=tuple(self._timed_events()),
            placements=tuple(self._placements()),
            scheduler="static",
            cycles=self.cycles,
            cycles_lower_bound=bound,
            scope=Scope.GIVEN_EVENTS if bound else None,
        )

    def _timed_events(self) -> Iterator[Event]:
        events: list[list[int]] = self._named_events.tolist()
        spans: list[list[int]] = self._spans.tolist()
        for (kind, subject, queue, clears, *_), span in zip(events, spans, strict=True):
            unit, index = self.tables.engines[queue]
            start, end, fill, drain = times_of(unit, span)
            yield Event(
                kind=_KINDS[kind],
                subject=subject,
                unit=unit,
                index=index,
                start=start,
                end=end,
                clear=bool(clears),
                fill=fill,
                drain=drain,
            )

    @property
    def _named_events(self) -> Ints:
        """The events; operations by their place in the graph of the schedule."""
        if self.numbers is None:
            return self._events
        renamed, place = self._events.copy(), np.argsort(self.numbers)
        computes = renamed[:, EVENT_KIND] == COMPUTE
        renamed[computes, SUBJECT] = place[renamed[computes, SUBJECT]]
        return renamed

    def _placements(self) -> Iterator[Placement]:
        npus = len(self.tables.arch.npus)
        for copy, address, first, last in self.placements.tolist():
            tile, npu = divmod(copy, npus)
            yield Placement(tile=tile, npu=npu, address=address, first_event=first, last_event=last)

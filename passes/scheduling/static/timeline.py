"""Predict when events run: each waits for its engine and for the memory that it touches.

This is what schedulers decide by; the clock tells the times in the end (``timing/retime.py``). Here
the off-chip port serves one transfer at a time, with all that it has, and no other port is shared.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ....ir.arch import Architecture
from ....ir.isa.instructions import Space, Unit
from ....ir.tiles.events import Event, EventKind
from ....ir.tiles.graph import TileGraph
from ....ir.tiles.hazards import HazardTracker, Met, PlacedContent, next_event, waits_for
from ..engine.engines import Engines
from ..timing.retime import Issued
from ..timing.work import Work, Works


@dataclass(slots=True)
class Timeline:
    """Events so far and when each engine is free; local to one scheduling run.

    Attributes:
        arch: The machine.
        graph: Tiles and operations.
        events: What happens, with the times that it is expected to take.
        issued: What each of these events waits for, and does.
        tracker: What lies where on chip.
    """

    arch: Architecture
    graph: TileGraph
    events: list[Event] = field(default_factory=list[Event])
    issued: list[Issued] = field(default_factory=list[Issued])
    tracker: HazardTracker = field(default_factory=HazardTracker)
    works: Works = field(init=False)
    engines: Engines = field(init=False)
    _ends: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    _latest: dict[int, Event] = field(default_factory=dict[int, Event])
    _queues: dict[tuple[Unit, int], int] = field(default_factory=dict[tuple[Unit, int], int])

    def __post_init__(self) -> None:
        self.works = Works(self.graph, self.arch)
        self.engines = Engines(self.arch)

    def _queue(self, unit: Unit, index: int) -> int:
        """Return the number of a queue; they are numbered as they get events."""
        number = self._queues.setdefault((unit, index), len(self._queues))
        self._ends.setdefault(number, [0])
        return number

    def free_at(self, unit: Unit, index: int) -> int:
        """Return the cycle at which an engine has finished all its events so far."""
        number = self._queues.get((unit, index))
        return 0 if number is None else self._ends[number][-1]

    def dma_channel(self) -> int:
        """Return the channel that is free first."""
        ends = [self.free_at(Unit.DMA, channel) for channel in range(self.arch.dma.channels)]
        return ends.index(min(ends))

    def claim(
        self, space: Space, npu: int, address: int, size: int, rolls: int = 0
    ) -> PlacedContent:
        """Give an address range a new content.

        Args:
            space: Address space.
            npu: Whose, 0 where all share it.
            address: First byte.
            size: [byte].
            rolls: Rows that are there at once, if it is for a tile that rolls.
        """
        return self.tracker.claim(space, space.owner(npu), address, size, rolls)

    def add(
        self,
        kind: EventKind,
        subject: int,
        unit: Unit,
        index: int,
        *,
        reads: Iterable[Met],
        writes: Iterable[Met],
        clear: bool = False,
        npu: int | None = None,
    ) -> int:
        """Append an event as early as its engine and memory allow; return its number.

        Args:
            kind: What it does.
            subject: To which tile or operation.
            unit: Kind of engine.
            index: Which of them.
            reads: What it reads.
            writes: What it writes.
            clear: Whether accumulation starts from zero.
            npu: Whose memory a transfer touches; the engine's own otherwise.
        """
        queue = self._queue(unit, index)
        upcoming = next_event(tuple(reads), tuple(writes), kind.value)
        ends = self._ends
        ready = 0
        waits = waits_for((upcoming.waits,), queue)
        for other, tick in waits.items():
            ready = max(ready, ends[other][tick])
        owner = index if npu is None else npu
        work = self.works.to_do(kind, subject, owner, clear=clear)
        if unit is Unit.MX:
            start, end, fill, drain = self._on_array(ready, work, queue)
        else:
            start, end, fill, drain = self._elsewhere(kind, unit, ready, work, queue)
        event = Event(
            kind=kind,
            subject=subject,
            unit=unit,
            index=index,
            start=start,
            end=end,
            clear=clear,
            fill=fill,
            drain=drain,
        )
        tick = len(ends[queue])
        ends[queue].append(event.end)
        self._latest[queue] = event
        upcoming.note(queue, tick)
        self.events.append(event)
        self.issued.append(Issued(waits, work))
        return len(self.events) - 1

    def _on_array(self, ready: int, work: Work, queue: int) -> tuple[int, int, int, int]:
        """Return start, end, fill and drain where buffers fill while the event before computes."""
        length, before = self.works.length(work), self._latest.get(queue)
        start = ready if before is None else max(ready, before.begin)
        begin = start + work.fill if before is None else max(start + work.fill, before.done)
        done = begin + length
        end = done + work.drain if before is None else max(done + work.drain, before.end)
        return start, end, begin - start, end - done

    def _elsewhere(
        self, kind: EventKind, unit: Unit, ready: int, work: Work, queue: int
    ) -> tuple[int, int, int, int]:
        """Return the same where an engine does one thing at a time: nothing fills or drains."""
        length, before = self.works.length(work), self._latest.get(queue)
        start = ready if before is None else max(ready, before.end)
        begin = start + work.lead
        if unit is Unit.DMA:
            port = self.engines.port(kind)
            begin = port.first_gap(begin, length)
            port.occupy(begin, length)
        return start, begin + length, 0, 0

"""Predict when events run: each waits for its engine and for the memory that it touches."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...ir.arch import Architecture
from ...ir.hazards import Block, HazardTracker, Ticks, waits_for
from ...ir.isa import Space, Unit
from ...ir.tile_events import Event, EventKind
from ...ir.tiles import TileGraph
from .durations import Durations


@dataclass(slots=True)
class Timeline:
    """Events so far and when each engine is free; local to one scheduling run."""

    arch: Architecture
    graph: TileGraph
    events: list[Event] = field(default_factory=list[Event])
    tracker: HazardTracker = field(default_factory=HazardTracker)
    durations: Durations = field(init=False)
    _ends: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    _queues: dict[tuple[Unit, int], int] = field(default_factory=dict[tuple[Unit, int], int])

    def __post_init__(self) -> None:
        self.durations = Durations(self.graph, self.arch)

    def queue(self, unit: Unit, index: int) -> int:
        """Return the number of a queue."""
        number = self._queues.setdefault((unit, index), len(self._queues))
        self._ends.setdefault(number, [0])
        return number

    def free_at(self, unit: Unit, index: int) -> int:
        """Return the cycle at which an engine has finished all its events so far."""
        return self._ends[self.queue(unit, index)][-1]

    def dma_channel(self) -> int:
        """Return the channel that is free first."""
        return min(
            range(self.arch.dma.channels), key=lambda channel: self.free_at(Unit.DMA, channel)
        )

    def claim(self, space: Space, npu: int, address: int, size: int) -> Block:
        """Give an address range a new content."""
        return self.tracker.claim(space, 0 if space.is_shared else npu, address, size)

    def add(
        self,
        kind: EventKind,
        subject: int,
        unit: Unit,
        index: int,
        *,
        reads: Iterable[Block],
        writes: Iterable[Block],
        author: str,
        clear: bool = False,
    ) -> int:
        """Append an event as early as its engine and memory allow; return its number."""
        queue = self.queue(unit, index)
        reads, writes = tuple(reads), tuple(writes)
        before: list[Ticks] = [self.tracker.before_read(block) for block in reads]
        before += [self.tracker.before_write(block, author) for block in writes]
        ends = self._ends
        start = ends[queue][-1]
        for other, tick in waits_for(before, queue).items():
            start = max(start, ends[other][tick])
        end = start + self.durations.of(kind, subject, index, clear=clear)
        tick = len(ends[queue])
        ends[queue].append(end)
        for block in reads:
            self.tracker.note_read(block, queue, tick)
        for block in writes:
            self.tracker.note_write(block, queue, tick, author)
        self.events.append(
            Event(
                kind=kind,
                subject=subject,
                unit=unit,
                index=index,
                start=start,
                end=end,
                clear=clear,
            )
        )
        return len(self.events) - 1

    @property
    def makespan(self) -> int:
        """Cycle at which the last event ends."""
        return max((event.end for event in self.events), default=0)

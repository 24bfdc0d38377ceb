"""Which earlier events an event must wait for where one schedule covers several operators.

Placed tiles are blocks, as everywhere (``hazards.py``). Of tensors that operators hand on, on
chip or off, each element remembers who wrote it: a tile of the next operator waits for the tiles
that it overlaps, not for the whole tensor. Every element of such a tensor is written before it is
read and never changes again (the verifier of schedules sees to it), so that a write waits only
for what was at these addresses before, and for writes of the same value.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .hazards import Block, HazardTracker, Ticks, merge
from .isa import Space
from .regions import Region
from .tile_events import Placement
from .tile_schedule import TileSchedule
from .touches import Accesses, OnChip, SpilledSums, Storage, Touch, Touches


@dataclass(slots=True)
class Content:
    """A block, and per queue the last event that wrote each element of it."""

    block: Block
    elements: int = 0
    written: dict[int, npt.NDArray[np.int32]] = field(
        default_factory=dict[int, npt.NDArray[np.int32]]
    )

    def before_read(self, region: Region | None) -> Ticks:
        """Return the events that a read must wait for."""
        if region is None:
            return HazardTracker.before_read(self.block)
        return self._writers(region) or self.block.inherited

    def before_write(self, region: Region | None, author: str) -> Ticks:
        """Return the events that a write must wait for."""
        if region is None:
            return HazardTracker.before_write(self.block, author)
        ticks = dict(self.block.inherited)
        merge(ticks, self._writers(region))
        return ticks

    def _writers(self, region: Region) -> Ticks:
        found = {queue: int(region.within(ticks).max()) for queue, ticks in self.written.items()}
        return {queue: tick for queue, tick in found.items() if tick}

    def note_write(self, region: Region | None, queue: int, tick: int, author: str) -> None:
        """Record a write."""
        if region is None:
            HazardTracker.note_write(self.block, queue, tick, author)
            return
        self.block.writers[queue] = tick
        if queue not in self.written:
            self.written[queue] = np.zeros(self.elements, np.int32)
        region.within(self.written[queue])[...] = tick


@dataclass
class ScheduleHazards:
    """Follows the events of a schedule in program order; local to one run.

    Attributes:
        schedule: The schedule; times do not matter.
    """

    schedule: TileSchedule
    _tracker: HazardTracker = field(default_factory=HazardTracker)
    _contents: dict[Storage, Content] = field(default_factory=dict[Storage, Content])

    @cached_property
    def accesses(self) -> Accesses:
        """What every event touches."""
        return Accesses(self.schedule)

    def before(self, number: int) -> tuple[Touches, Ticks]:
        """Return the accesses of the next event and what it must wait for."""
        touches = self.accesses.of(number)
        if self.accesses.starts_residence(number):
            for touch in touches.writes:
                self._contents.pop(touch.storage, None)
        ticks: Ticks = {}
        author = self._author(number)
        for touch in touches.reads:
            merge(ticks, self._content(touch).before_read(touch.region))
        for touch in touches.writes:
            merge(ticks, self._content(touch).before_write(touch.region, author))
        return touches, ticks

    def note(self, number: int, touches: Touches, queue: int, tick: int) -> None:
        """Record that an event was appended to a queue."""
        author = self._author(number)
        for touch in touches.reads:
            HazardTracker.note_read(self._content(touch).block, queue, tick)
        for touch in touches.writes:
            self._content(touch).note_write(touch.region, queue, tick, author)

    def _author(self, number: int) -> str:
        return self.schedule.events[number].kind.value

    def _content(self, touch: Touch) -> Content:
        storage = touch.storage
        if storage not in self._contents:
            self._contents[storage] = self._claim(storage)
        return self._contents[storage]

    def _claim(self, storage: Storage) -> Content:
        if isinstance(storage, Placement):
            tile = self.schedule.graph.tiles[storage.tile]
            npu = 0 if tile.space.is_shared else storage.npu
            return Content(self._tracker.claim(tile.space, npu, storage.address, tile.occupied))
        if isinstance(storage, OnChip):
            elements = self.accesses.elements[storage]
            size = elements * self.accesses.element_bytes[storage]
            return Content(self._tracker.claim(Space.GB, 0, storage.base, size), elements)
        elements = 0 if isinstance(storage, SpilledSums) else self.accesses.elements[storage]
        return Content(Block(0, 0), elements)

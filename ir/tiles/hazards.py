"""Which earlier events an event must wait for, from the memory that both touch.

The clock that predicts the times of a schedule and the lowering that writes waits use this same
bookkeeping, so that a prediction holds on the machine; the compiled engine of the scheduler follows
its rules. It is not the judge: the simulator looks at every byte.

Memory is seen as *blocks*: address ranges with one content at a time (a placed tile, a resident
tensor, a tensor off chip). A block that takes over the addresses of older ones waits for
everything that touched them. Of tensors, which operators hand on in parts, each cell remembers who
wrote it. Every cell is written before it is read and never changes again (the verifier of
schedules sees to it), so that a write waits only for what was at these addresses before, and for
writes of the same value. The cells of a tile that rolls are its rows: a new one waits for all that
touched the one whose place it takes. Other tiles have no cells: what reads one waits for all that
wrote to it before, and what writes to it for all that read it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from ..isa.instructions import Space
from .cells import Cells
from .events import Placement
from .schedule import TileSchedule
from .touches import Accesses, OnChip, Storage, Touch

Ticks = dict[int, int]
"""Per queue, the number of its last event: 1 is the first."""


@dataclass(slots=True)
class PlacedContent:
    """An address range with one content.

    Attributes:
        low: First byte.
        high: Byte past the last.
        writers: Last event of each queue that wrote it, by the operator in ``author``.
        readers: Last event of each queue that read it.
        inherited: Last events on the addresses before the block was made.
        author: Operator whose disjoint parts are being written; its writes do not wait for each
            other.
        rolls: Rows of a tile that rolls which are there at once; 0 of all else.
        cells: Of a tensor, or a tile that rolls, the last events that wrote each cell.
        read: Of a tile that rolls, the last events that read each row.
    """

    low: int
    high: int
    writers: Ticks = field(default_factory=Ticks)
    readers: Ticks = field(default_factory=Ticks)
    inherited: Ticks = field(default_factory=Ticks)
    author: str = ""
    rolls: int = 0
    cells: dict[int, Ticks] = field(default_factory=dict[int, Ticks])
    read: dict[int, Ticks] = field(default_factory=dict[int, Ticks])

    def before_read(self, cells: Cells | None = None) -> Ticks:
        """Return the events that a read must wait for, of some cells or of all."""
        if cells is None:
            return self.writers or self.inherited
        return self._wrote(cells) or self.inherited

    def before_write(self, author: str, cells: Cells | None = None) -> Ticks:
        """Return the events that a write of some cells, or of all, must wait for."""
        found = dict(self.inherited)
        if cells is not None:
            old = tuple(cell - self.rolls for cell in cells)
            merge(found, self._wrote(old))
            for row in old:
                merge(found, self.read.get(row, {}))
            return found
        merge(found, self.readers)
        if self.author != author:
            merge(found, self.writers)
        return found

    def part(self, low: int, high: int) -> "PlacedContent":
        """Return the content of a part of the addresses, of which others remain as they are.

        Args:
            low: First byte.
            high: Byte past the last.
        """
        return PlacedContent(
            low, high, dict(self.writers), dict(self.readers), dict(self.inherited)
        )

    def _wrote(self, cells: Cells) -> Ticks:
        found: Ticks = {}
        for cell in cells:
            merge(found, self.cells.get(cell, {}))
        return found

    def note_read(self, queue: int, tick: int, cells: Cells | None = None) -> None:
        """Record a read.

        Args:
            queue: Number of the reader's queue.
            tick: Instructions that the queue has issued, this one included.
            cells: What is read; everything if ``None``.
        """
        self.readers[queue] = tick
        if self.rolls and cells is not None:
            for row in cells:
                self.read.setdefault(row, {})[queue] = tick

    def note_write(self, queue: int, tick: int, author: str, cells: Cells | None = None) -> None:
        """Record a write by an operator.

        Args:
            queue: Number of the writer's queue.
            tick: Instructions that the queue has issued, this one included.
            author: The operator.
            cells: What is written; everything if ``None``.
        """
        if cells is not None:
            for cell in cells:
                self.cells.setdefault(cell, {})[queue] = tick
        elif self.author != author:
            if self.writers:  # each of them has waited for what was inherited
                self.inherited = {}
            merge(self.inherited, self.writers)
            merge(self.inherited, self.readers)
            self.writers, self.readers, self.author = {}, {}, author
        self.writers[queue] = tick


_low, _high = attrgetter("low"), attrgetter("high")


def merge(into: Ticks, other: Ticks) -> None:
    """Keep the later event of each queue."""
    for queue, tick in other.items():
        if tick > into.get(queue, 0):
            into[queue] = tick


def waits_for(ticks: Iterable[Ticks], queue: int) -> Ticks:
    """Join what an event of ``queue`` waits for; its own queue is in order anyway."""
    joined: Ticks = {}
    for item in ticks:
        merge(joined, item)
    joined.pop(queue, None)
    return joined


class HazardTracker:
    """The blocks of all memories, by address; local to one scheduling or lowering run."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[Space, int], list[PlacedContent]] = {}

    def claim(
        self, space: Space, npu: int, address: int, size: int, rolls: int = 0
    ) -> PlacedContent:
        """Make a block over an address range; older blocks there end.

        Parts of older blocks that stick out remain blocks of their own.

        Args:
            space: Address space.
            npu: Whose, 0 where all share it.
            address: First byte.
            size: [byte].
            rolls: Rows that are there at once, if it is for a tile that rolls.
        """
        low, high = address, address + size
        block = PlacedContent(low, high, rolls=rolls)
        blocks = self._blocks.setdefault((space, npu), [])
        first = bisect_right(blocks, low, key=_high)
        last = max(first, bisect_left(blocks, high, key=_low))
        kept = [block]
        for old in blocks[first:last]:
            for ticks in (old.inherited, old.readers, old.writers):
                merge(block.inherited, ticks)
            if old.low < low:
                kept.insert(0, old.part(old.low, low))
            if high < old.high:
                kept.append(old.part(high, old.high))
        blocks[first:last] = kept
        return block


Met: TypeAlias = tuple[PlacedContent, Cells | None]
"""A content that an event touches, and the cells of it; all of it if ``None``."""


class NextEvent(NamedTuple):
    """What is known of an event before it is appended to a queue.

    Attributes:
        waits: What it must wait for.
        reads: What it reads.
        writes: What it writes.
        author: Who writes.
    """

    waits: Ticks
    reads: Sequence[Met]
    writes: Sequence[Met]
    author: str

    def note(self, queue: int, tick: int) -> None:
        """Record that the event was appended to a queue.

        Args:
            queue: Number of the queue.
            tick: Events that the queue has, this one included.
        """
        for content, cells in self.reads:
            content.note_read(queue, tick, cells)
        for content, cells in self.writes:
            content.note_write(queue, tick, self.author, cells)


def next_event(reads: Sequence[Met], writes: Sequence[Met], author: str) -> NextEvent:
    """Return an event, with what it must wait for.

    Args:
        reads: What it reads.
        writes: What it writes.
        author: Who writes.
    """
    waits: Ticks = {}
    for content, cells in reads:
        merge(waits, content.before_read(cells))
    for content, cells in writes:
        merge(waits, content.before_write(author, cells))
    return NextEvent(waits, reads, writes, author)


@dataclass
class ScheduleHazards:
    """Follows the events of a schedule in program order; local to one run.

    Attributes:
        schedule: The schedule; times do not matter.
    """

    schedule: TileSchedule
    _tracker: HazardTracker = field(default_factory=HazardTracker)
    _contents: dict[Storage, PlacedContent] = field(default_factory=dict[Storage, PlacedContent])

    @cached_property
    def accesses(self) -> Accesses:
        """What every event touches."""
        return Accesses(self.schedule)

    def before(self, number: int) -> NextEvent:
        """Return what the next event touches and must wait for.

        Args:
            number: Of the event.
        """
        touches = self.accesses.of(number)
        if self.accesses.starts_residence(number):
            for touch in touches.writes:
                self._contents.pop(touch.storage, None)
        author = self.schedule.events[number].kind.value
        return next_event(self._met(touches.reads), self._met(touches.writes), author)

    def _met(self, touches: Iterable[Touch]) -> list[Met]:
        return [(self._content(storage), cells) for storage, cells in touches]

    def _content(self, storage: Storage) -> PlacedContent:
        found = self._contents.get(storage)
        if found is None:
            found = self._contents[storage] = self._claim(storage)
        return found

    def _claim(self, storage: Storage) -> PlacedContent:
        if isinstance(storage, Placement):
            tile = self.schedule.graph.tiles[storage.tile]
            npu = tile.space.owner(storage.npu)
            size = tile.occupied
            return self._tracker.claim(tile.space, npu, storage.address, size, tile.rolls)
        if isinstance(storage, OnChip):
            return self._tracker.claim(Space.GB, 0, storage.base, self.accesses.bytes(storage))
        return PlacedContent(0, 0)

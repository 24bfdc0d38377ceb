"""Which earlier events an event must wait for, from the memory that both touch.

The scheduler that predicts times and the lowering that writes waits use this same bookkeeping, so
that a prediction holds on the machine. It is not the judge: the simulator looks at every byte.

Memory is seen as *blocks*: address ranges with one content at a time (a placed tile, a resident
tensor, a tensor off chip). A block that takes over the addresses of older ones waits for
everything that touched them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from .isa import Space

Ticks = dict[int, int]
"""Per queue, the number of its last event: 1 is the first."""


@dataclass(slots=True)
class Block:
    """An address range with one content.

    Attributes:
        low: First byte.
        high: Byte past the last.
        writers: Last event of each queue that wrote it, by the operator in ``author``.
        readers: Last event of each queue that read it.
        inherited: Last events on the addresses before the block was made.
        author: Operator whose disjoint parts are being written; its writes do not wait for each
            other.
    """

    low: int
    high: int
    writers: Ticks = field(default_factory=Ticks)
    readers: Ticks = field(default_factory=Ticks)
    inherited: Ticks = field(default_factory=Ticks)
    author: str = ""


def merge(into: Ticks, other: Ticks) -> None:
    """Keep the later event of each queue."""
    for queue, tick in other.items():
        if tick > into.get(queue, 0):
            into[queue] = tick


class HazardTracker:
    """Bookkeeping of blocks; local to one scheduling or lowering run."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[Space, int], list[Block]] = {}

    def claim(self, space: Space, npu: int, address: int, size: int) -> Block:
        """Make a block over an address range; older blocks there end.

        Parts of older blocks that stick out stay as blocks of their own.
        """
        low, high = address, address + size
        block = Block(low, high)
        kept: list[Block] = []
        for old in self._blocks.get((space, npu), []):
            if old.high <= low or high <= old.low:
                kept.append(old)
                continue
            for ticks in (old.inherited, old.readers, old.writers):
                merge(block.inherited, ticks)
            kept += [
                Block(start, stop, dict(old.writers), dict(old.readers), dict(old.inherited))
                for start, stop in ((old.low, low), (high, old.high))
                if start < stop
            ]
        self._blocks[(space, npu)] = [*kept, block]
        return block

    @staticmethod
    def before_read(block: Block) -> Ticks:
        """Return the events that a read of a block must wait for."""
        return block.writers or block.inherited

    @staticmethod
    def before_write(block: Block, author: str) -> Ticks:
        """Return the events that a write to a block must wait for."""
        found = dict(block.inherited)
        merge(found, block.readers)
        if block.author != author:
            merge(found, block.writers)
        return found

    @staticmethod
    def note_read(block: Block, queue: int, tick: int) -> None:
        """Record a read."""
        block.readers[queue] = tick

    @staticmethod
    def note_write(block: Block, queue: int, tick: int, author: str) -> None:
        """Record a write by an operator."""
        if block.author != author:
            if block.writers:  # each of them has waited for what was inherited
                block.inherited = {}
            merge(block.inherited, block.writers)
            merge(block.inherited, block.readers)
            block.writers, block.readers, block.author = {}, {}, author
        block.writers[queue] = tick


def waits_for(ticks: Iterable[Ticks], queue: int) -> Ticks:
    """Join what an event of ``queue`` waits for; its own queue is in order anyway."""
    joined: Ticks = {}
    for item in ticks:
        merge(joined, item)
    joined.pop(queue, None)
    return joined

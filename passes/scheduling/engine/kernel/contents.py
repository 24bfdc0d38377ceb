"""Which earlier events an event must wait for, from the memory that both touch.

The rules are those of :mod:`~accnn.ir.tiles.hazards`, which looks at whole schedules: what events
wait for here is what they wait for there.
"""

# pyright: reportArgumentType=false, reportReturnType=false

import numpy as np
from numpy.typing import NDArray

from .....ir.compiled import inner
from .arrays import (
    AWAITED,
    CELL,
    CONTENTS,
    COUNT,
    FULL,
    ROLLS,
    RunArrays,
    TileArrays,
)
from .ranges import CONTENT, HIGH, LOW, overlapped, put_range

Ints = NDArray[np.int64]

WROTE, READ, BEFORE = range(3)
"""Rows of ticks: events that wrote a content, that read it, and those before on its addresses; the
first two also of cells."""


@inner
def _merge(into: Ints, other: Ints) -> None:
    """Keep the later event of each queue."""
    for queue in range(len(into)):
        into[queue] = max(into[queue], other[queue])


@inner
def _wait(queues: Ints, ticks: Ints) -> bool:
    """Let the next event wait for some; return whether there are any."""
    found = False
    for queue in range(len(queues)):
        if ticks[queue]:
            found = True
            queues[queue, AWAITED] = max(queues[queue, AWAITED], ticks[queue])
    return found


@inner
def wait_to_read(s: RunArrays, t: TileArrays, content: int, first: int, last: int) -> None:
    """Let the next event wait until a content can be read.

    Args:
        s: The schedule.
        t: Tiles and operations.
        content: Number of the content.
        first: First of the cells that are read; -1 where all of it is.
        last: Past the last of them.
    """
    ticks, found = s.contents.ticks[content], False
    if first < 0:
        found = _wait(s.queues, ticks[WROTE])
    for k in range(first, last):
        found |= _wait(s.queues, s.contents.cells[t.cells[k], WROTE])
    if not found:
        _wait(s.queues, ticks[BEFORE])


@inner
def wait_to_write(
    s: RunArrays, t: TileArrays, content: int, tile: int, author: int, first: int, last: int
) -> None:
    """Let the next event wait until a content can be written.

    Args:
        s: The schedule.
        t: Tiles and operations.
        content: Number of the content.
        tile: The tile that is written.
        author: Kind of the event: those of one kind write parts.
        first: First of the cells that are written; -1 where all of it is.
        last: Past the last of them.
    """
    ticks, rolls = s.contents.ticks[content], t.tiles[tile, ROLLS]
    _wait(s.queues, ticks[BEFORE])
    if first < 0:
        _wait(s.queues, ticks[READ])
        if s.contents.authors[content] != author:
            _wait(s.queues, ticks[WROTE])
    for k in range(first, last):
        old = t.cells[k] - rolls
        if rolls == 0 or old >= t.tiles[tile, CELL]:
            _wait(s.queues, s.contents.cells[old, WROTE])
            _wait(s.queues, s.contents.cells[old, READ])


@inner
def note_read(
    s: RunArrays, t: TileArrays, content: int, tile: int, queue: int, first: int, last: int
) -> None:
    """Note that the last event of a queue reads a content.

    Args:
        s: The schedule.
        t: Tiles and operations.
        content: Number of the content.
        tile: The tile that is read.
        queue: Of the event.
        first: First of the cells that are read; -1 where all of it is.
        last: Past the last of them.
    """
    tick = s.queues[queue, COUNT]
    s.contents.ticks[content, READ, queue] = tick
    if t.tiles[tile, ROLLS]:
        for k in range(first, last):
            s.contents.cells[t.cells[k], READ, queue] = tick


@inner
def note_write(
    s: RunArrays, t: TileArrays, content: int, author: int, queue: int, first: int, last: int
) -> None:
    """Note that the last event of a queue writes a content.

    Args:
        s: The schedule.
        t: Tiles and operations.
        content: Number of the content.
        author: Kind of the event.
        queue: Its queue.
        first: First of the cells that are written; -1 where all of it is.
        last: Past the last of them.
    """
    ticks, tick = s.contents.ticks[content], s.queues[queue, COUNT]
    for k in range(first, last):
        s.contents.cells[t.cells[k], WROTE, queue] = tick
    if first < 0 and s.contents.authors[content] != author:
        s.contents.authors[content] = author
        if _is_any(ticks[WROTE]):  # each of them has waited for what was before
            _clear(ticks[BEFORE])
        _merge(ticks[BEFORE], ticks[WROTE])
        _merge(ticks[BEFORE], ticks[READ])
        _clear(ticks[WROTE])
        _clear(ticks[READ])
    ticks[WROTE, queue] = tick


@inner
def _is_any(ticks: Ints) -> bool:
    found = False
    for tick in ticks:
        found |= tick > 0
    return found


@inner
def _clear(ticks: Ints) -> None:
    for queue in range(len(ticks)):
        ticks[queue] = 0


@inner
def new_content(s: RunArrays) -> int:
    """Return a content at which nobody has been."""
    number = s.scalars[CONTENTS]
    if number == len(s.contents.authors):
        s.scalars[FULL] = 1
        return number - 1
    s.scalars[CONTENTS] += 1
    return number


@inner
def claim_block(s: RunArrays, memory: int, low: int, high: int) -> int:
    """Return a new content of an address range; what was there before ends.

    Parts of older contents that stick out remain contents of their own.

    Args:
        s: The schedule.
        memory: Which memory.
        low: First byte.
        high: Byte past the last.
    """
    blocks, count, block = s.contents.blocks[memory], s.contents.counts[memory], new_content(s)
    if count + 2 > blocks.shape[0]:
        s.scalars[FULL] = 1
        return block
    first, last = overlapped(blocks, count, low, high)
    for k in range(first, last):
        ticks = s.contents.ticks[blocks[k, CONTENT]]
        for row in (BEFORE, READ, WROTE):
            _merge(s.contents.ticks[block, BEFORE], ticks[row])
    before = first < last and blocks[first, LOW] < low
    after = first < last and blocks[last - 1, HIGH] > high
    s.contents.counts[memory], at = put_range(blocks, count, low, high, block)
    if before:
        blocks[at - 1, CONTENT] = _part(s, blocks[at - 1, CONTENT])
    if after:
        blocks[at + 1, CONTENT] = _part(s, blocks[at + 1, CONTENT])
    return block


@inner
def _part(s: RunArrays, content: int) -> int:
    """Return the content of a part of the addresses of another one."""
    part = new_content(s)
    for row in range(3):
        for queue in range(s.contents.ticks.shape[2]):
            s.contents.ticks[part, row, queue] = s.contents.ticks[content, row, queue]
    return part

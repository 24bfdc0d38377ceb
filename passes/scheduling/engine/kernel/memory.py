"""Which tile is where on chip, when it is needed next, and who gives way.

"Needed next" is a position in the order of turns. What was touched last decides when a byte is
ready for something else.
"""

# pyright: reportArgumentType=false, reportReturnType=false

import numpy as np

from .....ir.compiled import inner, small
from .arrays import (
    AT,
    BASE,
    BYTES,
    CLAIM,
    CLAIMS,
    COMERS,
    ENTERED,
    EXTENT,
    FETCHED,
    FIRST_EVENT,
    FULL,
    HORIZON,
    KIND,
    KNOWN,
    LAST_EVENT,
    MADE,
    MAKER,
    MEMORIES,
    MEMORY,
    NPU,
    PLACEMENTS,
    POSITION,
    RESULT,
    RESULTS,
    SHARED,
    SINCE,
    SUMS,
    TENSOR,
    TILES,
    UNTIL,
    UPPER,
    USES,
    Capacity,
    RunArrays,
    TileArrays,
    TurnArrays,
)
from .ranges import CONTENT
from .spaces import (
    AT_ONCE,
    END,
    LEFT,
    NEVER,
    NEXT_USE,
    claimed,
    last_needed,
    note_live,
    overlapping,
)
from .timeline import dma_channel, free_at, queue_of


@inner
def owner_of(t: TileArrays, tile: int, npu: int) -> int:
    """Return whose copy of a tile an NPU sees: its own, or 0 where NPUs share it.

    Args:
        t: Tiles and operations.
        tile: The tile.
        npu: Who looks.
    """
    return 0 if t.tiles[tile, SHARED] else npu


@inner
def copy_of(t: TileArrays, tile: int, npu: int) -> int:
    """Return the number of the copy of a tile that an NPU sees.

    Args:
        t: Tiles and operations.
        tile: The tile.
        npu: Who looks.
    """
    return tile * t.npus + owner_of(t, tile, npu)


@inner
def memory_of(s: RunArrays, t: TileArrays, r: Capacity, tile: int, npu: int) -> int:
    """Return the memory that a tile lies in; the last one, if its address is known beforehand.

    Args:
        s: The schedule, which notes that the memory was asked for.
        t: Tiles and operations.
        r: The space that tiles may use.
        tile: The tile.
        npu: Who looks.
    """
    if r.tiles[tile, KNOWN] >= 0:
        return len(s.memories) - 1
    memory = t.tiles[tile, MEMORY] + owner_of(t, tile, npu)
    if s.memories[memory, MADE] == 0:
        s.scalars[MEMORIES] += 1
        s.memories[memory, MADE] = s.scalars[MEMORIES]
    return memory


@inner
def is_here(s: RunArrays, t: TileArrays, tile: int, npu: int) -> bool:
    """Whether a tile is on chip.

    Args:
        s: The schedule.
        t: Tiles and operations.
        tile: The tile.
        npu: Who looks.
    """
    return s.copies[copy_of(t, tile, npu), CLAIM] >= 0


@small
def find_place(s: RunArrays, t: TileArrays, r: Capacity, tile: int, npu: int) -> int:
    """Return an address for a tile, whose live contents leave for it; -1 where there is none.

    Args:
        s: The schedule; tiles that are needed up to its horizon remain.
        t: Tiles and operations.
        r: The space that tiles may use.
        tile: The tile.
        npu: The NPU that needs it.
    """
    memory, kind = memory_of(s, t, r, tile, npu), t.tiles[tile, KIND]
    if r.tiles[tile, KNOWN] >= 0:
        return r.tiles[tile, KNOWN] if _is_vacant(s, t, r, tile) else -1
    quiet = free_at(s, dma_channel(s, t))
    _sweep(s, memory, quiet)
    high = kind != FETCHED
    if high:
        quiet = free_at(s, queue_of(t, t.tiles[tile, MAKER], npu))
    if kind == SUMS:
        high = s.memories[memory, UPPER] == 0
    base, size = r.memories[memory, BASE], r.memories[memory, EXTENT]
    given = s.spaces, memory, t.tiles[tile, BYTES], base, base + size
    return last_needed(*given, high, s.scalars[HORIZON], quiet)


@inner
def _is_vacant(s: RunArrays, t: TileArrays, r: Capacity, tile: int) -> bool:
    """Whether an address that is known is a tile's by now, and what is there not used again."""
    if s.scalars[POSITION] < r.tiles[tile, SINCE]:
        return False
    memory, low = len(s.memories) - 1, r.tiles[tile, KNOWN]
    first, last = overlapping(s.spaces, memory, low, low + t.tiles[tile, BYTES])
    for k in range(first, last):
        next_use = s.spaces.contents[s.spaces.parts[memory, k, CONTENT], NEXT_USE]
        if next_use != LEFT and next_use != NEVER:
            return False
    return True


@small
def _sweep(s: RunArrays, memory: int, quiet: int) -> None:
    """End placements that are not used again and were last touched before a channel is free.

    They would neither keep a transfer waiting nor be worth keeping; without this, small tiles that
    are used once pile up until memory is full, and every look for space passes them all.
    """
    content = _next_unused(s, memory, np.int64(-1), quiet)
    while content >= 0:
        end_copy(s, s.holders[content])
        content = _next_unused(s, memory, content, quiet)


@inner
def _next_unused(s: RunArrays, memory: int, before: int, quiet: int) -> int:
    """Return the next content behind one that can be swept, in the order of their claims; or -1."""
    found = -1
    for k in range(s.spaces.counts[memory]):
        content = s.spaces.parts[memory, k, CONTENT]
        is_next = content > before and (found < 0 or content < found)
        is_unused = s.spaces.contents[content, NEXT_USE] == NEVER
        if is_next and is_unused and _last_end(s, s.holders[content]) <= quiet:
            found = content
    return found


@inner
def _last_end(s: RunArrays, copy: int) -> int:
    """Return when the last event ends that touched a tile; 0 if there is none."""
    last = s.copies[copy, LAST_EVENT]
    return s.events[last, UNTIL] if last >= 0 else 0


@small
def leaves_space(s: RunArrays, t: TileArrays, r: Capacity, tile: int, npu: int) -> bool:
    """Whether a tile fits beside all that is needed before it, and results to come.

    Args:
        s: The schedule; it is looked ahead up to its horizon.
        t: Tiles and operations.
        r: The space that tiles may use.
        tile: The tile.
        npu: Whose memory.
    """
    if r.tiles[tile, KNOWN] >= 0:
        return True
    memory, results, due = memory_of(s, t, r, tile, npu), 0, 0
    for number in range(note_live(s.spaces, memory)):
        content = s.spaces.parts[memory, s.spaces.live[number], CONTENT]
        other = s.holders[content] // t.npus
        if t.tiles[other, KIND] != FETCHED:
            results += t.tiles[other, BYTES]
        elif s.spaces.contents[content, NEXT_USE] <= s.scalars[HORIZON]:
            due += t.tiles[other, BYTES]
    results = max(results, r.memories[memory, RESULTS])
    return due + t.tiles[tile, BYTES] + results <= r.memories[memory, EXTENT]


@small
def enter(
    s: RunArrays, t: TileArrays, o: TurnArrays, r: Capacity, tile: int, npu: int, address: int
) -> None:
    """Begin the placement of a tile.

    Args:
        s: The schedule.
        t: Tiles and operations.
        o: Their order.
        r: The space that tiles may use.
        tile: The tile.
        npu: Whose memory.
        address: Where.
    """
    memory, copy, content = memory_of(s, t, r, tile, npu), copy_of(t, tile, npu), s.scalars[CLAIMS]
    next_use, end = _next_use(s, o, copy), address + t.tiles[tile, BYTES]
    if t.tiles[tile, KIND] >= RESULT:
        next_use = AT_ONCE
    if claimed(s.spaces, memory, address, end, content, next_use) < 0:
        s.scalars[FULL] = 1
        return
    s.scalars[CLAIMS] += 1
    s.holders[content] = copy
    below = address - r.memories[memory, BASE]
    s.memories[memory, UPPER] = 2 * below >= r.memories[memory, EXTENT]
    item = s.copies[copy]
    item[AT], item[CLAIM], item[FIRST_EVENT], item[LAST_EVENT] = address, content, -1, -1
    item[ENTERED] = s.scalars[COMERS]
    s.scalars[COMERS] += 1


@inner
def _next_use(s: RunArrays, o: TurnArrays, copy: int) -> int:
    """Return the position at which a tile is used next."""
    use = o.copies[copy, USES] + s.used[copy]
    return o.uses[use] if use < o.copies[copy + 1, USES] else NEVER


@inner
def touch(s: RunArrays, t: TileArrays, tile: int, npu: int, event: int) -> None:
    """Note that an event touches a tile.

    Args:
        s: The schedule.
        t: Tiles and operations.
        tile: The tile.
        npu: Whose memory.
        event: Number of the event.
    """
    if t.tiles[tile, TENSOR] >= 0:
        return
    item = s.copies[copy_of(t, tile, npu)]
    content = s.spaces.contents[item[CLAIM]]
    content[END] = max(content[END], s.events[event, UNTIL])
    item[LAST_EVENT] = event
    if item[FIRST_EVENT] < 0:
        item[FIRST_EVENT] = event


@small
def passed(s: RunArrays, t: TileArrays, o: TurnArrays, r: Capacity, position: int) -> None:
    """Note that the turn at a position was issued: what it touched is needed later.

    Args:
        s: The schedule.
        t: Tiles and operations.
        o: Their order.
        r: The space that tiles may use.
        position: Of the turn.
    """
    s.scalars[POSITION] = position + 1
    npu = o.turns[position, NPU]
    for k in range(o.turns[position, TILES], o.turns[position + 1, TILES]):
        memory_of(s, t, r, o.tiles[k], npu)
        copy = copy_of(t, o.tiles[k], npu)
        s.used[copy] += 1
        claim = s.copies[copy, CLAIM]
        if claim >= 0 and s.spaces.contents[claim, NEXT_USE] != AT_ONCE:
            s.spaces.contents[claim, NEXT_USE] = _next_use(s, o, copy)


@inner
def end_copy(s: RunArrays, copy: int) -> None:
    """End the placement of a tile."""
    item = s.copies[copy]
    s.spaces.contents[item[CLAIM], NEXT_USE] = LEFT
    item[CLAIM] = -1
    if s.scalars[PLACEMENTS] == len(s.placements):
        s.scalars[FULL] = 1
    elif item[FIRST_EVENT] >= 0:
        place = s.placements[s.scalars[PLACEMENTS]]
        s.scalars[PLACEMENTS] += 1
        place[0], place[1], place[2] = copy, item[AT], item[FIRST_EVENT]
        place[3] = item[LAST_EVENT]


@small
def end_all(s: RunArrays, memories: int) -> None:
    """End all placements, by memory, in the order in which they were asked for."""
    for number in range(1, memories + 1):
        for memory in range(len(s.memories) - 1):
            if s.memories[memory, MADE] == number:
                _end_in(s, memory)
    _end_in(s, len(s.memories) - 1)


@inner
def _end_in(s: RunArrays, memory: int) -> None:
    """End the placements in a memory, those first that came first."""
    for _ in range(note_live(s.spaces, memory)):
        first = np.int64(-1)
        for number in range(note_live(s.spaces, memory)):
            copy = s.holders[s.spaces.parts[memory, s.spaces.live[number], CONTENT]]
            if first < 0 or s.copies[copy, ENTERED] < s.copies[first, ENTERED]:
                first = copy
        end_copy(s, first)

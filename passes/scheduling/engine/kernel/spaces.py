"""Memories: who is where, until when its bytes were used, and where there is space.

Two ways to find space: what is *free first* (tiles that cross operators), and what its tiles *need
last* (tiles in the order of their nest). A content is *live* until it leaves; then its range may be
taken by others. One that is live knows the position in some order at which it is used next,
``NEVER``, or ``AT_ONCE``.
"""

# Numba's compiled functions take scalars of NumPy, and give them back.
# pyright: reportArgumentType=false, reportReturnType=false

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....ir.compiled import entry, inner, maker
from .ranges import CONTENT, HIGH, LOW, first_row, overlapped, put_range

Ints = NDArray[np.int64]

_FAR = 1 << 62

NEVER = 1 << 50
"""The next use of a content that is not used again; it may leave for nothing."""

AT_ONCE = -1
"""The next use of a content that may not leave."""

LEFT = 1 << 61
"""The next use of a content that has left, or is no wall to others."""

END, NEXT_USE = range(2)
"""Columns of contents: when the last use so far ends [cycle]; when they are used next."""


class Spaces(NamedTuple):
    """Address ranges of some memories with their latest content.

    Attributes:
        parts: Of each memory, disjoint ranges, ascending, see :mod:`.ranges`
            ``[memories, ., 3]``.
        counts: How many of these there are ``[memories]``.
        contents: See the columns ``[., 2]``.
        live: Which parts of one memory hold live contents; scratch ``[.]``.
    """

    parts: Ints
    counts: Ints
    contents: Ints
    live: Ints


def empty_spaces(memories: int, parts: int, contents: int) -> Spaces:
    """Return memories in which nothing lies.

    Args:
        memories: How many.
        parts: For how many ranges in each of them there is space in the arrays.
        contents: The same for contents.
    """
    return Spaces(
        parts=np.zeros((memories, parts, 3), np.int64),
        counts=np.zeros(memories, np.int64),
        contents=np.full((contents, 2), LEFT, np.int64),
        live=np.zeros(parts, np.int64),
    )


@entry
def claimed(s: Spaces, memory: int, low: int, high: int, content: int, next_use: int) -> int:
    """Give a range a new content, which begins when the old ones end; return when that is.

    Args:
        s: The memories.
        memory: Which one.
        low: First byte.
        high: Byte past the last.
        content: Number of the content.
        next_use: When it is used next.

    Returns:
        [cycle]; -1 if there may be no space left in the arrays: then nothing has changed.
    """
    parts, count = s.parts[memory], s.counts[memory]
    if count + 2 > parts.shape[0] or content >= s.contents.shape[0]:
        return -1
    begin = free_at(s, memory, low, high)
    s.contents[content, END], s.contents[content, NEXT_USE] = begin, next_use
    s.counts[memory], _ = put_range(parts, count, low, high, content)
    return begin


@inner
def overlapping(s: Spaces, memory: int, low: int, high: int) -> tuple[int, int]:
    """Return the first part of a memory that overlaps a range, and the one past the last.

    Args:
        s: The memories.
        memory: Which one.
        low: First byte.
        high: Byte past the last.
    """
    return overlapped(s.parts[memory], s.counts[memory], low, high)


@entry
def free_at(s: Spaces, memory: int, low: int, high: int) -> int:
    """Return when the last use of a range so far ends [cycle].

    Args:
        s: The memories.
        memory: Which one.
        low: First byte.
        high: Byte past the last.
    """
    first, last = overlapping(s, memory, low, high)
    latest = 0
    for k in range(first, last):
        latest = max(latest, s.contents[s.parts[memory, k, CONTENT], END])
    return latest


@maker
def _walls(s: Spaces, memory: int, blocked: Ints, top: int) -> Ints:
    """Return blocked ranges and live parts, ascending, then the end of the memory."""
    parts = s.parts[memory]
    found = np.empty((s.counts[memory] + blocked.shape[0] + 1, 2), np.int64)
    count, j = 0, 0
    for k in range(s.counts[memory]):
        if s.contents[parts[k, CONTENT], NEXT_USE] == LEFT:
            continue
        while j < blocked.shape[0] and blocked[j, 0] <= parts[k, LOW]:
            found[count] = blocked[j]
            count, j = count + 1, j + 1
        found[count, 0], found[count, 1] = parts[k, LOW], parts[k, HIGH]
        count += 1
    for rest in range(j, blocked.shape[0]):
        found[count] = blocked[rest]
        count += 1
    found[count, 0] = found[count, 1] = top
    return found[: count + 1]


@inner
def _in_gap(s: Spaces, memory: int, low: int, high: int, size: int, quiet: int) -> tuple[int, int]:
    """Return when the space of a gap that is free first is free, and its lowest address.

    A space moves down without becoming worse until it touches the end of a part, or the gap's edge:
    no other addresses are looked at.
    """
    best_end, best = max(quiet, free_at(s, memory, low, low + size)), low
    parts = s.parts[memory]
    k = first_row(parts, s.counts[memory], HIGH, low + 1)
    while k < s.counts[memory] and parts[k, HIGH] <= high - size:
        end = max(quiet, free_at(s, memory, parts[k, HIGH], parts[k, HIGH] + size))
        if end < best_end:
            best_end, best = end, parts[k, HIGH]
        k += 1
    return best_end, best


@entry
def earliest(s: Spaces, memory: int, blocked: Ints, size: int, top: int, quiet: int) -> int:
    """Return the address that is free first in the gaps between walls, -1 if none is large enough.

    Of equal ones the one in the tightest gap between live contents is taken, then the lowest.

    Args:
        s: The memories.
        memory: Which one.
        blocked: Ranges that must not be used, beside live contents; ascending ``[., 2]``.
        size: Bytes that are needed.
        top: Size of the memory [byte].
        quiet: Until then nobody can use the space anyway [cycle].
    """
    best, best_end, best_gap, low = -1, _FAR, _FAR, 0
    walls = _walls(s, memory, blocked, top)
    for k in range(walls.shape[0]):
        high = walls[k, 0]
        if high - low >= size:
            end, address = _in_gap(s, memory, low, high, size, quiet)
            if end < best_end or (end == best_end and high - low < best_gap):
                best, best_end, best_gap = address, end, high - low
        low = max(low, walls[k, 1])
    return best


@inner
def note_live(s: Spaces, memory: int) -> int:
    """Write down which parts of a memory hold live contents; return how many these are."""
    count = 0
    for k in range(s.counts[memory]):
        if s.contents[s.parts[memory, k, CONTENT], NEXT_USE] != LEFT:
            s.live[count] = k
            count += 1
    return count


@entry
def last_needed(
    s: Spaces, memory: int, size: int, base: int, top: int, high: bool, horizon: int, quiet: int
) -> int:
    """Return the address of the space that is needed last, -1 if none.

    What is free, or taken by contents that are not used again, is preferred, and of that what is
    ready first; else the contents whose earliest next use is furthest away, then the fewest bytes
    that leave, then the tightest space. For each start, the shortest run of live contents that
    makes enough space is looked at.

    Args:
        s: The memories.
        memory: Which one.
        size: Bytes that are needed.
        base: First byte that may be used.
        top: The one past the last.
        high: Whether to take the high end of what is chosen.
        horizon: Contents that are used up to then remain.
        quiet: Until then nobody can use the space anyway [cycle].
    """
    count, last, best, found = note_live(s, memory), 0, (0, 0, 0, 0, 0), False
    parts, start = s.parts[memory], base
    for first in range(count + 1):
        if first:
            start = parts[s.live[first - 1], HIGH]
        last = max(last, first)
        end = _wall(s, memory, last, count, top)
        while last < count and end - start < size and _next_use(s, memory, last) > horizon:
            last += 1
            end = _wall(s, memory, last, count, top)
        if end - start < size:
            continue
        soonest, lost = NEVER, 0
        for k in range(first, last):
            soonest = min(soonest, _next_use(s, memory, k))
            lost += parts[s.live[k], HIGH] - parts[s.live[k], LOW]
        address, wait = end - size if high else start, 0
        if soonest == NEVER:
            wait = free_at(s, memory, address, address + size)
        rating = -soonest, wait if wait > quiet else 0, lost, end - start, address
        if not found or rating < best:
            best, found = rating, True
    return best[4] if found else -1


@inner
def _wall(s: Spaces, memory: int, number: int, count: int, top: int) -> int:
    """Return where a live content begins; behind the last one, where the memory ends."""
    return top if number == count else s.parts[memory, s.live[number], LOW]


@inner
def _next_use(s: Spaces, memory: int, number: int) -> int:
    """Return when a live content is used next."""
    return s.contents[s.parts[memory, s.live[number], CONTENT], NEXT_USE]

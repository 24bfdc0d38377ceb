"""One memory: who is where, until when its bytes were used, and where there is space.

Two ways to find space: what is *free first* (tiles that cross operators), and what its tiles *need
last* (tiles in the order of their nest). Thousands of tiles pass through one memory, and each looks
at all ranges: the loops over ranges are compiled.
"""

# The stubs of Numba are partial; those of NumPy take some scalars for arrays.
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportReturnType=false

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....ir.compiled import entry, maker
from ....ir.isa.instructions import Space

Ints = NDArray[np.int64]

SpaceKey = tuple[Space, int]
"""A space, and the NPU that it belongs to; 0 where NPUs share it."""

_FAR = 1 << 62

NEVER = 1 << 50
"""The next use of a content that is not used again; it may leave for nothing."""

AT_ONCE = -1
"""The next use of a content that may not leave."""

_LEFT = 1 << 61
"""The next use of a content that has left, or is no wall to others."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A content of an address range.

    Attributes:
        number: Among the contents of its memory.
        begin: When all former contents of the range have been used [cycle].
    """

    number: int
    begin: int


class AddressSpace:
    """One memory: address ranges with their latest content, ascending.

    A content is *live* until it leaves; then its range may be taken by others. One that is live
    knows the position in some order at which it is used next, ``NEVER``, or ``AT_ONCE``.
    """

    def __init__(self) -> None:
        self._parts = np.zeros((0, 3), np.int64)  # first byte, byte past the last, content
        self._ends = np.zeros(64, np.int64)
        self._next_use = np.full(64, _LEFT)
        self._contents = 0

    def claim(self, low: int, high: int, *, next_use: int = _LEFT) -> Claim:
        """Give a range a new content, which begins when the old ones end.

        Args:
            low: First byte.
            high: Behind the last byte.
            next_use: Of a live content, when it is needed next.
        """
        claim = Claim(self._contents, self.free_at(low, high))
        if claim.number == len(self._ends):
            self._ends = np.concatenate([self._ends, np.zeros_like(self._ends)])
            self._next_use = np.concatenate([self._next_use, np.full_like(self._next_use, _LEFT)])
        self._contents += 1
        self._ends[claim.number] = claim.begin
        self._next_use[claim.number] = next_use
        parts = np.empty((len(self._parts) + 2, 3), np.int64)
        count = _claimed(self._parts, low, high, claim.number, parts)
        self._parts = parts[: int(count)]
        return claim

    def use(self, claim: Claim, end: int) -> None:
        """Note that a content is used until a cycle."""
        self._ends[claim.number] = max(end, int(self._ends[claim.number]))

    def needed(self, claim: Claim, next_use: int) -> None:
        """Note when a live content is used next."""
        self._next_use[claim.number] = next_use

    def leave(self, claim: Claim) -> int:
        """Note that a content has been used for the last time; return when that ends [cycle]."""
        self._next_use[claim.number] = _LEFT
        return int(self._ends[claim.number])

    def free_at(self, low: int, high: int) -> int:
        """Return when the last use of a range so far ends [cycle]."""
        return int(_free_at(self._parts, self._ends, low, high))

    def earliest(
        self, size: int, blocked: Sequence[tuple[int, int]] | Ints, top: int, quiet: int = 0
    ) -> int | None:
        """Return the address of the space that is free first, ``None`` if there is none.

        Of equal ones the one in the tightest gap between live contents is taken, then the lowest.

        Args:
            size: Bytes that are needed.
            blocked: Ranges that must not be used, beside live contents; ascending.
            top: Size of the memory [byte].
            quiet: Until then nobody can use the space anyway [cycle].
        """
        walls = np.array(blocked, np.int64).reshape(-1, 2)
        given = self._parts, self._ends, self._next_use
        address = int(_earliest(*given, walls, size, top, quiet))
        return None if address < 0 else address

    def last_needed(
        self, size: int, within: tuple[int, int], *, high: bool, horizon: int, quiet: int
    ) -> int | None:
        """Return the address of the space that is needed last, ``None`` if there is none.

        What is free, or taken by contents that are not used again, is preferred, and of that what
        is ready first; else the contents whose earliest next use is furthest away, then the fewest
        bytes that leave, then the tightest space.

        Args:
            size: Bytes that are needed.
            within: First byte that may be used, and the one past the last.
            high: Whether to take the high end of what is chosen.
            horizon: Contents that are used up to then remain.
            quiet: Until then nobody can use the space anyway [cycle].
        """
        given = self._parts, self._ends, self._next_use
        address = int(_last_needed(*given, size, *within, high, horizon, quiet))
        return None if address < 0 else address

    def live(self, low: int, high: int) -> list[int]:
        """Return the numbers of live contents that overlap a range, by address."""
        first, last = _overlapping(self._parts, low, high)
        numbers: list[int] = self._parts[first:last, 2].tolist()
        return [number for number in numbers if self._next_use[number] != _LEFT]


@entry
def _claimed(parts: Ints, low: int, high: int, content: int, found: Ints) -> int:
    """Write down the parts with a range that has a new content; return how many these are."""
    count, is_new = 0, True
    for k in range(parts.shape[0]):
        start, stop, old = parts[k, 0], parts[k, 1], parts[k, 2]
        if start < low:
            found[count, 0], found[count, 1], found[count, 2] = start, min(stop, low), old
            count += 1
        if is_new and stop > low:
            found[count, 0], found[count, 1], found[count, 2] = low, high, content
            count += 1
            is_new = False
        if stop > high:
            found[count, 0], found[count, 1], found[count, 2] = max(start, high), stop, old
            count += 1
    if is_new:
        found[count, 0], found[count, 1], found[count, 2] = low, high, content
        count += 1
    return count


@entry
def _first_beyond(parts: Ints, address: int) -> int:
    """Return the first part that ends beyond an address."""
    first, last = 0, parts.shape[0]
    while first < last:
        middle = (first + last) // 2
        if parts[middle, 1] > address:
            last = middle
        else:
            first = middle + 1
    return first


@entry
def _overlapping(parts: Ints, low: int, high: int) -> tuple[int, int]:
    """Return the first part that overlaps a range, and the one past the last."""
    first = _first_beyond(parts, low)
    last = first
    while last < parts.shape[0] and parts[last, 0] < high:
        last += 1
    return first, last


@entry
def _free_at(parts: Ints, ends: Ints, low: int, high: int) -> int:
    first, last = _overlapping(parts, low, high)
    latest = 0
    for k in range(first, last):
        latest = max(latest, int(ends[parts[k, 2]]))
    return latest


@maker
def _walls(parts: Ints, next_use: Ints, blocked: Ints, top: int) -> Ints:
    """Return blocked ranges and live parts, ascending, then the end of the memory."""
    found = np.empty((parts.shape[0] + blocked.shape[0] + 1, 2), np.int64)
    count, j = 0, 0
    for k in range(parts.shape[0]):
        if next_use[parts[k, 2]] == _LEFT:
            continue
        while j < blocked.shape[0] and blocked[j, 0] <= parts[k, 0]:
            found[count] = blocked[j]
            count, j = count + 1, j + 1
        found[count, 0], found[count, 1] = parts[k, 0], parts[k, 1]
        count += 1
    for rest in range(j, blocked.shape[0]):
        found[count] = blocked[rest]
        count += 1
    found[count, 0] = found[count, 1] = top
    return found[: count + 1]


@entry
def _in_gap(parts: Ints, ends: Ints, low: int, high: int, size: int, quiet: int) -> tuple[int, int]:
    """Return when the space of a gap that is free first is free, and its lowest address.

    A space moves down without becoming worse until it touches the end of a part, or the gap's edge:
    no other addresses are looked at.
    """
    best_end, best = max(quiet, _free_at(parts, ends, low, low + size)), low
    k = _first_beyond(parts, low)
    while k < parts.shape[0] and parts[k, 1] <= high - size:
        end = max(quiet, _free_at(parts, ends, parts[k, 1], parts[k, 1] + size))
        if end < best_end:
            best_end, best = end, parts[k, 1]
        k += 1
    return best_end, best


@entry
def _earliest(
    parts: Ints, ends: Ints, next_use: Ints, blocked: Ints, size: int, top: int, quiet: int
) -> int:
    """Return the address that is free first in the gaps between walls, -1 if none is large."""
    best, best_end, best_gap, low = -1, _FAR, _FAR, 0
    walls = _walls(parts, next_use, blocked, top)
    for k in range(walls.shape[0]):
        high = walls[k, 0]
        if high - low >= size:
            end, address = _in_gap(parts, ends, low, high, size, quiet)
            if end < best_end or (end == best_end and high - low < best_gap):
                best, best_end, best_gap = address, end, high - low
        low = max(low, walls[k, 1])
    return best


@entry
def _last_needed(
    parts: Ints,
    ends: Ints,
    next_use: Ints,
    size: int,
    base: int,
    top: int,
    high: bool,
    horizon: int,
    quiet: int,
) -> int:
    """Return the address of the space that is needed last, -1 if none.

    For each start, the shortest run of live contents that makes enough space is looked at.
    """
    walls = _walls(parts, next_use, np.empty((0, 2), np.int64), top)
    uses = np.array([next_use[part[2]] for part in parts if next_use[part[2]] != _LEFT] + [_FAR])
    count, last, best, found = walls.shape[0] - 1, 0, (0, 0, 0, 0, 0), False
    for first in range(count + 1):
        start = walls[first - 1, 1] if first else base
        last = max(last, first)
        while last < count and walls[last, 0] - start < size and uses[last] > horizon:
            last += 1
        if walls[last, 0] - start < size:
            continue
        soonest, lost = NEVER, 0
        for k in range(first, last):
            soonest = min(soonest, uses[k])
            lost += walls[k, 1] - walls[k, 0]
        address, wait = walls[last, 0] - size if high else start, 0
        if soonest == NEVER:
            wait = _free_at(parts, ends, address, address + size)
        rating = -soonest, wait if wait > quiet else 0, lost, walls[last, 0] - start, address
        if not found or rating < best:
            best, found = rating, True
    return best[4] if found else -1

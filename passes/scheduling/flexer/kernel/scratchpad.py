"""The scratchpad as segments by address: what is where, what is free, and since when.

Args:
    segment: The segments, in the order of their addresses.
    count: How many there are.
    address: First byte.
    low: First segment.
    high: Last segment.
    size: Of the tile [byte].
    tile: Number of the tile.
    at_end: Whether it lies at the end of the segments.
    quiet: Not before this [cycle].
"""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from .....ir.compiled import inner
from .arrays import ADDRESS, NEVER, SEGMENTS, SIZE, TILE, TOUCHED, Ints, ScheduleArrays
from .timing import quiet_until


@inner
def find(segment: Ints, count: int, address: int) -> int:
    """Return the segment that starts at an address."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if segment[middle, ADDRESS] <= address:
            low = middle
        else:
            high = middle
    return low


@inner
def tidy(s: ScheduleArrays) -> None:
    """Join free neighbours whose last touch no event to come can notice."""
    quiet = quiet_until(s)
    segment, count = s.segment, s.scalar[SEGMENTS]
    kept = 0
    for k in range(count):
        joins = (
            kept > 0
            and segment[k, TILE] < 0
            and segment[kept - 1, TILE] < 0
            and segment[k, TOUCHED] <= quiet
            and segment[kept - 1, TOUCHED] <= quiet
        )
        if joins:
            segment[kept - 1, SIZE] += segment[k, SIZE]
        else:
            for column in range(4):
                segment[kept, column] = segment[k, column]
            kept += 1
    s.scalar[SEGMENTS] = kept


@inner
def carve(segment: Ints, count: int, low: int, high: int, size: int, tile: int, at_end: int) -> int:
    """Put a tile at the start or end of free segments ``low .. high``; return how many there are.

    The touch of the new segment is the latest of those that it covers; what is left over of the
    last (or first) one remains behind (or before) it.
    """
    total, touched = 0, 0
    for k in range(low, high + 1):
        total += segment[k, SIZE]
        touched = max(touched, segment[k, TOUCHED])
    rest, rest_touched = total - size, segment[low if at_end else high, TOUCHED]
    address = segment[low, ADDRESS]
    taken = 1 if rest == 0 else 2
    shift = taken - (high - low + 1)
    if shift > 0:
        for k in range(count - 1, high, -1):
            for column in range(4):
                segment[k + shift, column] = segment[k, column]
    elif shift < 0:
        for k in range(high + 1, count):
            for column in range(4):
                segment[k + shift, column] = segment[k, column]
    if rest:
        other = low if at_end else low + 1
        segment[other, ADDRESS] = address if at_end else address + size
        segment[other, SIZE] = rest
        segment[other, TILE] = -1
        segment[other, TOUCHED] = rest_touched
        if at_end:
            low, address = low + 1, address + rest
    segment[low, ADDRESS] = address
    segment[low, SIZE] = size
    segment[low, TILE] = tile
    segment[low, TOUCHED] = touched
    return count + shift


@inner
def last_fit(segment: Ints, count: int, size: int) -> tuple[int, int]:
    """Return the least free segments at the end of the last run that is large enough, -1 if none.

    They are given as the first and the last one.
    """
    k = count - 1
    while k >= 0:
        high, total = k, 0
        while k >= 0 and segment[k, TILE] < 0:
            total += segment[k, SIZE]
            if total >= size:
                return k, high
            k -= 1
        k -= 1
    return -1, -1


@inner
def in_place(segment: Ints, count: int, size: int) -> int:
    """Return the free segment of exactly this size that was touched first, -1 if none."""
    best = -1
    for k in range(count):
        if segment[k, TILE] >= 0 or segment[k, SIZE] != size:
            continue
        if best < 0 or segment[k, TOUCHED] < segment[best, TOUCHED]:
            best = k
    return best


@inner
def best_fit(segment: Ints, count: int, size: int) -> int:
    """Return the first segment of the smallest run of free ones that is large enough, -1 if none.

    Of equal runs the one whose space is free first.
    """
    best, best_total, best_touched = -1, NEVER, NEVER
    k = 0
    while k < count:
        if segment[k, TILE] >= 0:
            k += 1
            continue
        first, total, touched = k, 0, 0
        while k < count and segment[k, TILE] < 0:
            if total < size:
                touched = max(touched, segment[k, TOUCHED])
            total += segment[k, SIZE]
            k += 1
        if total >= size and (
            total < best_total or (total == best_total and touched < best_touched)
        ):
            best, best_total, best_touched = first, total, touched
    return best


@inner
def free_at(segment: Ints, low: int, size: int, quiet: int) -> int:
    """Return when ``size`` bytes from the start of ``low`` are free; ``quiet`` at the earliest."""
    time, total, k = quiet, 0, low
    while total < size:
        time = max(time, segment[k, TOUCHED])
        total += segment[k, SIZE]
        k += 1
    return time


@inner
def soonest(segment: Ints, count: int, size: int, quiet: int) -> int:
    """Return the free segment from which on there is space first, -1 if none.

    Of equal ones the one in the smallest run of free segments, then the first of its run.
    """
    best, best_time, best_total = -1, NEVER, NEVER
    k = 0
    while k < count:
        if segment[k, TILE] >= 0:
            k += 1
            continue
        first, total = k, 0
        while k < count and segment[k, TILE] < 0:
            total += segment[k, SIZE]
            k += 1
        rest, low = total, first
        while rest >= size:
            time = free_at(segment, low, size, quiet)
            if time < best_time or (time == best_time and total < best_total):
                best, best_time, best_total = low, time, total
            rest -= segment[low, SIZE]
            low += 1
    return best


@inner
def reach(segment: Ints, low: int, size: int) -> int:
    """Return the last segment that ``size`` bytes from the start of ``low`` reach."""
    total, high = segment[low, SIZE], low
    while total < size:
        high += 1
        total += segment[high, SIZE]
    return high

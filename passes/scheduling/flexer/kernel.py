"""The compiled inner loop: a tile problem to a schedule, in a given order or out of order.

Everything that one schedule needs stands in this one file, because Numba's file cache watches
only the file of the function that it compiled. Arrays in, arrays out; ``decode`` turns them into
a frozen schedule, and the verifier of ``ir/tile_schedule.py`` judges that.

Tiles are numbered inputs, weights, accumulators, outputs; the output of accumulator ``t`` is
``t + accs``. The scratchpad is a list of *segments* by address that cover it without gaps: each
holds one tile or nothing, and knows when it was last touched. A tile that takes over segments
waits for the last touch of each of them, exactly as ``ir/hazards.py`` makes instructions wait.

A schedule is made set by set. For a set of operations the tiles that are missing get room
(:func:`_make_room`), spills and loads are issued, then the operations; finished outputs are stored
after the loads of the next set, so that no load waits behind a store.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023. Section 4.1 and
    Algorithm 2 (:func:`_victims`), section 4.2 (:func:`_signature`), section 4.3
    (:func:`_is_better`), Algorithm 1 lines 12-32 (:func:`schedule_freely`).
"""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
from numpy.typing import NDArray

Ints = NDArray[np.int64]

LOAD, STORE, SPILL, RETRIEVE, COMPUTE, FINISH = range(6)
BALANCED, FIRST_FIT, SMALL_SPILL, FURTHEST = range(4)
EAGER = 4
"""Added to one of these: a tile takes the room that is free first, not that of an equal."""

BENEFIT, MIN_TRANSFER, MIN_SPILL = range(3)
PRODUCT, SUM = range(2)

ADDRESS, SIZE, TILE, TOUCHED = range(4)
(
    SEGMENTS,
    BYTES,
    EVENTS,
    STAYS,
    PENDING,
    STAMP,
    BYTES_LEFT,
    XFER_LEFT,
    WORK_LEFT,
    MAKESPAN,
    ISSUED,
    GROUPS,
    FAILED,
) = range(13)
SCALARS = 13
_NEVER = 1 << 60
_MAX_SEGMENTS = 1024
_EVENT_FIELDS = 6
_STAY_FIELDS = 5

DONE, ABORTED, STUCK = range(3)

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _inner(function: _Function) -> _Function:
    """Compile a function that only compiled code calls: without wrappers for Python."""
    compiler = njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)  # pyright: ignore
    return compiler(function)  # pyright: ignore


def _small(function: _Function) -> _Function:
    """Compile a function into its callers: passing all arrays would take longer than its work."""
    compiler = njit(cache=True, inline="always")  # pyright: ignore
    return compiler(function)  # pyright: ignore


class Problem(NamedTuple):
    """One tiling of one operator; operations in the order of a dataflow.

    Attributes:
        room: Bytes of the scratchpad that tiles may take.
        channels: DMA channels.
        reads: Input, weight and accumulator tile of every operation ``[ops, 3]``.
        latency: Of every operation on every NPU [cycle] ``[ops, npus]``.
        size: Of every tile [byte] ``[tiles]``.
        xfer: Of moving it [cycle] ``[tiles]``.
        resident: Whether a tile needs neither room nor transfer ``[tiles]``.
        finish: Of turning accumulators into outputs [cycle] ``[accs]``.
        first_acc: Number of the first accumulator tile.
        params: Which parameters an accumulator tile is finished with ``[accs]``.
        param_bytes: Of each parameter tensor ``[keys, tensors]``.
        param_xfer: Of moving it [cycle] ``[keys, tensors]``.
        slots: How many sets of parameters an NPU keeps.
        commute: Whether operations that add into one tile may run in any order.
    """

    room: int
    channels: int
    reads: Ints
    latency: Ints
    size: Ints
    xfer: Ints
    resident: NDArray[np.bool_]
    finish: Ints
    first_acc: int
    params: Ints
    param_bytes: Ints
    param_xfer: Ints
    slots: int
    commute: bool


class Goal(NamedTuple):
    """What is minimised, and when to give up.

    ``PRODUCT``: ``cycles ** latency_power * bytes ** bytes_power``; ``SUM``: ``fixed + cycles *
    latency_power + bytes * bytes_power``.

    Attributes:
        kind: ``PRODUCT`` or ``SUM``.
        latency_power: See above.
        bytes_power: See above.
        fixed: See above.
        limit: A schedule that cannot stay below this is abandoned.
    """

    kind: int
    latency_power: float
    bytes_power: float
    fixed: float
    limit: float


class Choice(NamedTuple):
    """How a schedule is made.

    Attributes:
        memory: Who makes room: ``BALANCED``, ``FIRST_FIT``, ``SMALL_SPILL``, or ``FURTHEST``
            (only where the order is known); ``EAGER`` may be added.
        priority: ``BENEFIT``, ``MIN_TRANSFER`` or ``MIN_SPILL``.
        beam: Sets of each size that are extended.
        window: Operations that are considered in each step.
        trials: Complete sets whose memory operations are worked out in each step.
    """

    memory: int
    priority: int
    beam: int
    window: int
    trials: int


class State(NamedTuple):
    """A schedule in the making; every array is mutable.

    Attributes:
        segment: Scratchpad by address: address, size, tile or -1, last touch ``[., 4]``.
        trial: Room for a copy of ``segment``.
        at: Address of a tile, -1 where it is not on chip ``[tiles]``.
        ready: When its content is complete ``[tiles]``.
        touched: When it was last touched ``[tiles]``.
        left: Operations that will still touch it ``[tiles]``.
        first: Number of the first event of its stay ``[tiles]``.
        last: Number of the last event of its stay ``[tiles]``.
        spilled: When its spill was complete, -1 where it is not spilled ``[tiles]``.
        seen: Whether it was moved, or made, before ``[tiles]``.
        pinned: Equals the stamp where a tile must stay ``[tiles]``.
        uses: Positions in the order at which a tile is used, by tile ``[.]``.
        next_use: Index into ``uses`` of its next use ``[tiles]``.
        end_use: Index past its last use ``[tiles]``.
        is_done: Operations that are issued ``[ops]``.
        dma: When a channel is free ``[channels]``.
        mx: When a MAC array is free ``[npus]``.
        vx: When a vector unit is free ``[npus]``.
        kept: Parameters in each slot, -1 none ``[npus, slots]``.
        kept_time: Ready and touched of each slot's tensor ``[npus, slots, tensors, 2]``.
        kept_stay: First and last event of each ``[npus, slots, tensors, 2]``.
        kept_next: Slot that is filled next ``[npus]``.
        pending: Output tiles that wait to be stored ``[accs]``.
        needed: Tiles that a set has to bring ``[.]``.
        scalar: See the constants ``[SCALARS]``.
        order: Operations as issued ``[ops]``.
        group: Sizes of the sets ``[ops]``.
        event: Kind, subject, engine, start, end, clear; empty unless kept ``[., 6]``.
        stay: Tile (parameters: -1 - number), NPU, address, first and last event ``[., 5]``.
    """

    segment: Ints
    trial: Ints
    at: Ints
    ready: Ints
    touched: Ints
    left: Ints
    first: Ints
    last: Ints
    spilled: Ints
    seen: NDArray[np.bool_]
    pinned: Ints
    uses: Ints
    next_use: Ints
    end_use: Ints
    is_done: NDArray[np.bool_]
    dma: Ints
    mx: Ints
    vx: Ints
    kept: Ints
    kept_time: Ints
    kept_stay: Ints
    kept_next: Ints
    pending: Ints
    needed: Ints
    scalar: Ints
    order: Ints
    group: Ints
    event: Ints
    stay: Ints


@_inner
def _start(p: Problem, keep: bool) -> State:
    """Return the state before the first operation."""
    ops, tiles, npus = p.reads.shape[0], p.size.shape[0], p.latency.shape[1]
    accs, tensors = p.finish.shape[0], p.param_bytes.shape[1]
    scalar = np.zeros(SCALARS, np.int64)
    segment = np.zeros((_MAX_SEGMENTS, 4), np.int64)
    segment[0, SIZE] = p.room
    segment[0, TILE] = -1
    scalar[SEGMENTS] = 1
    left = np.zeros(tiles, np.int64)
    for o in range(ops):
        for role in range(3):
            left[p.reads[o, role]] += 1
    seen = np.zeros(tiles, np.bool_)
    for t in range(tiles):
        if p.resident[t]:
            seen[t] = True
        elif t < p.first_acc or t >= p.first_acc + accs:
            scalar[BYTES_LEFT] += p.size[t]
            scalar[XFER_LEFT] += p.xfer[t]
    for o in range(ops):
        scalar[WORK_LEFT] += p.latency[o].min()
    end_use = np.cumsum(left)
    next_use = end_use - left
    events = 16 * ops + 4 * npus * tensors * (1 + accs) if keep else 0
    return State(
        segment,
        np.zeros((_MAX_SEGMENTS, 4), np.int64),
        np.full(tiles, -1, np.int64),
        np.zeros(tiles, np.int64),
        np.zeros(tiles, np.int64),
        left,
        np.full(tiles, -1, np.int64),
        np.full(tiles, -1, np.int64),
        np.full(tiles, -1, np.int64),
        seen,
        np.zeros(tiles, np.int64),
        np.zeros(3 * ops, np.int64),
        next_use,
        end_use,
        np.zeros(ops, np.bool_),
        np.zeros(p.channels, np.int64),
        np.zeros(npus, np.int64),
        np.zeros(npus, np.int64),
        np.full((npus, p.slots), -1, np.int64),
        np.zeros((npus, p.slots, tensors, 2), np.int64),
        np.zeros((npus, p.slots, tensors, 2), np.int64),
        np.zeros(npus, np.int64),
        np.zeros(accs, np.int64),
        np.zeros(4 * ops + 4, np.int64),
        scalar,
        np.zeros(ops, np.int64),
        np.zeros(ops, np.int64),
        np.zeros((events, _EVENT_FIELDS), np.int64),
        np.zeros((events, _STAY_FIELDS), np.int64),
    )


@_small
def _note(s: State, kind: int, subject: int, engine: int, start: int, end: int, clear: int) -> int:
    """Append an event and return its number."""
    number = s.scalar[EVENTS]
    s.scalar[EVENTS] = number + 1
    if end > s.scalar[MAKESPAN]:
        s.scalar[MAKESPAN] = end
    if s.event.shape[0]:
        row = s.event[number]
        row[0], row[1], row[2] = kind, subject, engine
        row[3], row[4], row[5] = start, end, clear
    return number


@_small
def _leave_chip(s: State, tile: int, npu: int, address: int, first: int, last: int) -> None:
    """Record a stay that has ended."""
    if s.event.shape[0] and first >= 0:
        row = s.stay[s.scalar[STAYS]]
        row[0], row[1], row[2], row[3], row[4] = tile, npu, address, first, last
        s.scalar[STAYS] += 1


@_small
def _touch(s: State, tile: int, number: int, end: int) -> None:
    """Record that an event touches a placed tile."""
    if s.first[tile] < 0:
        s.first[tile] = number
    s.last[tile] = number
    if end > s.touched[tile]:
        s.touched[tile] = end


@_small
def _channel(s: State, ready: int) -> int:
    """Return the channel to use: of those free by then the busiest, else the first to be free."""
    best = 0
    for channel in range(1, s.dma.shape[0]):
        free, champion = s.dma[channel], s.dma[best]
        if champion <= ready:
            if champion < free <= ready:
                best = channel
        elif free < champion:
            best = channel
    return best


@_inner
def _move(s: State, kind: int, tile: int, ready: int, cycles: int, bytes: int) -> int:
    """Issue a transfer that may start at ``ready``; return when it ends."""
    channel = _channel(s, ready)
    start = max(s.dma[channel], ready)
    end = start + cycles
    s.dma[channel] = end
    s.scalar[BYTES] += bytes
    number = _note(s, kind, tile, channel, start, end, 0)
    if tile >= 0:
        _touch(s, tile, number, end)
    return end


@_inner
def _find(segment: Ints, count: int, address: int) -> int:
    """Return the segment that starts at an address."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if segment[middle, ADDRESS] <= address:
            low = middle
        else:
            high = middle
    return low


@_inner
def _free(p: Problem, s: State, tile: int) -> None:
    """End the stay of a tile that nobody needs any more."""
    k = _find(s.segment, s.scalar[SEGMENTS], s.at[tile])
    s.segment[k, TILE] = -1
    s.segment[k, TOUCHED] = s.touched[tile]
    _leave_chip(s, tile, 0, s.at[tile], s.first[tile], s.last[tile])
    s.at[tile] = -1
    s.first[tile] = -1


@_inner
def _store(p: Problem, s: State, tile: int) -> None:
    """Write a finished output tile off chip and free its room."""
    _move(s, STORE, tile, s.ready[tile], p.xfer[tile], p.size[tile])
    s.scalar[BYTES_LEFT] -= p.size[tile]
    s.scalar[XFER_LEFT] -= p.xfer[tile]
    for k in range(s.scalar[PENDING]):
        if s.pending[k] == tile:
            for j in range(k, s.scalar[PENDING] - 1):
                s.pending[j] = s.pending[j + 1]
            s.scalar[PENDING] -= 1
            break
    _free(p, s, tile)


@_inner
def _evict(p: Problem, s: State, tile: int) -> None:
    """Take a tile off chip: write it where nothing else has its content."""
    accs = p.finish.shape[0]
    if tile >= p.first_acc + accs:
        _store(p, s, tile)
        return
    if tile >= p.first_acc:
        s.spilled[tile] = _move(s, SPILL, tile, s.ready[tile], p.xfer[tile], p.size[tile])
    _free(p, s, tile)


@_inner
def _tidy(s: State) -> None:
    """Join free neighbours whose last touch no event to come can notice."""
    quiet = min(s.dma.min(), min(s.mx.min(), s.vx.min()))
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


@_inner
def _carve(segment: Ints, count: int, low: int, high: int, size: int, tile: int) -> int:
    """Put a tile at the start of free segments ``low .. high``; return how many there are now.

    The touch of the new segment is the latest of those that it covers; what is left over of the
    last one stays behind it.
    """
    total, touched = 0, 0
    for k in range(low, high + 1):
        total += segment[k, SIZE]
        touched = max(touched, segment[k, TOUCHED])
    rest, rest_touched = total - size, segment[high, TOUCHED]
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
    segment[low, ADDRESS] = address
    segment[low, SIZE] = size
    segment[low, TILE] = tile
    segment[low, TOUCHED] = touched
    if rest:
        segment[low + 1, ADDRESS] = address + size
        segment[low + 1, SIZE] = rest
        segment[low + 1, TILE] = -1
        segment[low + 1, TOUCHED] = rest_touched
    return count + shift


@_inner
def _in_place(segment: Ints, count: int, size: int) -> int:
    """Return the free segment of exactly this size that was touched first, -1 if none."""
    best = -1
    for k in range(count):
        if segment[k, TILE] >= 0 or segment[k, SIZE] != size:
            continue
        if best < 0 or segment[k, TOUCHED] < segment[best, TOUCHED]:
            best = k
    return best


@_inner
def _best_fit(segment: Ints, count: int, size: int) -> int:
    """Return the first segment of the smallest run of free ones that is large enough, -1 if none.

    Of equal runs the one whose room is free first.
    """
    best, best_total, best_touched = -1, _NEVER, _NEVER
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


@_inner
def _free_at(segment: Ints, low: int, size: int, quiet: int) -> int:
    """Return when ``size`` bytes from the start of ``low`` are free; ``quiet`` at the earliest."""
    time, total, k = quiet, 0, low
    while total < size:
        time = max(time, segment[k, TOUCHED])
        total += segment[k, SIZE]
        k += 1
    return time


@_inner
def _soonest(segment: Ints, count: int, size: int, quiet: int) -> int:
    """Return the free segment from which on there is room first, -1 if none.

    Of equal ones the one in the smallest run of free segments, then the first of its run.
    """
    best, best_time, best_total = -1, _NEVER, _NEVER
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
            time = _free_at(segment, low, size, quiet)
            if time < best_time or (time == best_time and total < best_total):
                best, best_time, best_total = low, time, total
            rest -= segment[low, SIZE]
            low += 1
    return best


@_inner
def _reach(segment: Ints, low: int, size: int) -> int:
    """Return the last segment that ``size`` bytes from the start of ``low`` reach."""
    total, high = segment[low, SIZE], low
    while total < size:
        high += 1
        total += segment[high, SIZE]
    return high


@_small
def _next_use(s: State, tile: int) -> int:
    """Return the position in the known order at which a tile is used next."""
    if s.next_use[tile] >= s.end_use[tile]:
        return _NEVER
    return s.uses[s.next_use[tile]]


@_inner
def _victims(
    p: Problem, s: State, segment: Ints, count: int, size: int, rule: int
) -> tuple[int, int]:
    """Return first and last segment of the run that makes room; -1 where there is none.

    For every start the shortest run of neighbours that is large enough is looked at (Algorithm 2).
    ``BALANCED`` takes the one with the smallest rest, then with the smallest sum of size times
    remaining uses, then with the fewest tiles. ``FIRST_FIT`` takes the first single tile that is
    large enough, else the first run. ``FURTHEST`` takes the run whose soonest use is furthest away,
    then the one that loses the fewest bytes.

    Deviation: the printed algorithm never resets ``pick`` inside its loop, so every longer run
    would replace a better shorter one; it breaks out of the outer loop; its end runs one past the
    list; and it knows only allocated blocks, though free room between them is part of a run. Free
    segments count here as blocks without uses.
    """
    best_low, best_high = -1, -1
    best_a, best_b, best_c = np.inf, np.inf, np.inf
    stamp = s.scalar[STAMP]
    for low in range(count):
        total = 0
        disadvantage, lost, soonest, tiles = 0, 0, _NEVER, 0
        for high in range(low, count):
            tile = segment[high, TILE]
            if tile >= 0:
                if s.pinned[tile] == stamp:
                    break
                disadvantage += segment[high, SIZE] * s.left[tile]
                tiles += 1
                if s.left[tile] > 0:
                    lost += segment[high, SIZE]
                if rule == FURTHEST:
                    soonest = min(soonest, _next_use(s, tile))
            total += segment[high, SIZE]
            if total < size:
                continue
            if rule == FURTHEST:
                a, b, c = -float(soonest), float(lost), float(total)
            elif rule == FIRST_FIT:
                a, b, c = float(high - low), float(low), 0.0
            else:
                a, b, c = float(total - size), float(disadvantage), float(tiles)
            if a < best_a or (a == best_a and (b < best_b or (b == best_b and c < best_c))):
                best_low, best_high = low, high
                best_a, best_b, best_c = a, b, c
            break
    return best_low, best_high


@_inner
def _smallest(p: Problem, s: State, segment: Ints, count: int) -> int:
    """Return the segment of the smallest tile that may go, -1 if none."""
    best = -1
    for k in range(count):
        tile = segment[k, TILE]
        if tile < 0 or s.pinned[tile] == s.scalar[STAMP]:
            continue
        if best < 0 or segment[k, SIZE] < segment[best, SIZE]:
            best = k
    return best


@_inner
def _need(p: Problem, s: State, ops: Ints, count: int) -> int:
    """Pin what a set uses and list the tiles that it misses; return how many."""
    accs = p.finish.shape[0]
    s.scalar[STAMP] += 1
    stamp, needed = s.scalar[STAMP], 0
    for k in range(count):
        for role in range(3):
            tile = p.reads[ops[k], role]
            if p.resident[tile] or s.pinned[tile] == stamp:
                continue
            s.pinned[tile] = stamp
            if s.at[tile] < 0:
                s.needed[needed] = tile
                needed += 1
        acc = p.reads[ops[k], 2]
        if s.left[acc] == 1 and not p.resident[acc + accs]:
            s.pinned[acc + accs] = stamp
            s.needed[needed] = acc + accs
            needed += 1
    return needed


@_inner
def _arrive(p: Problem, s: State, tile: int, touched: int) -> None:
    """Bring a placed tile in, or clear the room of a new one."""
    s.ready[tile] = touched
    s.touched[tile] = touched
    if tile < p.first_acc:
        s.ready[tile] = _move(s, LOAD, tile, touched, p.xfer[tile], p.size[tile])
        if not s.seen[tile]:
            s.seen[tile] = True
            s.scalar[BYTES_LEFT] -= p.size[tile]
            s.scalar[XFER_LEFT] -= p.xfer[tile]
    elif s.spilled[tile] >= 0:
        begin = max(touched, s.spilled[tile])
        s.ready[tile] = _move(s, RETRIEVE, tile, begin, p.xfer[tile], p.size[tile])
        s.spilled[tile] = -1


@_inner
def _place_free(
    p: Problem, s: State, segment: Ints, count: int, needed: int, eager: bool, real: bool
) -> tuple[int, int]:
    """Place needed tiles where nobody has to leave: in place of equals first, then best fit.

    If ``eager``, not in place of an equal where other room is free earlier, and then in the room
    that is free first. The room of an equal is often that of the operation just issued; waiting
    for it would leave no room to load ahead.

    Returns the number of segments and of tiles that are still without room, which stand at the
    front of ``needed`` then. An empty scratchpad is filled from the start, so that any set fits
    whose sizes do.
    """
    rest = 0
    is_empty = True
    for k in range(count):
        if segment[k, TILE] >= 0:
            is_empty = False
    eager = eager and not is_empty
    quiet = s.dma.min()
    for k in range(needed):
        tile = s.needed[k]
        low = -1 if is_empty else _in_place(segment, count, p.size[tile])
        if low >= 0 and eager:
            other = _soonest(segment, count, p.size[tile], quiet)
            if _free_at(segment, other, p.size[tile], quiet) < max(quiet, segment[low, TOUCHED]):
                low = -1
        if low < 0:
            s.needed[rest] = tile
            rest += 1
            continue
        segment[low, TILE] = tile
        if real:
            s.at[tile] = segment[low, ADDRESS]
    needed, rest = rest, 0
    for k in range(needed):
        tile = s.needed[k]
        if eager:
            low = _soonest(segment, count, p.size[tile], quiet)
        else:
            low = _best_fit(segment, count, p.size[tile])
        if low < 0 or count + 2 >= _MAX_SEGMENTS:
            s.needed[rest] = tile
            rest += 1
            continue
        high = _reach(segment, low, p.size[tile])
        count = _carve(segment, count, low, high, p.size[tile], tile)
        if real:
            s.at[tile] = segment[low, ADDRESS]
    return count, rest


@_inner
def _judge(
    p: Problem, s: State, ops: Ints, count: int, rule: int
) -> tuple[bool, float, int, int, int]:
    """Work out what a set would do to memory, without doing it.

    Returns whether it fits, the spilled data weighted as in section 4.3, the bytes on chip
    afterwards, the cycles of its memory operations, and the bytes that they move.
    """
    eager, rule = rule >= EAGER, rule % EAGER
    segment, segments = s.trial, s.scalar[SEGMENTS]
    segment[:segments] = s.segment[:segments]
    npus, accs = p.latency.shape[1], p.finish.shape[0]
    needed = _need(p, s, ops, count)
    overhead, moved = 0, 0
    for k in range(needed):
        tile = s.needed[k]
        if tile < p.first_acc or (tile < p.first_acc + accs and s.spilled[tile] >= 0):
            overhead += p.xfer[tile]
            moved += p.size[tile]
    segments, needed = _place_free(p, s, segment, segments, needed, eager, False)
    spilled = 0.0
    for k in range(needed):
        size = p.size[s.needed[k]]
        while True:
            if rule == SMALL_SPILL:
                low = _best_fit(segment, segments, size)
                if low >= 0:
                    high = low - 1
                else:
                    low = _smallest(p, s, segment, segments)
                    high = low
            else:
                low, high = _victims(p, s, segment, segments, size, rule)
            if low < 0 or segments + 2 >= _MAX_SEGMENTS:
                return False, 0.0, 0, 0, 0
            for j in range(low, high + 1):
                tile = segment[j, TILE]
                if tile < 0:
                    continue
                segment[j, TILE] = -1
                if s.left[tile] > 0:
                    spilled += p.size[tile] / min(npus, s.left[tile])
                if tile >= p.first_acc and tile < p.first_acc + accs:
                    overhead += p.xfer[tile]
                    moved += p.size[tile]
            if rule != SMALL_SPILL or high < low:
                break
        high = _reach(segment, low, size)
        segments = _carve(segment, segments, low, high, size, s.needed[k])
    used = 0
    for k in range(segments):
        if segment[k, TILE] >= 0:
            used += segment[k, SIZE]
    return True, spilled, used, overhead, moved


@_inner
def _make_room(p: Problem, s: State, ops: Ints, count: int, rule: int) -> None:
    """Give every missing tile of a set its room, and issue spills and loads.

    Loads into room that is free come first, by the time at which it is; then, tile by tile, what
    has to be written off and what takes its place.
    """
    eager, rule = rule >= EAGER, rule % EAGER
    segment = s.segment
    needed = _need(p, s, ops, count)
    wanted = s.needed[:needed].copy()
    segments, rest = _place_free(p, s, segment, s.scalar[SEGMENTS], needed, eager, True)
    s.scalar[SEGMENTS] = segments
    left = s.needed[:rest].copy()
    placed = np.zeros(needed, np.int64)
    times = np.zeros(needed, np.int64)
    found = 0
    for k in range(needed):
        tile = wanted[k]
        if s.at[tile] < 0:
            continue
        time = segment[_find(segment, segments, s.at[tile]), TOUCHED]
        j = found
        while j > 0 and times[j - 1] > time:
            times[j], placed[j] = times[j - 1], placed[j - 1]
            j -= 1
        times[j], placed[j] = time, tile
        found += 1
    for k in range(found):
        _arrive(p, s, placed[k], times[k])
    for k in range(rest):
        size = p.size[left[k]]
        while True:
            if rule == SMALL_SPILL:
                low = _best_fit(segment, s.scalar[SEGMENTS], size)
                if low >= 0:
                    high = low - 1
                else:
                    low = _smallest(p, s, segment, s.scalar[SEGMENTS])
                    high = low
            else:
                low, high = _victims(p, s, segment, s.scalar[SEGMENTS], size, rule)
            for j in range(low, high + 1):
                if segment[j, TILE] >= 0:
                    _evict(p, s, segment[j, TILE])
            if rule != SMALL_SPILL or high < low:
                break
        high = _reach(segment, low, size)
        tile = left[k]
        s.scalar[SEGMENTS] = _carve(segment, s.scalar[SEGMENTS], low, high, size, tile)
        s.at[tile] = segment[low, ADDRESS]
        _arrive(p, s, tile, segment[low, TOUCHED])


@_inner
def _flush(p: Problem, s: State) -> None:
    """Take everything off chip, so that one operation fits wherever memory is fragmented."""
    k = 0
    while k < s.scalar[SEGMENTS]:
        if s.segment[k, TILE] >= 0:
            _evict(p, s, s.segment[k, TILE])
        k += 1


@_inner
def _parameters(p: Problem, s: State, npu: int, key: int) -> int:
    """Make sure that an NPU has the parameters of an output tile; return their slot."""
    tensors = p.param_bytes.shape[1]
    for slot in range(p.slots):
        if s.kept[npu, slot] == key:
            return slot
    slot = s.kept_next[npu]
    s.kept_next[npu] = (slot + 1) % p.slots
    for k in range(tensors):
        if s.kept[npu, slot] >= 0:
            old = s.kept[npu, slot] * tensors + k
            first, last = s.kept_stay[npu, slot, k, 0], s.kept_stay[npu, slot, k, 1]
            _leave_chip(s, -1 - old, npu, slot * tensors + k, first, last)
        subject, number = -1 - (key * tensors + k), s.scalar[EVENTS]
        touched = s.kept_time[npu, slot, k, 1]
        end = _move(s, LOAD, subject, touched, p.param_xfer[key, k], p.param_bytes[key, k])
        s.kept_time[npu, slot, k, 0] = end
        s.kept_time[npu, slot, k, 1] = end
        s.kept_stay[npu, slot, k, 0] = number
        s.kept_stay[npu, slot, k, 1] = number
    s.kept[npu, slot] = key
    return slot


@_inner
def _issue(p: Problem, s: State, op: int, npu: int, slot: int) -> None:
    """Run an operation on an NPU, and finish its accumulators if it is the last to add."""
    accs, tensors = p.finish.shape[0], p.param_bytes.shape[1]
    start, acc = s.mx[npu], p.reads[op, 2]
    for role in range(3):
        start = max(start, s.ready[p.reads[op, role]])
    end = start + p.latency[op, npu]
    s.mx[npu] = end
    clear = 0 if s.seen[acc] else 1
    s.seen[acc] = True
    number = _note(s, COMPUTE, op, npu, start, end, clear)
    s.ready[acc] = end
    for role in range(3):
        tile = p.reads[op, role]
        if not p.resident[tile]:
            _touch(s, tile, number, end)
    s.scalar[WORK_LEFT] -= p.latency[op].min()
    for role in range(3):
        tile = p.reads[op, role]
        s.left[tile] -= 1
        s.next_use[tile] += 1
    s.is_done[op] = True
    if s.left[acc] > 0:
        return
    out = acc + accs
    begin = max(s.vx[npu], end)
    if not p.resident[out]:
        begin = max(begin, s.ready[out])
    for k in range(tensors):
        begin = max(begin, s.kept_time[npu, slot, k, 0])
    done = begin + p.finish[acc - p.first_acc]
    s.vx[npu] = done
    number = _note(s, FINISH, op, npu, begin, done, 0)
    _touch(s, acc, number, done)
    for k in range(tensors):
        s.kept_time[npu, slot, k, 1] = done
        s.kept_stay[npu, slot, k, 1] = number
    if not p.resident[out]:
        _touch(s, out, number, done)
        s.ready[out] = done
        s.pending[s.scalar[PENDING]] = out
        s.scalar[PENDING] += 1


@_inner
def _do(p: Problem, s: State, ops: Ints, count: int, rule: int) -> None:
    """Schedule a set whose tiles fit together."""
    npus = p.latency.shape[1]
    waiting = s.scalar[PENDING]
    oldest = s.pending[:waiting].copy()
    _make_room(p, s, ops, count, rule)
    for k in range(waiting):
        if s.at[oldest[k]] >= 0:
            _store(p, s, oldest[k])
    ready = np.zeros(count, np.int64)
    queue = np.zeros(count, np.int64)
    for k in range(count):
        time = 0
        for role in range(3):
            time = max(time, s.ready[p.reads[ops[k], role]])
        j = k
        while j > 0 and ready[j - 1] > time:
            ready[j], queue[j] = ready[j - 1], queue[j - 1]
            j -= 1
        ready[j], queue[j] = time, ops[k]
    free = s.mx.copy()
    chosen = np.zeros(count, np.int64)
    for k in range(count):
        best, best_end = -1, _NEVER
        for npu in range(npus):
            end = max(free[npu], ready[k]) + p.latency[queue[k], npu]
            if end < best_end:
                best, best_end = npu, end
        chosen[k] = best
        free[best] = best_end
    for k in range(count):
        acc, slot = p.reads[queue[k], 2], 0
        if s.left[acc] == 1:
            slot = _parameters(p, s, chosen[k], p.params[acc - p.first_acc])
        _issue(p, s, queue[k], chosen[k], slot)
    for k in range(count):
        for role in range(3):
            tile = p.reads[ops[k], role]
            if s.left[tile] == 0 and s.at[tile] >= 0:
                _free(p, s, tile)
    for k in range(count):
        s.order[s.scalar[ISSUED]] = ops[k]
        s.scalar[ISSUED] += 1
    s.group[s.scalar[GROUPS]] = count
    s.scalar[GROUPS] += 1
    _tidy(s)


@_inner
def _end(p: Problem, s: State) -> None:
    """Store what is finished and close all stays."""
    while s.scalar[PENDING] > 0:
        _store(p, s, s.pending[0])
    for npu in range(s.kept.shape[0]):
        for slot in range(s.kept.shape[1]):
            if s.kept[npu, slot] < 0:
                continue
            tensors = p.param_bytes.shape[1]
            for k in range(tensors):
                subject = -1 - (s.kept[npu, slot] * tensors + k)
                first, last = s.kept_stay[npu, slot, k, 0], s.kept_stay[npu, slot, k, 1]
                _leave_chip(s, subject, npu, slot * tensors + k, first, last)


@njit(cache=True)
def metric(goal: Goal, cycles: float, bytes: float) -> float:
    """Return the figure that is minimised."""
    if goal.kind == SUM:
        return goal.fixed + cycles * goal.latency_power + bytes * goal.bytes_power
    value = 1.0
    if goal.latency_power == 1.0:
        value *= cycles
    elif goal.latency_power != 0.0:
        value *= cycles**goal.latency_power
    if goal.bytes_power == 1.0:
        value *= bytes
    elif goal.bytes_power != 0.0:
        value *= bytes**goal.bytes_power
    return value


@_inner
def _is_hopeless(p: Problem, s: State, goal: Goal) -> bool:
    """Whether no continuation of the schedule can stay below the goal's limit.

    Work that is left fills the NPUs at best evenly, and tiles that were never moved must be.
    """
    npus, channels = s.mx.shape[0], s.dma.shape[0]
    compute = (s.mx.sum() + s.scalar[WORK_LEFT]) / npus
    moving = (s.dma.sum() + s.scalar[XFER_LEFT]) / channels
    cycles = max(float(s.scalar[MAKESPAN]), max(compute, moving))
    return metric(goal, cycles, float(s.scalar[BYTES] + s.scalar[BYTES_LEFT])) >= goal.limit


@_inner
def _list_uses(p: Problem, s: State, order: Ints) -> None:
    """Note when each tile is used, for an order that is known."""
    fill = s.next_use.copy()
    for position in range(order.shape[0]):
        for role in range(3):
            tile = p.reads[order[position], role]
            s.uses[fill[tile]] = position
            fill[tile] += 1


@_inner
def _try_set(p: Problem, s: State, ops: Ints, count: int, rule: int) -> int:
    """Schedule as many of the first operations of a set as fit together; return how many."""
    while count > 1 and not _judge(p, s, ops, count, rule)[0]:
        count -= 1
    if count == 1 and not _judge(p, s, ops, 1, rule)[0]:
        _flush(p, s)
        if not _judge(p, s, ops, 1, rule)[0]:
            return 0
    _do(p, s, ops, count, rule)
    return count


@njit(cache=True)
def schedule_in_order(
    p: Problem, order: Ints, group: Ints, memory: int, goal: Goal, keep: bool
) -> tuple[int, State]:
    """Schedule operations in a given order, set by set.

    Args:
        p: The tiling.
        order: Operations.
        group: Size of each set; it is split where its tiles do not fit together.
        memory: Who makes room.
        goal: When to give up.
        keep: Whether to keep events and stays.

    Returns:
        ``DONE``, ``ABORTED`` (beyond the goal's limit) or ``STUCK`` (an operation does not fit).
    """
    s = _start(p, keep)
    _list_uses(p, s, order)
    position = 0
    for k in range(group.shape[0]):
        if position >= order.shape[0]:
            break
        end = position + group[k]
        while position < end:
            taken = _try_set(p, s, order[position:end], end - position, memory)
            if taken == 0:
                return STUCK, s
            position += taken
        if _is_hopeless(p, s, goal):
            return ABORTED, s
    _end(p, s)
    return (ABORTED if _is_hopeless(p, s, goal) else DONE), s


@_inner
def _candidates(p: Problem, s: State, window: int, chosen: Ints) -> int:
    """List operations worth considering, those that reuse most first; return how many.

    They are grouped by which of their tiles are on chip. Each group gets an eighth of the window
    at least, then the groups that reuse most get the rest.
    """
    ops = p.reads.shape[0]
    many = np.zeros(8, np.int64)
    some = np.full(8, -1, np.int64)
    for o in range(ops):
        if not _is_ready(p, s, o):
            continue
        mask = _presence(p, s, o)
        many[mask] += 1
        if some[mask] < 0:
            some[mask] = o
    weight = np.zeros(8, np.int64)
    for mask in range(8):
        if some[mask] < 0:
            continue
        for role in range(3):
            if mask >> role & 1 and not p.resident[p.reads[some[mask], role]]:
                weight[mask] += p.size[p.reads[some[mask], role]]
    ranked = np.argsort(-weight, kind="mergesort")
    quota = np.zeros(8, np.int64)
    left = window
    for mask in range(8):
        quota[mask] = min(many[mask], max(1, window // 8))
        left -= quota[mask]
    for k in range(8):
        mask = ranked[k]
        extra = min(many[mask] - quota[mask], max(0, left))
        quota[mask] += extra
        left -= extra
    count = 0
    for k in range(8):
        mask = ranked[k]
        if quota[mask] == 0:
            continue
        taken = 0
        for o in range(some[mask], ops):
            if _is_ready(p, s, o) and _presence(p, s, o) == mask:
                chosen[count] = o
                count += 1
                taken += 1
                if taken == quota[mask]:
                    break
    return count


@_small
def _is_ready(p: Problem, s: State, op: int) -> bool:
    """Whether an operation may run now: any of an accumulation, or the next one in order."""
    if s.is_done[op]:
        return False
    if p.commute:
        return True
    acc = p.reads[op, 2]
    return s.uses[s.next_use[acc]] == op


@_small
def _presence(p: Problem, s: State, op: int) -> int:
    """Return which tiles of an operation are on chip: 1 input, 2 weights, 4 accumulators."""
    mask = 0
    for role in range(3):
        tile = p.reads[op, role]
        if s.at[tile] >= 0 or p.resident[tile]:
            mask |= 1 << role
    return mask


@_inner
def _mix(value: int) -> int:
    """Return a scrambled value (the finaliser of splitmix64)."""
    x = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((x ^ (x >> np.uint64(31))) >> np.uint64(1))


@_inner
def _signature(p: Problem, s: State, ops: Ints, count: int) -> tuple[int, int, int]:
    """Return the dataflow map of a set as a number, its reused and its new bytes.

    Sets with equal maps count once (section 4.2): per kind of tile, which are new and which are on
    chip, and how many operations share each. Sizes, spilled accumulators and the last addition
    to a tile belong to the map, for they change what is moved.
    """
    total, reused, new = 0, 0, 0
    for role in range(3):
        for k in range(count):
            tile = p.reads[ops[k], role]
            if p.resident[tile]:
                continue
            sharing, is_first = 0, True
            for j in range(count):
                if p.reads[ops[j], role] == tile:
                    sharing += 1
                    if j < k:
                        is_first = False
            here = s.at[tile] >= 0
            if here or not is_first:
                reused += p.size[tile]
            else:
                new += p.size[tile]
            if is_first:
                state = 4 * (s.spilled[tile] >= 0) + 2 * here + (s.left[tile] == sharing)
                total += _mix(((p.size[tile] * 8 + state) * 64 + sharing) * 4 + role)
    return total, reused, new


@_inner
def _is_better(rule: int, one: NDArray[np.float64], two: NDArray[np.float64]) -> bool:
    """Whether priority ``one`` precedes ``two``; see :func:`_priority`."""
    for k in range(one.shape[0]):
        if one[k] != two[k]:
            return one[k] > two[k]
    return False


@_inner
def _fill_priority(
    rule: int,
    priority: NDArray[np.float64],
    reused: int,
    spilled: float,
    used: int,
    overhead: int,
    moved: int,
) -> None:
    """Fill in the priority of a set; larger is better, the first entry that differs decides.

    ``BENEFIT`` is section 4.3: memory benefit, then utilisation, then short memory operations.
    """
    if rule == MIN_TRANSFER:
        priority[0], priority[1], priority[2] = -moved, reused - spilled, used
    elif rule == MIN_SPILL:
        priority[0], priority[1], priority[2] = -spilled, reused, used
    else:
        priority[0], priority[1], priority[2] = reused - spilled, used, -overhead


@_inner
def _select(p: Problem, s: State, choice: Choice, chosen: Ints) -> int:
    """Fill in the set with the highest priority; return its size, 0 where nothing fits.

    Sets grow operation by operation; of each size the ``beam`` sets that reuse most are extended.
    """
    npus = p.latency.shape[1]
    window = np.zeros(choice.window + 8, np.int64)
    found = _candidates(p, s, choice.window, window)
    beam = np.zeros((npus + 1, choice.beam, npus), np.int64)
    score = np.zeros((npus + 1, choice.beam, 2), np.int64)
    maps = np.zeros((npus + 1, choice.beam), np.int64)
    width = np.zeros(npus + 1, np.int64)
    width[0] = 1
    trial = np.zeros(npus, np.int64)
    for level in range(1, npus + 1):
        for parent in range(width[level - 1]):
            for j in range(level - 1):
                trial[j] = beam[level - 1, parent, j]
            for k in range(found):
                op = window[k]
                is_free = True
                for j in range(level - 1):
                    if p.reads[trial[j], 2] == p.reads[op, 2]:
                        is_free = False
                if not is_free:
                    continue
                reused, new = score[level - 1, parent, 0], score[level - 1, parent, 1]
                for role in range(3):
                    tile = p.reads[op, role]
                    is_here = s.at[tile] >= 0
                    for j in range(level - 1):
                        is_here = is_here or p.reads[trial[j], role] == tile
                    if p.resident[tile]:
                        continue
                    if is_here:
                        reused += p.size[tile]
                    else:
                        new += p.size[tile]
                last = choice.beam - 1
                if width[level] == choice.beam and (
                    reused < score[level, last, 0]
                    or (reused == score[level, last, 0] and new >= score[level, last, 1])
                ):
                    continue
                trial[level - 1] = op
                found_map = _signature(p, s, trial, level)
                _offer(beam[level], score[level], maps[level], width, level, trial, found_map)
    best = np.full(3, -np.inf)
    value = np.zeros(3)
    for level in range(npus, 0, -1):
        size = 0
        for k in range(min(width[level], choice.trials)):
            reused = score[level, k, 0]
            if size and choice.priority == BENEFIT and reused < best[0]:
                break
            fits, spilled, used, overhead, moved = _judge(
                p, s, beam[level, k], level, choice.memory
            )
            if not fits:
                continue
            _fill_priority(choice.priority, value, reused, spilled, used, overhead, moved)
            if size == 0 or _is_better(choice.priority, value, best):
                size = level
                best[:] = value
                chosen[:level] = beam[level, k, :level]
        if size:
            return size
    return 0


@_inner
def _offer(
    beam: Ints,
    score: Ints,
    maps: Ints,
    width: Ints,
    level: int,
    trial: Ints,
    found_map: tuple[int, int, int],
) -> None:
    """Put a set among the best of its size, unless its dataflow map is there already."""
    key, reused, new = found_map
    count = width[level]
    for k in range(count):
        if maps[k] == key:
            return
    if count == beam.shape[0]:
        last = count - 1
        if score[last, 0] > reused or (score[last, 0] == reused and score[last, 1] <= new):
            return
        count -= 1
    k = count
    while k > 0 and (
        score[k - 1, 0] < reused or (score[k - 1, 0] == reused and score[k - 1, 1] > new)
    ):
        beam[k] = beam[k - 1]
        score[k] = score[k - 1]
        maps[k] = maps[k - 1]
        k -= 1
    beam[k] = trial
    score[k, 0], score[k, 1] = reused, new
    maps[k] = key
    width[level] = count + 1


@njit(cache=True)
def schedule_freely(p: Problem, choice: Choice, goal: Goal) -> tuple[int, State]:
    """Schedule operations out of order: in every step the set with the highest priority.

    Returns:
        ``DONE``, ``ABORTED`` (beyond the goal's limit) or ``STUCK`` (an operation does not fit).
    """
    s = _start(p, False)
    ops = p.reads.shape[0]
    _list_uses(p, s, np.arange(ops))
    chosen = np.zeros(p.latency.shape[1], np.int64)
    first = np.zeros(1, np.int64)
    while s.scalar[ISSUED] < ops:
        size = _select(p, s, choice, chosen)
        if size:
            _do(p, s, chosen, size, choice.memory)
        else:
            for o in range(ops):
                if _is_ready(p, s, o):
                    first[0] = o
                    break
            if _try_set(p, s, first, 1, choice.memory) == 0:
                return STUCK, s
        if _is_hopeless(p, s, goal):
            return ABORTED, s
    _end(p, s)
    return (ABORTED if _is_hopeless(p, s, goal) else DONE), s


def result_of(state: Any) -> tuple[int, int]:
    """Return makespan [cycle] and transferred bytes of a finished schedule."""
    return int(state.scalar[MAKESPAN]), int(state.scalar[BYTES])

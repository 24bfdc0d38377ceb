"""When transfers run: each waits for its channel and the last touch of the bytes it takes over.

This is how ``ir/tiles/hazards.py`` makes instructions wait. After its start-up a transfer has the
off-chip port for itself, in a gap or after all others: an estimate, for the machine shares it among
those that move. The clock tells the times of what is found.

Args:
    p: The problem.
    s: State of the schedule.
    kind: Of the event.
    subject: Number of its tile or operation.
    engine: Who works.
    start: When it begins [cycle].
    end: When it ends [cycle].
    clear: Whether sums start from zero.
    tile: Number of the tile.
    npu: Whose memory.
    address: Where it lay.
    first: First event that touched it.
    last: Last event that touched it.
    number: Of the event.
    ready: Not before this [cycle].
    cycles: How long it takes [cycle].
    bytes: How many it moves [byte].
"""

# pyright: reportArgumentType=false, reportReturnType=false

from .....ir.compiled import inner, small
from .arrays import (
    BYTES,
    EVENTS,
    FIRST,
    FREE,
    GAP_END,
    GAP_START,
    LAST,
    LAST_TOUCH,
    LOAD,
    MAKESPAN,
    MOVED,
    PLACEMENTS,
    RETRIEVE,
    ScheduleArrays,
    TilingArrays,
)


@small
def note(
    s: ScheduleArrays, kind: int, subject: int, engine: int, start: int, end: int, clear: int
) -> int:
    """Append an event and return its number."""
    number = s.scalar[EVENTS]
    s.scalar[EVENTS] = number + 1
    s.scalar[MAKESPAN] = max(s.scalar[MAKESPAN], end)
    if s.event.shape[0]:
        row = s.event[number]
        row[0], row[1], row[2] = kind, subject, engine
        row[3], row[4], row[5] = start, end, clear
    return number


@small
def leave_chip(s: ScheduleArrays, tile: int, npu: int, address: int, first: int, last: int) -> None:
    """Record a placement that has ended."""
    if s.event.shape[0] and first >= 0:
        row = s.placement[s.scalar[PLACEMENTS]]
        row[0], row[1], row[2], row[3], row[4] = tile, npu, address, first, last
        s.scalar[PLACEMENTS] += 1


@small
def touch(s: ScheduleArrays, tile: int, number: int, end: int) -> None:
    """Record that an event touches a placed tile."""
    row = s.tile[tile]
    if row[FIRST] < 0:
        row[FIRST] = number
    row[LAST] = number
    row[LAST_TOUCH] = max(row[LAST_TOUCH], end)


@inner
def _channel(s: ScheduleArrays, ready: int) -> int:
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


@inner
def _through_port(s: ScheduleArrays, side: int, ready: int, cycles: int) -> int:
    """Take a port for some cycles, from ``ready`` on; return when they end."""
    port = s.port[side]
    begin = max(ready, port[GAP_START])
    if begin + cycles <= port[GAP_END]:
        port[GAP_START] = begin + cycles
        return begin + cycles
    begin = max(ready, port[FREE])
    if begin > port[FREE]:
        port[GAP_START], port[GAP_END] = port[FREE], begin
    port[FREE] = begin + cycles
    return begin + cycles


@inner
def move(
    p: TilingArrays, s: ScheduleArrays, kind: int, tile: int, ready: int, cycles: int, bytes: int
) -> int:
    """Issue a transfer that may start at ``ready``; return when it ends."""
    channel = _channel(s, ready)
    start = max(s.dma[channel], ready)
    is_inwards = kind in (LOAD, RETRIEVE)
    side = 0 if is_inwards else p.sides - 1
    end = _through_port(s, side, start + p.startup, cycles)
    s.dma[channel] = end
    s.scalar[BYTES] += bytes
    s.scalar[MOVED] += cycles
    number = note(s, kind, tile, channel, start, end, 0)
    if tile >= 0:
        touch(s, tile, number, end)
    return end


@inner
def dma_free(s: ScheduleArrays) -> int:
    """Return when the first channel is free."""
    least = s.dma[0]
    for channel in range(1, s.dma.shape[0]):
        least = min(least, s.dma[channel])
    return least


@inner
def quiet_until(s: ScheduleArrays) -> int:
    """Return a time before which no event to come can start."""
    least = dma_free(s)
    for npu in range(s.mx.shape[0]):
        least = min(least, min(s.mx[npu], s.vx[npu]))
    return least

"""When transfers run: each waits for its channel and for the last touch of the bytes it takes over.

This is how ``ir/hazards.py`` makes instructions wait, so predicted times are the simulator's.
"""

# pyright: reportArgumentType=false, reportReturnType=false

from .arrays import BYTES, EVENTS, FIRST, LAST, LAST_TOUCH, MAKESPAN, STAYS, State
from .compiled import inner, small


@small
def note(s: State, kind: int, subject: int, engine: int, start: int, end: int, clear: int) -> int:
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
def leave_chip(s: State, tile: int, npu: int, address: int, first: int, last: int) -> None:
    """Record a stay that has ended."""
    if s.event.shape[0] and first >= 0:
        row = s.stay[s.scalar[STAYS]]
        row[0], row[1], row[2], row[3], row[4] = tile, npu, address, first, last
        s.scalar[STAYS] += 1


@small
def touch(s: State, tile: int, number: int, end: int) -> None:
    """Record that an event touches a placed tile."""
    row = s.tile[tile]
    if row[FIRST] < 0:
        row[FIRST] = number
    row[LAST] = number
    row[LAST_TOUCH] = max(row[LAST_TOUCH], end)


@inner
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


@inner
def move(s: State, kind: int, tile: int, ready: int, cycles: int, bytes: int) -> int:
    """Issue a transfer that may start at ``ready``; return when it ends."""
    channel = _channel(s, ready)
    end = max(s.dma[channel], ready) + cycles
    s.dma[channel] = end
    s.scalar[BYTES] += bytes
    number = note(s, kind, tile, channel, end - cycles, end, 0)
    if tile >= 0:
        touch(s, tile, number, end)
    return end


@inner
def dma_free(s: State) -> int:
    """Return when the first channel is free."""
    least = s.dma[0]
    for channel in range(1, s.dma.shape[0]):
        least = min(least, s.dma[channel])
    return least


@inner
def quiet_until(s: State) -> int:
    """Return a time before which no event to come can start."""
    least = dma_free(s)
    for npu in range(s.mx.shape[0]):
        least = min(least, min(s.mx[npu], s.vx[npu]))
    return least

"""When events run, as predicted while they are issued.

Each waits for its engine and for the memory that it touches. This is what the engine decides by;
the clock tells the times in the end (``timing/clock.py``). Here the off-chip port serves one
transfer at a time, with all that it has, and no other port is shared.
"""

# pyright: reportArgumentType=false, reportReturnType=false

import numpy as np

from .....ir.compiled import inner, small
from .arrays import (
    ALL_WAITS,
    AWAITED,
    BEGIN,
    COMPUTE,
    COUNT,
    DONE,
    DRAIN,
    ENDED,
    EVENT_CLEARS,
    EVENT_KIND,
    EVENT_WORK,
    EVENTS,
    FILL,
    FULL,
    LEAD,
    LENGTH,
    LOAD,
    QUEUE,
    RETRIEVE,
    SUBJECT,
    UNTIL,
    WAITS,
    RunArrays,
    TileArrays,
    TurnArrays,
)
from .gaps import first_gap, occupy


@inner
def queue_of(t: TileArrays, unit: int, npu: int) -> int:
    """Return the queue of an engine of an NPU.

    Args:
        t: Tiles and operations.
        unit: Number of the kind of engine.
        npu: Whose.
    """
    return t.channels + unit * t.npus + npu


@inner
def is_inward(kind: int) -> bool:
    """Whether events of a kind bring a tile in."""
    return kind in (LOAD, RETRIEVE)


@inner
def free_at(s: RunArrays, queue: int) -> int:
    """Return the cycle at which an engine has finished all its events so far."""
    return s.ends[queue, s.queues[queue, COUNT]]


@inner
def dma_channel(s: RunArrays, t: TileArrays) -> int:
    """Return the channel that is free first."""
    best = np.int64(0)
    for channel in range(1, t.channels):
        if free_at(s, channel) < free_at(s, best):
            best = channel
    return best


@inner
def append(
    s: RunArrays,
    t: TileArrays,
    o: TurnArrays,
    kind: int,
    subject: int,
    queue: int,
    work: int,
    clears: int,
) -> int:
    """Append an event as early as its engine and what it waits for allow; return its number.

    Args:
        s: The schedule; it knows what the event waits for, and forgets that.
        t: Tiles and operations.
        o: Their order.
        kind: Of the event.
        subject: Its tile or operation.
        queue: Its queue.
        work: What it does.
        clears: Whether sums start from zero.
    """
    number = s.scalars[EVENTS]
    if number + 1 == len(s.events):
        s.scalars[FULL] = 1
        return number - 1
    ready = _ready(s, queue)
    end = _run(s, t, o, kind, queue, ready, work)
    s.queues[queue, COUNT] += 1
    s.ends[queue, s.queues[queue, COUNT]] = end
    event = s.events[number]
    event[EVENT_KIND], event[SUBJECT], event[QUEUE] = kind, subject, queue
    event[EVENT_CLEARS], event[EVENT_WORK], event[UNTIL] = clears, work, end
    s.scalars[EVENTS] += 1
    s.events[number + 1, WAITS] = s.scalars[ALL_WAITS]
    return number


@small
def _ready(s: RunArrays, queue: int) -> int:
    """Return when all has ended that the next event waits for, and write that down.

    Its own queue is in order anyway.
    """
    ready = 0
    for other in range(len(s.queues)):
        tick = s.queues[other, AWAITED]
        s.queues[other, AWAITED] = 0
        if tick and other != queue:
            ready = max(ready, s.ends[other, tick])
            if s.scalars[ALL_WAITS] == len(s.waits):
                s.scalars[FULL] = 1
                s.scalars[ALL_WAITS] -= 1
            s.waits[s.scalars[ALL_WAITS], 0], s.waits[s.scalars[ALL_WAITS], 1] = other, tick
            s.scalars[ALL_WAITS] += 1
    return ready


@small
def _run(
    s: RunArrays, t: TileArrays, o: TurnArrays, kind: int, queue: int, ready: int, work: int
) -> int:
    """Return when an event ends; on the array, buffers fill while the one before computes."""
    what, last = o.works[work], s.queues[queue]
    if kind != COMPUTE:
        begin = max(ready, last[ENDED]) + what[LEAD]
        port = (t.ports - 1) * is_inward(kind)
        begin = first_gap(s.ports, port, begin, what[LENGTH])
        if not occupy(s.ports, port, begin, what[LENGTH]):
            s.scalars[FULL] = 1
        last[BEGIN], last[DONE] = begin, begin + what[LENGTH]
        last[ENDED] = last[DONE]
    elif queue < t.channels + t.npus:
        begin = max(max(ready, last[BEGIN]) + what[FILL], last[DONE])
        last[BEGIN], last[DONE] = begin, begin + what[LENGTH]
        last[ENDED] = max(last[DONE] + what[DRAIN], last[ENDED])
    else:
        begin = max(ready, last[ENDED]) + what[LEAD]
        last[BEGIN], last[DONE] = begin, begin + what[LENGTH]
        last[ENDED] = last[DONE]
    return last[ENDED]

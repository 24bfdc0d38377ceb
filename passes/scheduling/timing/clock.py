"""A clock for queues of tasks that wait for each other and share ports.

A queue starts its next task when the one before has ended. One that is *pipelined*, the MAC
array's, starts it when the one before has begun: it fills its buffers meanwhile, begins when they
are full and the array is free, and ends its tasks in order. Tasks wait for the ends of others.

From begin (or after the start-up) to done a task moves its bytes. Those that ask a port for more
than it has share it: all slow down alike until every port has enough, but no more than the ports
that they use make them (max-min fairness). Speeds change when some task begins or is done. Tasks
begin and are done at whole cycles. The loops are compiled.

References:
    Bertsekas, Gallager: Data Networks, 2nd edition, 1992, section 6.5.2 (max-min flow control).
"""

# Numba's compiled functions take scalars of NumPy, and give them back.
# pyright: reportArgumentType=false, reportReturnType=false

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....ir.compiled import entry, inner, maker

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_ERROR = 1e-6
"""What floats may add to an exact number of cycles."""

_OVER = 1.0 + 1e-9
"""A port that is asked for more has too little."""

_NEVER = 1 << 62

_AHEAD, _LENGTH, _AFTER = range(3)
"""Columns of tasks."""

_START, _BEGIN, _DONE, _END = range(4)
"""Columns of spans."""

_REST, _SPEED = range(2)
"""Columns of what moves bytes: what is left of it at full speed [cycle]; its speed, above 0 up to
1, or 0 while nothing is moved."""

_STARTED, _RIPE, _BEGUN, _LEFT, _ENDED, _RIPE_AT, _SINCE, _FINISH, _PIPELINED = range(9)
"""Columns of queues. How many of their first tasks have started, are past start-up or fill, have
begun, are done, have ended; when the last one that has started is ripe; from when on the one that
moves bytes has its speed, and when it is done at this speed; whether the queue is pipelined."""


class Shares(NamedTuple):
    """What tasks take of ports at full speed.

    Attributes:
        first: Of each task, which entry is its first one, and how many there are in all.
        port: Of each entry.
        part: Of each entry, above 0 up to 1.
    """

    first: Ints
    port: Ints
    part: Floats


class Tasks(NamedTuple):
    """The tasks of all queues, one queue after the other.

    Attributes:
        first: Which task is the first one of each queue, and how many there are in all.
        tasks: Of each task: from its start until it may begin to move bytes, which is start-up or
            fill; how long it moves bytes, if alone; from done to its end [cycle] ``[tasks, 3]``.
        waits_from: Of each task, which wait is its first one, and how many there are in all.
        waits: A queue, and how many of its first tasks must have ended ``[., 2]``.
        shares: What each task takes of the ports.
    """

    first: Ints
    tasks: Ints
    waits_from: Ints
    waits: Ints
    shares: Shares


class _Queues(NamedTuple):
    """All queues under way, one task after the other.

    Attributes:
        first: As of :class:`Tasks`.
        tasks: As there.
        waits_from: As there.
        waits: As there.
        shares: As there.
        lines: A row for each queue.
        moving: A row for each queue, of its task that moves bytes.
        asked: What is asked of each port.
        spans: When each task runs.
    """

    first: Ints
    tasks: Ints
    waits_from: Ints
    waits: Ints
    shares: Shares
    lines: Ints
    moving: Floats
    asked: Floats
    spans: Ints


def run_tasks(given: Tasks, pipelined: Sequence[bool], ports: int) -> Ints:
    """Return when tasks run: start, begin, done and end of each [cycle] ``[tasks, 4]``.

    Args:
        given: The tasks of each queue, in order.
        pipelined: For each queue, whether fill and drain hide behind its other tasks.
        ports: How many ports there are.

    Raises:
        ValueError: Queues wait for each other.
    """
    lines = np.zeros((len(pipelined), 9), np.int64)
    lines[:, _RIPE_AT] = lines[:, _FINISH] = _NEVER
    lines[:, _PIPELINED] = pipelined
    spans = np.zeros((len(given.tasks), 4), np.int64)
    moving, asked = np.zeros((len(lines), 2)), np.zeros(ports)
    if not _run(_Queues(*given, lines=lines, moving=moving, asked=asked, spans=spans)):
        raise ValueError("queues wait for each other")
    return spans


@entry
def _run(q: _Queues) -> bool:
    """Run all tasks; whether they come to an end."""
    is_slow = False
    now = 0
    while now < _NEVER:
        changed = _complete(q, now)
        goes_on = True
        while goes_on:
            _pass_time(q, now)
            changed |= _begin_all(q, now)
            goes_on = _start_all(q, now) or _next_change(q) == now
        if changed:
            is_slow = _share(q, now, is_slow)
        now = _next_change(q)
    for queue in range(len(q.lines)):
        if q.lines[queue, _ENDED] < q.first[queue + 1] - q.first[queue]:
            return False
    return True


@inner
def _next_change(q: _Queues) -> int:
    """Return when the next task is ripe, done or ends."""
    found = _NEVER
    for queue in range(len(q.lines)):
        line = q.lines[queue]
        found = min(found, line[_RIPE_AT], line[_FINISH], _next_end(q, queue))
    return found


@inner
def _next_end(q: _Queues, queue: int) -> int:
    """Return when the next task of a queue ends that is done."""
    line = q.lines[queue]
    if line[_ENDED] == line[_LEFT]:
        return _NEVER
    return q.spans[q.first[queue] + line[_ENDED], _END]


@inner
def _complete(q: _Queues, now: int) -> bool:
    """End the moves of tasks that are done; whether there are any."""
    found = False
    for queue in range(len(q.lines)):
        line = q.lines[queue]
        if line[_FINISH] <= now:
            task = q.first[queue] + line[_LEFT]
            _take(q.shares, task, q.asked, -1.0)
            line[_FINISH] = _NEVER
            q.moving[queue, _SPEED] = 0.0
            _leave(q, queue, now)
            found = True
    return found


@inner
def _leave(q: _Queues, queue: int, now: int) -> None:
    """Note that a task is done, and when it will end."""
    line = q.lines[queue]
    task = q.first[queue] + line[_LEFT]
    end = now + q.tasks[task, _AFTER]
    if line[_LEFT]:
        end = max(end, q.spans[task - 1, _END])
    q.spans[task, _DONE], q.spans[task, _END] = now, end
    line[_LEFT] += 1


@inner
def _pass_time(q: _Queues, now: int) -> None:
    """Note which tasks are ripe by now, and which have ended."""
    for queue in range(len(q.lines)):
        line = q.lines[queue]
        if line[_RIPE_AT] <= now:
            line[_RIPE] += 1
            line[_RIPE_AT] = _NEVER
        while _next_end(q, queue) <= now:
            line[_ENDED] += 1


@inner
def _begin_all(q: _Queues, now: int) -> bool:
    """Begin what is ripe, where no task moves bytes; whether any takes time."""
    found = False
    for queue in range(len(q.lines)):
        line = q.lines[queue]
        if line[_BEGUN] < line[_RIPE] and line[_BEGUN] == line[_LEFT]:
            found |= _begin(q, queue, now)
    return found


@inner
def _begin(q: _Queues, queue: int, now: int) -> bool:
    """Begin a task; whether it takes time."""
    line = q.lines[queue]
    task = q.first[queue] + line[_BEGUN]
    q.spans[task, _BEGIN] = now
    line[_BEGUN] += 1
    length = q.tasks[task, _LENGTH]
    if length == 0:
        _leave(q, queue, now)
        return False
    q.moving[queue, _REST], q.moving[queue, _SPEED] = length, 1.0
    line[_SINCE], line[_FINISH] = now, now + length
    _take(q.shares, task, q.asked, 1.0)
    return True


@inner
def _start_all(q: _Queues, now: int) -> bool:
    """Start what has its turn, and for which all has ended that it waits for; whether any has."""
    found = False
    for queue in range(len(q.lines)):
        line = q.lines[queue]
        free = line[_BEGUN] if line[_PIPELINED] else line[_ENDED]
        task = q.first[queue] + line[_STARTED]
        if line[_STARTED] == free and task < q.first[queue + 1] and _has_seen(q, task):
            q.spans[task, _START] = now
            line[_RIPE_AT] = now + q.tasks[task, _AHEAD]
            line[_STARTED] += 1
            found = True
    return found


@inner
def _has_seen(q: _Queues, task: int) -> bool:
    """Whether all that a task waits for has ended."""
    for wait in range(q.waits_from[task], q.waits_from[task + 1]):
        queue, count = q.waits[wait]
        if q.lines[queue, _ENDED] < count:
            return False
    return True


@maker
def _share(q: _Queues, now: int, was_slow: bool) -> bool:
    """Set all speeds anew; whether some port has too little."""
    is_slow = False
    for asked in q.asked:
        is_slow |= asked > _OVER
    if is_slow or was_slow:
        lines = q.lines
        moving = np.flatnonzero(lines[:, _BEGUN] > lines[:, _LEFT])
        speeds = np.ones(len(moving))
        fair_speeds(q.shares, q.first[moving] + lines[moving, _LEFT], speeds, len(q.asked))
        for number, queue in enumerate(moving):
            _set_speed(q, queue, now, speeds[number])
    return is_slow


@inner
def _set_speed(q: _Queues, queue: int, now: int, speed: float) -> None:
    """Let the task of a queue that moves bytes go on at another speed."""
    line, moving = q.lines[queue], q.moving[queue]
    if speed != moving[_SPEED]:
        moving[_REST] -= (now - line[_SINCE]) * moving[_SPEED]
        moving[_SPEED], line[_SINCE] = speed, now
        line[_FINISH] = now + max(0, math.ceil(moving[_REST] / speed - _ERROR))


@entry
def fair_speeds(shares: Shares, active: Ints, speeds: Floats, ports: int) -> None:
    """Find the speed of each active task, above 0 up to 1.

    All rise together; where a port is full, those that use it remain, and the others go on.

    Args:
        shares: Of all tasks.
        active: Numbers of those that are active.
        speeds: Where their speeds go; 1 at first.
        ports: How many ports there are.
    """
    left, rising = np.ones(ports), np.ones(len(active), np.bool_)
    while rising.any():
        asked = np.zeros(ports)
        for task in active[rising]:
            _take(shares, task, asked, 1.0)
        level, highest = 1.0, np.full(ports, math.inf)
        for port in range(ports):
            if asked[port] > 0.0:
                highest[port] = left[port] / asked[port]
                level = min(level, highest[port])
        if level >= 1.0 / _OVER:
            break
        is_full = highest <= level * _OVER
        for number, task in enumerate(active):
            if rising[number] and _uses(shares, task, is_full):
                speeds[number] = level
                rising[number] = False
                _take(shares, task, left, -level)


@inner
def _take(shares: Shares, task: int, ports: Floats, speed: float) -> None:
    """Add what a task takes of the ports at a speed."""
    for share in range(shares.first[task], shares.first[task + 1]):
        ports[shares.port[share]] += shares.part[share] * speed


@inner
def _uses(shares: Shares, task: int, ports: NDArray[np.bool_]) -> bool:
    """Whether a task takes anything of some ports."""
    for share in range(shares.first[task], shares.first[task + 1]):
        if ports[shares.port[share]]:
            return True
    return False

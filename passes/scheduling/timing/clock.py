"""A clock for queues of tasks that wait for each other and share ports.

A queue starts its next task when the one before has ended. One that is *pipelined*, the MAC
array's, starts it when the one before has begun: it fills its buffers meanwhile, begins when they
are full and the array is free, and ends its tasks in order. Tasks wait for the ends of others.

From begin (or after the start-up) to done a task moves its bytes. Those that ask a port for more
than it has share it: all slow down alike until every port has enough, but no more than the ports
that they use make them (max-min fairness). Speeds change when some task begins or is done. Tasks
begin and are done at whole cycles.

References:
    Bertsekas, Gallager: Data Networks, 2nd edition, 1992, section 6.5.2 (max-min flow control).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

_ERROR = 1e-6
"""What floats may add to an exact number of cycles."""

_OVER = 1.0 + 1e-9
"""A port that is asked for more has too little."""

_NEVER = math.inf


class Share(NamedTuple):
    """Which part of a port a task takes at full speed, above 0 up to 1."""

    port: int
    part: float


class Task(NamedTuple):
    """One entry of a queue.

    Attributes:
        waits: Which tasks must have ended before: (queue, how many of its first tasks) pairs.
        ahead: From its start until it may begin to move bytes: start-up, or fill [cycle].
        length: How long it moves bytes, if alone [cycle].
        after: From done to its end [cycle].
        shares: What it takes of the ports.
    """

    waits: tuple[tuple[int, int], ...] = ()
    ahead: int = 0
    length: int = 0
    after: int = 0
    shares: tuple[Share, ...] = ()


class Span(NamedTuple):
    """When a task runs [cycle]."""

    start: int
    begin: int
    done: int
    end: int


@dataclass(slots=True)
class _Line:
    """A queue under way; counts of its first tasks that have come so far, and their times.

    Attributes:
        tasks: The queue.
        pipelined: Whether the next one starts when one has begun.
        ripe: Those that are past start-up or fill.
        left: Of the task that moves bytes, what is left at full speed at ``since`` [cycle].
        speed: Its speed since then, above 0 up to 1; 0 while nothing is moved.
        finish: When it is done at this speed [cycle].
    """

    tasks: Sequence[Task]
    pipelined: bool
    starts: list[int] = field(default_factory=list[int])
    begins: list[int] = field(default_factory=list[int])
    dones: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    ripe: int = 0
    left: float = 0.0
    since: int = 0
    speed: float = 0.0
    finish: float = _NEVER

    @property
    def is_moving(self) -> bool:
        """Whether a task has begun and is not done."""
        return len(self.begins) > len(self.dones)

    def upcoming(self, ended: int) -> Task | None:
        """Return the next task if it has its turn; others may still keep it waiting.

        Args:
            ended: How many of the queue's tasks have ended.
        """
        started = len(self.starts)
        free = len(self.begins) if self.pipelined else ended
        return self.tasks[started] if started == free and started < len(self.tasks) else None

    @property
    def is_ripe(self) -> bool:
        """Whether the next task can begin."""
        return len(self.begins) < self.ripe and not self.is_moving

    def set_speed(self, speed: float, now: int) -> None:
        """Go on at another speed."""
        self.left -= (now - self.since) * self.speed
        self.since, self.speed = now, speed
        self.finish = now + max(0, math.ceil(self.left / speed - _ERROR))


@dataclass(slots=True)
class Clock:
    """Runs queues of tasks; local to one run.

    Attributes:
        queues: The tasks of each queue, in order.
        pipelined: For each queue, whether fill and drain hide behind its other tasks.
        ports: How many ports there are.
    """

    queues: Sequence[Sequence[Task]]
    pipelined: Sequence[bool]
    ports: int
    _lines: list[_Line] = field(default_factory=list[_Line])
    _ended: list[int] = field(default_factory=list[int])
    _heap: list[tuple[int, int, bool]] = field(default_factory=list[tuple[int, int, bool]])
    _asked: list[float] = field(default_factory=list[float])
    _is_slow: bool = False
    _speeds: dict[tuple[tuple[Share, ...], ...], list[float]] = field(
        default_factory=dict[tuple[tuple[Share, ...], ...], list[float]]
    )

    def run(self) -> list[list[Span]]:
        """Return when the tasks of each queue run.

        Raises:
            ValueError: Queues wait for each other.
        """
        self._lines = [
            _Line(tasks, pipelined)
            for tasks, pipelined in zip(self.queues, self.pipelined, strict=True)
        ]
        self._asked = [0.0] * self.ports
        self._ended = [0] * len(self.queues)
        now = 0
        while True:
            self._settle(now)
            finish = min([line.finish for line in self._lines], default=_NEVER)
            upcoming = min(finish, self._heap[0][0]) if self._heap else finish
            if upcoming == _NEVER:
                break
            now = int(upcoming)
        if self._ended != [len(tasks) for tasks in self.queues]:
            raise ValueError("queues wait for each other")
        return [
            [Span(*times) for times in zip(*spans, strict=True)]
            for spans in ((line.starts, line.begins, line.dones, line.ends) for line in self._lines)
        ]

    def _settle(self, now: int) -> None:
        """Let everything happen that happens at a time; then share the ports."""
        changed = False
        for number, line in enumerate(self._lines):
            if line.finish <= now:
                self._complete(number, line, now)
                changed = True
        goes_on = True
        while goes_on:
            while self._is_due(now):
                _, number, has_ended = heappop(self._heap)
                if has_ended:
                    self._ended[number] += 1
                else:
                    self._lines[number].ripe += 1
            for number, line in enumerate(self._lines):
                while line.is_ripe:
                    changed |= self._begin(number, line, now)
            goes_on = self._start_all(now) or self._is_due(now)
        if changed:
            self._share(now)

    def _is_due(self, now: int) -> bool:
        return bool(self._heap) and self._heap[0][0] == now

    def _start_all(self, now: int) -> bool:
        """Start what can start; return whether anything did."""
        found = False
        for number, line in enumerate(self._lines):
            task = line.upcoming(self._ended[number])
            if task is not None and self._has_seen(task.waits):
                line.starts.append(now)
                heappush(self._heap, (now + task.ahead, number, False))
                found = True
        return found

    def _has_seen(self, waits: Iterable[tuple[int, int]]) -> bool:
        """Whether all that a task waits for has ended; a loop, as nothing is asked more often."""
        ended = self._ended
        for queue, count in waits:  # noqa: SIM110
            if ended[queue] < count:
                return False
        return True

    def _begin(self, number: int, line: _Line, now: int) -> bool:
        """Begin a task; return whether it takes time."""
        task = line.tasks[len(line.begins)]
        line.begins.append(now)
        if not task.length:
            self._leave(number, line, now)
            return False
        line.left, line.since, line.speed = float(task.length), now, 1.0
        line.finish = now + task.length
        for port, part in task.shares:
            self._asked[port] += part
        return True

    def _complete(self, number: int, line: _Line, now: int) -> None:
        for port, part in line.tasks[len(line.dones)].shares:
            self._asked[port] -= part
        line.speed, line.finish = 0.0, _NEVER
        self._leave(number, line, now)

    def _leave(self, number: int, line: _Line, now: int) -> None:
        after = line.tasks[len(line.dones)].after
        line.dones.append(now)
        line.ends.append(max([now + after, *line.ends[-1:]]))
        heappush(self._heap, (line.ends[-1], number, True))

    def _share(self, now: int) -> None:
        """Set all speeds anew."""
        is_over = any(asked > _OVER for asked in self._asked)
        if not is_over and not self._is_slow:
            return
        self._is_slow = is_over
        moving = [line for line in self._lines if line.is_moving]
        active = tuple(line.tasks[len(line.dones)].shares for line in moving)
        speeds = self._speeds.get(active)
        if speeds is None:
            speeds = self._speeds[active] = fair_speeds(active, self.ports)
        for line, speed in zip(moving, speeds, strict=True):
            if speed != line.speed:
                line.set_speed(speed, now)


def fair_speeds(active: Sequence[tuple[Share, ...]], ports: int) -> list[float]:
    """Return the speed of each active task, above 0 up to 1.

    All rise together; where a port is full, those that use it remain, and the others go on.

    Args:
        active: What each takes of the ports at full speed.
        ports: How many ports there are.
    """
    speeds = [1.0] * len(active)
    left = [1.0] * ports
    rising = set(range(len(active)))
    while rising:
        asked = [0.0] * ports
        for number in sorted(rising):
            for port, part in active[number]:
                asked[port] += part
        level = min((left[port] / asked[port] for port in range(ports) if asked[port]), default=1.0)
        if level >= 1.0 / _OVER:
            break
        full = {p for p in range(ports) if asked[p] and left[p] / asked[p] <= level * _OVER}
        stopped = [n for n in sorted(rising) if any(port in full for port, _ in active[n])]
        for number in stopped:
            speeds[number] = level
            for port, part in active[number]:
                left[port] -= part * level
        rising.difference_update(stopped)
    return speeds

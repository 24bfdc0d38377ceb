"""When instructions run: discrete events over the queues and their waits."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from ..ir.errors import SimulationError
from ..ir.isa import Wait
from ..ir.latency import cycles
from ..ir.program import Program


@dataclass(frozen=True, slots=True)
class Issue:
    """One instruction that starts.

    Attributes:
        queue: Number of its queue.
        position: Its position there.
        start: When it starts [cycle].
        end: When it retires [cycle].
    """

    queue: int
    position: int
    start: int
    end: int


def issues(program: Program, *, seed: int | None = None) -> Iterator[Issue]:
    """Yield every instruction once, in an order that queues and waits allow.

    Without a seed the order is that of the start times, ties by queue number. With one it is
    drawn at random among all legal orders' next steps; the times are the same.

    Raises:
        SimulationError: The queues wait for each other; says what each waits for.
    """
    progress = _Progress(program)
    ready = _ByTime() if seed is None else _AtRandom(seed)
    for queue in range(len(program.queues)):
        progress.offer(queue, ready)
    while ready:
        start, queue = ready.take()
        yield progress.retire(queue, start)
        for other in progress.woken(queue):
            progress.offer(other, ready)
    if progress.unfinished:
        raise SimulationError(_deadlock(program, progress))


class _ByTime:
    """Ready queues, earliest start first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int]] = []

    def __bool__(self) -> bool:
        return bool(self._heap)

    def put(self, start: int, queue: int) -> None:
        heappush(self._heap, (start, queue))

    def take(self) -> tuple[int, int]:
        return heappop(self._heap)


class _AtRandom:
    """Ready queues in random order."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._entries: list[tuple[int, int]] = []

    def __bool__(self) -> bool:
        return bool(self._entries)

    def put(self, start: int, queue: int) -> None:
        self._entries.append((start, queue))

    def take(self) -> tuple[int, int]:
        chosen = self._random.randrange(len(self._entries))
        self._entries[chosen], self._entries[-1] = self._entries[-1], self._entries[chosen]
        return self._entries.pop()


class _Progress:
    """How far each queue is.

    Attributes:
        ends: Per queue, when each instruction that has started retires [cycle].
        watchers: Per queue, those that wait for it: (count, queue).
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.streams = [queue.instructions for queue in program.queues]
        self.ends: list[list[int]] = [[] for _ in self.streams]
        self.watchers: list[list[tuple[int, int]]] = [[] for _ in self.streams]

    @property
    def unfinished(self) -> bool:
        """Whether a queue has instructions left."""
        return any(
            len(ends) < len(stream) for ends, stream in zip(self.ends, self.streams, strict=True)
        )

    def offer(self, queue: int, ready: _ByTime | _AtRandom) -> None:
        """Make a queue ready if its next instruction's start is known, else let it watch."""
        ends = self.ends[queue]
        position = len(ends)
        if position == len(self.streams[queue]):
            return
        start = ends[-1] if ends else 0
        for wait in self.streams[queue][position].waits:
            others = self.ends[wait.queue]
            if len(others) < wait.count:
                self.watchers[wait.queue].append((wait.count, queue))
                return
            start = max(start, others[wait.count - 1])
        ready.put(start, queue)

    def retire(self, queue: int, start: int) -> Issue:
        """Start the next instruction of a queue."""
        ends = self.ends[queue]
        position = len(ends)
        instruction = self.streams[queue][position]
        end = start + cycles(instruction, self.program.arch, self.program.profiles)
        ends.append(end)
        return Issue(queue, position, start, end)

    def woken(self, queue: int) -> list[int]:
        """Return the queue itself and those whose wait for it is met, and forget these."""
        watchers = self.watchers[queue]
        if not watchers:
            return [queue]
        done = len(self.ends[queue])
        met = [other for count, other in watchers if count <= done]
        if met:
            watchers[:] = [entry for entry in watchers if entry[0] > done]
        return [queue, *met]


def _deadlock(program: Program, progress: _Progress) -> str:
    lines = ["deadlock: no queue can go on"]
    for number, queue in enumerate(program.queues):
        position = len(progress.ends[number])
        if position == len(queue.instructions):
            continue
        instruction = queue.instructions[position]
        unmet = ", ".join(
            _unmet(program, progress, wait)
            for wait in instruction.waits
            if len(progress.ends[wait.queue]) < wait.count
        )
        kind = type(instruction).__name__.lower()
        lines.append(f"  {queue.name}[{position}] {kind} waits for {unmet}")
    return "\n".join(lines)


def _unmet(program: Program, progress: _Progress, wait: Wait) -> str:
    done = len(progress.ends[wait.queue])
    return f"{program.queues[wait.queue].name} >= {wait.count} (is {done})"

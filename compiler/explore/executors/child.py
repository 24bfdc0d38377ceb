"""A process that answers tasks: ended where it takes too long, replaced where it died.

Every executor lets tasks run in such processes, so that what a task can do to its process - run
without end, take all memory, crash - has the same outcome everywhere. Some tasks wait in the pipe
of the process while it answers one, so that it need not wait for whoever asks.
"""

import itertools
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...mapping.process import ProcessDied, WorkerProcess
from ..work.outcome import TaskOutcome, TaskStatus
from ..work.question import StudyTask

_SENT = 3
"""Tasks that a process has at most: one that it answers, and those that wait."""


@dataclass
class Child:
    """One process at a time; it starts with the first task."""

    process: WorkerProcess | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_closed: bool = False

    def answer(self, task: StudyTask) -> TaskOutcome:
        """Return the outcome of a task; a task whose process dies is tried again."""
        ((_, outcome),) = self.answers([task])
        return outcome

    def answers(self, tasks: Iterable[StudyTask]) -> Iterator[tuple[StudyTask, TaskOutcome]]:
        """Yield tasks with their outcomes, in their order.

        A task whose process dies is tried again, and those that waited behind it are sent to
        another process. Tasks are taken when the pipe can hold them.
        """
        waiting = _Waiting(iter(tasks))
        deaths = 0
        while waiting.are_left():
            process, late = self._started(), threading.Event()
            sent: deque[StudyTask] = deque()
            try:
                while not late.is_set() and _fill(process, sent, waiting):
                    outcome = _received(process, sent[0], late)
                    deaths = 0
                    yield sent.popleft(), outcome
            except ProcessDied:
                self._replace(process)
                first, deaths = sent.popleft(), deaths + 1
                if not late.is_set() and deaths <= first.retries and not self.is_closed:
                    sent.appendleft(first)
                else:
                    deaths = 0
                    yield first, _ended(first, late=late.is_set(), closed=self.is_closed)
            else:
                if late.is_set():  # its time was over just when it had answered
                    self._replace(process)
            waiting.put_back(sent)

    def close(self) -> None:
        """End the process, also at work."""
        with self.lock:
            self.is_closed = True
            if self.process is not None:
                self.process.stop()
                self.process = None

    def _started(self) -> WorkerProcess | None:
        with self.lock:
            if self.process is None and not self.is_closed:
                self.process = WorkerProcess()
            return self.process

    def _replace(self, process: WorkerProcess | None) -> None:
        with self.lock:
            if process is not None and self.process is process:
                process.stop()
                self.process = None


@dataclass
class _Waiting:
    """Tasks that no process has; they are taken from their source one by one."""

    source: Iterator[StudyTask]
    taken: deque[StudyTask] = field(default_factory=deque[StudyTask])

    def are_left(self) -> bool:
        if not self.taken:
            self.taken.extend(itertools.islice(self.source, 1))
        return bool(self.taken)

    def put_back(self, tasks: deque[StudyTask]) -> None:
        self.taken.extendleft(reversed(tasks))


def _fill(process: WorkerProcess | None, sent: deque[StudyTask], waiting: _Waiting) -> bool:
    """Send tasks while the pipe holds fewer than it may; return whether any is to be answered."""
    while len(sent) < _SENT and waiting.are_left():
        task = waiting.taken.popleft()
        sent.append(task)
        if process is None:
            raise ProcessDied("closed")
        process.send(task)
    return bool(sent)


def _received(process: WorkerProcess | None, task: StudyTask, late: threading.Event) -> TaskOutcome:
    """Return the next outcome of a process, which ends when the time of the task is over."""
    assert process is not None

    def end() -> None:
        late.set()
        process.interrupt()

    timer = threading.Timer(task.timeout, end)
    timer.daemon = True
    timer.start()
    try:
        return process.receive()
    finally:
        timer.cancel()


def _ended(task: StudyTask, *, late: bool, closed: bool) -> TaskOutcome:
    """Return the outcome of a task that its process did not survive."""
    if late:
        return TaskOutcome(status=TaskStatus.TIMED_OUT, cause=f"no answer in {task.timeout:g} s")
    cause = "the executor was closed" if closed else "the process that answered it died"
    return TaskOutcome(status=TaskStatus.DIED, cause=cause)

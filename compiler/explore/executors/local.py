"""Processes on this machine."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TypeAlias

from ..work.outcome import TaskOutcome
from ..work.question import StudyTask
from .child import Child

_Answered: TypeAlias = "tuple[StudyTask, TaskOutcome] | Exception"


@dataclass
class LocalExecutor:
    """Answers tasks in several processes, each asked by a thread.

    Attributes:
        processes: How many, at least one.
    """

    processes: int
    children: list[Child] = field(default_factory=list[Child])

    def __post_init__(self) -> None:
        self.children = [Child() for _ in range(self.processes)]

    def run(self, tasks: Sequence[StudyTask]) -> Iterator[tuple[StudyTask, TaskOutcome]]:
        """Yield every task with its outcome, as they come."""
        waiting, answered = deque(tasks), SimpleQueue[_Answered]()
        threads = ThreadPoolExecutor(self.processes)
        is_over = False
        try:
            for child in self.children:
                threads.submit(_ask, child, waiting, answered)
            for _ in tasks:
                found = answered.get()
                if isinstance(found, Exception):
                    raise found
                yield found
            is_over = True
        finally:
            waiting.clear()
            if not is_over:
                self.close()
            threads.shutdown(wait=True)

    def close(self) -> None:
        """End all processes."""
        for child in self.children:
            child.close()


def _ask(child: Child, waiting: deque[StudyTask], answered: SimpleQueue[_Answered]) -> None:
    """Let a child answer what waits; an error of the asking itself is handed on."""
    try:
        for pair in child.answers(_taken(waiting)):
            answered.put(pair)
    except Exception as error:
        answered.put(error)


def _taken(waiting: deque[StudyTask]) -> Iterator[StudyTask]:
    """Take tasks from what several children share."""
    while True:
        try:
            yield waiting.popleft()
        except IndexError:
            return

"""What answers tasks: outcomes come in any order, and never an exception of a task."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from ..work.outcome import TaskOutcome
from ..work.question import StudyTask


class Executor(Protocol):
    """Answers tasks; equal tasks have equal outcomes, whoever answers them."""

    def run(self, tasks: Sequence[StudyTask]) -> Iterator[tuple[StudyTask, TaskOutcome]]:
        """Yield every task with its outcome, as they come."""
        ...

    def close(self) -> None:
        """End everything that was started, also what is at work."""
        ...

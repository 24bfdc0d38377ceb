"""Questions that other processes are asked, and that end them or keep them busy.

A process imports the module of what it is asked, so this one imports next to nothing.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from accnn.compiler.explore.work.outcome import TaskOutcome, TaskStatus
from accnn.passes.helpers import Helped


@dataclass(frozen=True)
class Dying:
    """Ends its process; only the first time where ``once`` names a file to remember it by."""

    key: str
    once: Path | None = None

    def outcome(self) -> TaskOutcome:
        if self.once is None or not self.once.exists():
            if self.once is not None:
                self.once.touch()
            os._exit(7)
        return TaskOutcome(status=TaskStatus.OK, cycles=1.0)


@dataclass(frozen=True)
class Endless:
    """Takes longer than any test waits."""

    key: str

    def outcome(self) -> TaskOutcome:
        time.sleep(600)
        return TaskOutcome(status=TaskStatus.OK)


@dataclass(frozen=True)
class Broken:
    """Fails with an error that is no verdict."""

    key: str

    def outcome(self) -> TaskOutcome:
        raise ValueError("a defect")


@dataclass(frozen=True)
class Doubling:
    """Asks for the double of a number; of a negative one, the process ends."""

    number: int

    def answer(self) -> Helped[int]:
        if self.number < 0:
            os._exit(7)
        return Helped(2 * self.number)


@dataclass(frozen=True)
class Sleeper:
    """A question that takes its time."""

    seconds: float

    def answer(self) -> int:
        time.sleep(self.seconds)
        return 0

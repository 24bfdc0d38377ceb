"""Questions that other processes are asked: made-up ones, and some that end a process.

A process imports the module of what it is asked, so this one imports next to nothing.
"""

import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from accnn.compiler.explore.work.outcome import TaskOutcome, TaskStatus
from accnn.ir.arch import Architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.workload import Workload
from accnn.passes.helpers import Helped


@dataclass(frozen=True)
class MadeUp:
    """Figures that follow from sizes at once; tiny machines are infeasible."""

    workload: Workload
    arch: Architecture
    sleeps: float = 0.0

    @property
    def key(self) -> str:
        return hashlib.sha256(repr((self.workload, self.arch)).encode()).hexdigest()

    def outcome(self) -> TaskOutcome:
        time.sleep(self.sleeps)
        capacity = self.arch.scratchpad_level.capacity or 0
        if (capacity, self.arch.fanout("pe").size) == (65536, 16):
            raise InfeasibleError("nothing fits")
        macs = float(self.workload.macs)
        return TaskOutcome(
            status=TaskStatus.OK,
            cycles=macs / self.arch.fanout("pe").size,
            energy_pj=macs + capacity / 7,
            offchip_bytes=float(2**20 / capacity),
        )


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

"""What users see while a tool works: one line on a terminal, a line now and then elsewhere."""

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from ...report.operator_table import shorten
from ...stopwatch import Observer, unobserved
from ..verbosity import Verbosity

_EVERY = 10.0
"""Between two lines where stderr is no terminal [s]."""
_LONGEST_NAME = 32
"""Characters of what a step is at, on a terminal."""


@contextmanager
def shown_progress(tool: str, verbosity: Verbosity = Verbosity.NORMAL) -> Generator[Observer]:
    """Give an observer that tells on stderr how far the work is.

    On a terminal that is one line, wiped at the end; elsewhere a line every ten seconds.

    Args:
        tool: Its name, for the lines.
        verbosity: Nothing is said where it is quiet; a line per step where it is verbose.
    """
    console = Console(stderr=True)
    if verbosity is Verbosity.QUIET:
        yield unobserved
    elif verbosity is Verbosity.VERBOSE:
        yield ProgressLines(tool, _to_stderr, each_step=True).observe
    elif console.is_terminal:
        with _drawn(console) as observe:
            yield observe
    else:
        lines = ProgressLines(tool, _to_stderr)
        with _now_and_then(lines.tell):
            yield lines.observe


@dataclass
class ProgressLines:
    """How far the work is, as lines of text.

    Attributes:
        tool: How lines begin.
        write: Takes a line.
        each_step: Whether there is a line for each step as it begins.
        clock: Tells the time [s].
    """

    tool: str
    write: Callable[[str], None]
    each_step: bool = False
    clock: Callable[[], float] = time.monotonic
    _step: str = "start"
    _at: str = ""
    _done: int = 0
    _total: int = 0
    _began: float = field(init=False)
    _step_began: float = field(init=False)
    _done_since: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self._step_began = self._done_since = self.clock()

    def observe(self, step: str, done: int, total: int) -> None:
        """Take note of how far the work is.

        Args:
            step: What runs, and what it is at.
            done: How much of it is done.
            total: How much there is; 0 where nobody knows.
        """
        name, _, at = step.partition(": ")
        begins = name != self._step
        if begins:
            self._step_began = self.clock()
        if begins or done != self._done:
            self._done_since = self.clock()
        self._step, self._at, self._done, self._total = name, at, done, total
        if begins and self.each_step:
            self.tell()

    def tell(self) -> None:
        """Write a line: ``acc-compile: 40 s: map-operators 5 of 21, about 30 s left: conv6``.

        The time that is left follows from what is done; it falls until more is done, and nothing
        is said of it once it is over.
        """
        now = self.clock()
        shown = f"{self.tool}: {now - self._began:.0f} s: {self._step}"
        if self._total:
            shown += f" {self._done} of {self._total}"
        if 0 < self._done < self._total:
            each = (self._done_since - self._step_began) / self._done
            left = each * (self._total - self._done) - (now - self._done_since)
            shown += f", about {left:.0f} s left" if left > 0 else ""
        if self._at:
            shown += f": {_visible(self._at)}"
        self.write(f"{shown}\n")


@contextmanager
def _now_and_then(tell: Callable[[], None]) -> Generator[None]:
    """Call something every ten seconds, also while a solver is at work."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(_EVERY):
            tell()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _visible(name: str) -> str:
    """Return a name of the network without what a terminal would act on."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _to_stderr(line: str) -> None:
    sys.stderr.write(line)
    sys.stderr.flush()


@contextmanager
def _drawn(console: Console) -> Generator[Observer]:
    """Give an observer that draws one line, and wipe it at the end."""
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description:<24}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[at]}", markup=False),
        console=console,
        transient=True,
    ) as progress:
        task = progress.add_task("start", total=None, at="")

        def observe(step: str, done: int, total: int) -> None:
            name, _, at = step.partition(": ")
            shown = f"{name} {done}/{total}" if total else name
            progress.update(
                task,
                description=shown,
                completed=done,
                total=total or None,
                at=shorten(_visible(at), _LONGEST_NAME),
            )

        yield observe

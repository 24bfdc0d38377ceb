"""Name and time the steps of a compilation, and tell an observer about them."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeAlias

from ..ir.report import PassRun

Observer: TypeAlias = Callable[[str, int, int], None]
"""Called as ``observer(step, done, total)``; ``total`` is 0 where the length is unknown.

Behind a colon and a space ``step`` says what it is at: ``map-operators: Conv node 'conv1'``.
"""


def unobserved(step: str, done: int, total: int) -> None:
    """Tell nobody.

    Args:
        step: What runs.
        done: How much of it is done.
        total: How much there is; 0 where nobody knows.
    """


class Stopwatch:
    """The steps that have run so far, with their seconds."""

    def __init__(self, observer: Observer = unobserved) -> None:
        self._observer = observer
        self._runs: list[PassRun] = []

    @property
    def runs(self) -> tuple[PassRun, ...]:
        """Steps in the order in which they ended."""
        return tuple(self._runs)

    @contextmanager
    def step(self, name: str) -> Generator[None]:
        """Time what happens inside the ``with``."""
        self._observer(name, 0, 0)
        start = time.perf_counter()
        yield
        self.add(name, time.perf_counter() - start)

    def add(self, name: str, seconds: float) -> None:
        """Record a step that was timed elsewhere."""
        self._runs.append(PassRun(name, seconds))

    def progress(self, step: str, done: int, total: int) -> None:
        """Pass progress inside a step on to the observer.

        Args:
            step: What runs.
            done: How much of it is done.
            total: How much there is; 0 where nobody knows.
        """
        self._observer(step, done, total)

"""Results that are computed and not yet visible: those of instructions that have not retired."""

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Result: TypeAlias = tuple[Array, Array]
"""Elements in memory, and what they become."""


class PendingResults:
    """The results of one queue's instructions between beginning and retirement, in order."""

    def __init__(self) -> None:
        self._instructions: deque[list[Result]] = deque()

    @contextmanager
    def next_instruction(self) -> Generator[None, None, None]:
        """Let the next instruction of the queue execute: it sees what those before it made."""
        before = [result for results in self._instructions for result in results]
        hidden = [(target, target.copy()) for target, _ in before]
        _write(before)
        self._instructions.append([])
        try:
            yield
        finally:
            # each copy was made before any was written, so the order does not matter
            _write(hidden)

    def buffer_for(self, target: Array) -> Array:
        """Return an array to fill, which becomes the content of ``target`` at retirement."""
        values = np.empty(target.shape, target.dtype)
        self.put(target, values)
        return values

    def put(self, target: Array, values: Array) -> None:
        """Let ``values``, which nobody changes, become the content of ``target`` at retirement."""
        self._instructions[-1].append((target, values))

    def retire(self) -> None:
        """Make the results of the oldest instruction visible."""
        _write(self._instructions.popleft())


def _write(results: list[Result]) -> None:
    for target, values in results:
        target[...] = values

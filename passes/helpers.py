"""Questions that other processes may answer before they are asked here.

::

    asked ahead    A B C          ->    one helper A.. C...., another one B.....
    asked          A, then B, C   ->    known

Who is asked ahead decides no result: what no helper answered is worked out where it is needed.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias


class HelperQuestion(Protocol):
    """What a helper is asked; it can be pickled, and so can its answer."""

    def answer(self) -> object:
        """Return the answer, ``None`` where no time is left for it."""
        ...


Helpers: TypeAlias = Callable[[Sequence[HelperQuestion]], tuple[object | None, ...]]
"""Answers questions that do not depend on each other; ``None`` stands for one without an answer."""


def nobody(questions: Sequence[HelperQuestion]) -> tuple[None, ...]:
    """Answer nothing: there are no helpers; a :data:`Helpers`.

    Args:
        questions: What is asked.
    """
    return (None,) * len(questions)

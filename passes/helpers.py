"""Questions that other processes may answer before they are asked here.

::

    asked ahead    A B C          ->    one helper A.. C...., another one B.....
    asked          A, then B, C   ->    known

Who is asked ahead decides no result: what no helper answered is worked out where it is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Helped(Generic[A_co]):
    """What a helper found, which may be that there is nothing.

    Attributes:
        found: What it is.
    """

    found: A_co


class HelperQuestion(Protocol[A_co]):
    """What a helper is asked; it can be pickled, and so can its answer."""

    def answer(self) -> Helped[A_co] | None:
        """Return the answer, ``None`` where no time is left for it."""
        ...


class Helpers(Protocol):
    """Answer questions that do not depend on each other."""

    def __call__(self, questions: Sequence[HelperQuestion[A]], /) -> tuple[Helped[A] | None, ...]:
        """Return the answers; ``None`` stands for one without an answer.

        Args:
            questions: What is asked.
        """
        ...


def nobody(questions: Sequence[HelperQuestion[A]]) -> tuple[Helped[A] | None, ...]:
    """Answer nothing: there are no helpers; a :class:`Helpers`.

    Args:
        questions: What is asked.
    """
    return (None,) * len(questions)

"""What a task asks: something that answers itself, in any process on any machine."""

import time
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ....ir.errors import InfeasibleError
from .outcome import TaskOutcome, TaskStatus


class Asked(Protocol):
    """A kind of question."""

    @property
    def key(self) -> str:
        """Digest of everything that the answer depends on."""
        ...

    def outcome(self) -> TaskOutcome:
        """Return what comes of it.

        Raises:
            AccnnError: Nothing fits, or it cannot be answered.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTask:
    """A question with its digest.

    Attributes:
        key: Digest of everything that the answer depends on.
        label: The question in a line, for people.
        asked: The question.
        timeout: Limit [s].
        retries: How often it is asked again when a process dies of it.
    """

    key: str
    label: str
    asked: Asked
    timeout: float
    retries: int

    def answer(self) -> TaskOutcome:
        """Return what comes of it; what goes wrong is an outcome, too."""
        started = time.perf_counter()
        outcome = self._outcome()
        return replace(outcome, seconds=time.perf_counter() - started)

    def _outcome(self) -> TaskOutcome:
        try:
            return self.asked.outcome()
        except InfeasibleError as error:
            return TaskOutcome(status=TaskStatus.INFEASIBLE, cause=str(error))
        except Exception as error:  # a defect of one mapper must not end a study of thousands
            return TaskOutcome(status=TaskStatus.FAILED, cause=_cause(error))


def _cause(error: Exception) -> str:
    """Return what went wrong and where, without a path of this machine."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}, in {place.name}"
    return f"{type(error).__name__}: {error} ({where})"

"""What the workers of an engine run: each of their threads answers in a process of its own."""

import atexit
import threading

from ..work.outcome import TaskOutcome
from ..work.question import StudyTask
from .child import Child

_HERE = threading.local()


def answer_on_worker(task: StudyTask) -> TaskOutcome:
    """Return the outcome of a task; called in a worker of an engine."""
    child: Child | None = getattr(_HERE, "child", None)
    if child is None:
        child = _HERE.child = Child()
        atexit.register(child.close)
    return child.answer(task)

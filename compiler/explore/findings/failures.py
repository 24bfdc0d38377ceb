"""What did not end well, by cause."""

from collections import Counter
from dataclasses import dataclass

from ..results.database import Database
from ..work.outcome import TaskStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A cause.

    Attributes:
        kind: ``point`` for an architecture that was not looked at, or how a task ended.
        cause: In a sentence.
        count: How many points or tasks.
        example: One of them.
    """

    kind: str
    cause: str
    count: int
    example: str


def failures(database: Database) -> tuple[Failure, ...]:
    """Return all causes, the most frequent first."""
    found = [
        (("point", point.cause), point.values) for point in database.points() if point.cause
    ] + [
        ((str(task.outcome.status), task.outcome.cause), task.label)
        for task in database.tasks()
        if task.outcome is not None and task.outcome.status is not TaskStatus.OK
    ]
    counts = Counter(key for key, _ in found)
    examples = dict(reversed(found))
    rows = [
        Failure(kind=key[0], cause=key[1], count=count, example=examples[key])
        for key, count in counts.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.count, row.kind, row.cause)))

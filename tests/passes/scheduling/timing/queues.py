"""Queues of tasks, one by one, for the clock."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from accnn.passes.scheduling.timing.clock import Shares, Tasks, run_tasks
from accnn.passes.scheduling.timing.issued import firsts


class Share(NamedTuple):
    """Which part of a port a task takes at full speed, above 0 up to 1."""

    port: int
    part: float


class Task(NamedTuple):
    """One entry of a queue.

    Attributes:
        waits: Which tasks must have ended before: (queue, how many of its first tasks) pairs.
        ahead: From its start until it may begin to move bytes: start-up, or fill [cycle].
        length: How long it moves bytes, if alone [cycle].
        after: From done to its end [cycle].
        shares: What it takes of the ports.
    """

    waits: tuple[tuple[int, int], ...] = ()
    ahead: int = 0
    length: int = 0
    after: int = 0
    shares: tuple[Share, ...] = ()


class Span(NamedTuple):
    """When a task runs [cycle]."""

    start: int
    begin: int
    done: int
    end: int


def run_queues(
    queues: Sequence[Sequence[Task]], pipelined: Sequence[bool], ports: int
) -> list[list[Span]]:
    """Return when the tasks of each queue run, by the clock."""
    tasks = [task for queue in queues for task in queue]
    first = firsts([len(queue) for queue in queues])
    given = Tasks(
        first=first,
        tasks=_rows([(task.ahead, task.length, task.after) for task in tasks], 3),
        waits_from=firsts([len(task.waits) for task in tasks]),
        waits=_rows([wait for task in tasks for wait in task.waits], 2),
        shares=shares_of([task.shares for task in tasks]),
    )
    spans = list(map(Span._make, run_tasks(given, pipelined, ports).tolist()))
    return [spans[low:high] for low, high in pairwise(first)]


def shares_of(tasks: Sequence[Sequence[Share]]) -> Shares:
    """Return the shares of tasks as arrays."""
    entries = [share for shares in tasks for share in shares]
    return Shares(
        first=firsts([len(shares) for shares in tasks]),
        port=np.array([share.port for share in entries], np.int64),
        part=np.array([share.part for share in entries], np.float64),
    )


def _rows(rows: Sequence[tuple[int, ...]], width: int) -> np.ndarray:
    return np.array(rows, np.int64).reshape(-1, width)

"""Every order of a few operations, cut into sets in every way: the oracle of the list scheduler."""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from accnn.passes.scheduling.flexer.kernel.arrays import DONE, EAGER, Goal
from accnn.passes.scheduling.flexer.kernel.drive import result_of, schedule_in_order
from accnn.passes.scheduling.flexer.kernel.goal import metric
from accnn.passes.scheduling.flexer.problem import TimedTiling

MAX_OPS = 8
"""Beyond this the number of orders is out of reach."""


def exhaustive_metric(timing: TimedTiling, goal: Goal) -> float:
    """Return the least metric over all orders, sets and memory rules.

    What the list scheduler does is one of these, so it cannot be better.

    Args:
        timing: A tiling of at most ``MAX_OPS`` operations.
        goal: What is minimised.

    Raises:
        ValueError: There are more operations.
    """
    problem = timing.problem
    count, npus = problem.latency.shape
    if count > MAX_OPS:
        raise ValueError(f"{count} operations, at most {MAX_OPS} can be ordered exhaustively")
    best = math.inf
    for order in itertools.permutations(range(count)):
        for group in compositions(count, npus):
            for memory in range(2 * EAGER):
                limited = goal._replace(limit=best)
                status, state = schedule_in_order(
                    problem,
                    np.array(order, np.int64),
                    np.array(group, np.int64),
                    memory,
                    limited,
                    False,
                )
                if status == DONE:
                    best = min(best, metric(goal, *result_of(state)))
    return best


def compositions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write a number as an ordered sum of parts up to ``largest``."""
    if total == 0:
        yield ()
        return
    for part in range(1, min(total, largest) + 1):
        for rest in compositions(total - part, largest):
            yield (part, *rest)

"""The baseline: the best static order over all tilings, loop orders and rules of memory.

Its innermost loop is unrolled over the NPUs. As its order is known beforehand, it may also give up
the tile whose next use is furthest away. Nothing is left out but what proven bounds exclude,
and the least promising tilings once ``steps_in_order`` operations were issued.

Args:
    trials: Schedules tilings.
    rows: The tilings, most promising first.
    best: What is known already.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023. Section 5.
"""

import math
from collections.abc import Iterator

from ..candidate import Candidate
from ..problem import TimedTiling, dataflows, unrolled
from .trials import STATIC_MEMORIES, Rows, Trials

_BEYOND = 1.1
"""Schedules are ended up to so many times the limit: which tilings are good guides the search."""


def best_static(trials: Trials, rows: Rows, best: Candidate | None) -> Candidate | None:
    """Return the best schedule in loop order, of some tilings and what is known already."""
    trials.effort.tilings += len(rows)
    for rank, (bound, number, tiling) in enumerate(rows):
        limit = math.inf if best is None else best.value
        if bound >= limit:
            trials.effort.pruned += len(rows) - rank
            break
        if best is not None and trials.effort.ordered >= trials.options.steps_in_order:
            trials.effort.skipped += len(rows) - rank
            break
        timing = trials.time(number, tiling)
        if trials.least(number) >= limit:
            trials.effort.pruned += 1
            continue
        for found in _in_loop_order(trials, timing, limit):
            known = trials.best_of.get(number)
            if known is None or found.value < known.value:
                trials.best_of[number] = found
            if best is None or found.value < best.value:
                best = found
    return best


def _in_loop_order(trials: Trials, timing: TimedTiling, limit: float) -> Iterator[Candidate]:
    """Yield schedules of a tiling in loop order."""
    goal = trials.goal(_BEYOND * limit, timing)
    for dataflow in dataflows(timing.tiling):
        problem, _ = timing.in_order(dataflow)
        sets = unrolled(problem.reads, trials.npus)
        for memory in STATIC_MEMORIES:
            trials.effort.static += 1
            found = trials.in_order(timing, dataflow, problem, sets, memory, goal, "static")
            if found is not None:
                yield found

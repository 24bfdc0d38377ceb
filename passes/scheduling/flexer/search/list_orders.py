"""The best out-of-order schedule of the list scheduler, within a number of operations.

It starts from the tilings whose static schedules are best.

Args:
    trials: Schedules tilings.
    rows: The tilings, most promising first.
    limit: Only what is below counts.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023. Algorithm 1,
    lines 1-11.
"""

from collections.abc import Iterator
from itertools import product

from ..candidate import Candidate
from ..kernel.arrays import DONE, EAGER, FURTHEST, GROUPS, ISSUED, Choice
from ..kernel.drive import schedule_freely
from ..problem import Dataflow, TimedTiling, dataflows
from ..tilings import Tiling
from .trials import Rows, Trials, measured

_AT_ONCE = 12
"""Tilings whose ways are tried in turn."""

_WAYS = 36
"""More than the dataflows times the choices of any tiling."""


def best_free(trials: Trials, rows: Rows, limit: float) -> Candidate | None:
    """Return the best out-of-order schedule below a limit, ``None`` where none was found."""
    best: Candidate | None = None
    for (bound, number, tiling), turn in _turns(_promising(trials, rows)):
        if bound >= limit:
            continue
        timing = trials.time(number, tiling)
        if trials.least(number) >= limit:
            continue
        ways = _diagonal(_flows(trials, number, timing), trials.options.choices)
        if turn >= len(ways):
            continue
        if trials.effort.steps >= trials.options.steps:
            break
        found = _schedule(trials, timing, *ways[turn], limit)
        if found is not None and found.value < limit:
            best, limit = found, found.value
    return best


def _promising(trials: Trials, rows: Rows) -> Rows:
    """Return tilings, those with the best static schedules first, then by bound."""
    known = [row for row in rows if row[1] in trials.best_of]
    known.sort(key=lambda row: (trials.best_of[row[1]].value, row[1]))
    others = [row for row in rows if row[1] not in trials.best_of]
    mixed: Rows = []
    while known or others:
        mixed += known[:2] + others[:1]
        known, others = known[2:], others[1:]
    return mixed


def _flows(trials: Trials, number: int, timing: TimedTiling) -> list[Dataflow]:
    """Return the loop orders that break ties, the best static one first."""
    every = list(dataflows(timing.tiling))
    if number in trials.best_of:
        first = trials.best_of[number].dataflow
        every.sort(key=lambda flow: flow != first)
    return every


def _schedule(
    trials: Trials, timing: TimedTiling, dataflow: Dataflow, choice: Choice, limit: float
) -> Candidate | None:
    """Return the out-of-order schedule of a tiling, and of its order with foresight."""
    problem, _ = timing.in_order(dataflow)
    goal = trials.goal(limit, timing)
    status, state = schedule_freely(problem, choice, goal)
    trials.effort.free += 1
    trials.effort.steps += int(state.scalar[ISSUED])
    if status != DONE:
        trials.effort.abandoned += 1
        return None
    sets = state.order, state.group[: state.scalar[GROUPS]]
    found = measured(state, goal, timing, dataflow, sets, choice.memory, "flexer")
    for memory in (EAGER + FURTHEST, FURTHEST):
        tighter = trials.goal(found.value, timing)
        again = trials.in_order(timing, dataflow, problem, sets, memory, tighter, "flexer")
        found = again or found
    return found


def _turns(rows: Rows) -> Iterator[tuple[tuple[float, int, Tiling], int]]:
    """Yield tilings with the way to try: the first ways of a few tilings, then their next ones."""
    for first in range(0, len(rows), _AT_ONCE):
        for turn in range(_WAYS):
            for row in rows[first : first + _AT_ONCE]:
                yield row, turn


def _diagonal(flows: list[Dataflow], choices: tuple[Choice, ...]) -> list[tuple[Dataflow, Choice]]:
    """Return all pairs, those of early flows and early choices first."""
    pairs = sorted(
        product(range(len(flows)), range(len(choices))), key=lambda pair: (sum(pair), pair)
    )
    return [(flows[flow], choices[choice]) for flow, choice in pairs]

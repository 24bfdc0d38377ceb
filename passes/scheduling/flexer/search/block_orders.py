"""The best order of blocks: patterns of all tilings, ranked by their estimates, then measured.

Args:
    trials: Schedules tilings.
    rows: The tilings, most promising first.
    limit: Only what is below counts.
"""

from collections.abc import Iterator
from typing import TypeAlias

from ..candidate import Candidate
from ..kernel.arrays import APART, EAGER, FURTHEST
from ..problem import CANONICAL, TimedTiling
from .orders import BlockOrder, block_orders, estimate, in_blocks
from .trials import STATIC_MEMORIES, Rows, Trials

_WORTH = 6.0
"""Patterns whose estimate is further above the limit are not tried; estimates are rough."""

_NEAR = 1.2
"""Patterns that end this near to the limits are tried with other memory rules."""

_FIRST_MEMORIES = (EAGER + FURTHEST, FURTHEST, APART + EAGER + FURTHEST, APART + FURTHEST)
_OTHER_MEMORIES = tuple(item for item in STATIC_MEMORIES if item not in _FIRST_MEMORIES)

_Ranked: TypeAlias = tuple[float, int, TimedTiling, BlockOrder]
"""A metric, a number that breaks ties, and a pattern."""


def best_in_blocks(trials: Trials, rows: Rows, limit: float) -> Candidate | None:
    """Return the best schedule below a limit that walks blocks to and fro, ``None`` if none.

    Patterns are tried in the order of their estimates; the best ones with every memory rule. They
    may issue as many operations as those in loop order.
    """
    most = trials.effort.ordered + trials.options.steps_in_order
    best: Candidate | None = None
    good: list[_Ranked] = []
    ranked = sorted(_estimated(trials, rows, limit), key=lambda row: row[:2])
    for rank, (value, _, timing, pattern) in enumerate(ranked[: trials.options.block_orders]):
        if value >= _WORTH * limit or trials.effort.ordered >= most:
            break
        ends = [
            found
            for memory in _FIRST_MEMORIES
            if (found := _schedule(trials, timing, pattern, memory, limit, _NEAR))
        ]
        if ends:
            good.append((min(found.value for found in ends), rank, timing, pattern))
        for found in ends:
            if found.value < limit and trials.allows(found):
                best, limit = found, found.value
    good.sort(key=lambda row: row[:2])
    for _, _, timing, pattern in good[: trials.options.block_orders // 8]:
        if trials.effort.ordered >= most:
            break
        for memory in _OTHER_MEMORIES:
            found = _schedule(trials, timing, pattern, memory, limit, 1.0)
            if found is not None and found.value < limit:
                best, limit = found, found.value
    return best


def _estimated(trials: Trials, rows: Rows, limit: float) -> Iterator[_Ranked]:
    """Yield patterns of tilings that may remain below a limit, with their estimated metric."""
    count = 0
    for _, number, _ in rows:
        timing = trials.timed.get(number)
        if timing is None or trials.least(number) >= limit:
            continue
        for pattern in block_orders(timing.tiling, trials.npus):
            about = estimate(timing, pattern)
            if about is not None:
                count += 1
                yield trials.value_of(about, timing), count, timing, pattern


def _schedule(
    trials: Trials,
    timing: TimedTiling,
    pattern: BlockOrder,
    memory: int,
    limit: float,
    slack: float,
) -> Candidate | None:
    """Return the schedule of a pattern, ``None`` where it is beyond ``slack`` times the limits."""
    sets = in_blocks(timing.tiling, pattern, trials.npus)
    goal = trials.goal(limit, timing, slack)
    trials.effort.blocks += 1
    return trials.in_order(timing, CANONICAL, timing.problem, sets, memory, goal, "flexer")

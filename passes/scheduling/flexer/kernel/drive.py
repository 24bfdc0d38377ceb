"""The driver: a schedule set by set, in a given order or out of order.

A schedule is made set by set. For a set of operations the tiles that are missing get space, spills
and loads are issued, then the operations; finished outputs are stored after the loads of the next
set, so that no load waits behind a store. ``decode`` turns the arrays into a frozen schedule.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023. Algorithm 1, lines
    12-32 (:func:`schedule_freely`).
"""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from typing import Any

import numpy as np

from .....ir.compiled import entry, inner, maker, small
from .arrays import (
    ABORTED,
    BYTES,
    DONE,
    ISSUED,
    KEPT_FIRST,
    KEPT_LAST,
    MAKESPAN,
    NEXT,
    PENDING,
    STUCK,
    Choice,
    Goal,
    Ints,
    ScheduleArrays,
    TilingArrays,
)
from .candidates import is_ready
from .goal import is_hopeless
from .issue import do_set
from .leaving import flush, store
from .sets import select, start_sets
from .space_plan import plan_space
from .start import fill_in, start
from .timing import leave_chip


@maker
def _list_uses(p: TilingArrays, s: ScheduleArrays, order: Ints) -> None:
    """Note when each tile is used, for an order that is known."""
    fill = s.tile[:, NEXT].copy()
    for position in range(order.shape[0]):
        for role in range(3):
            tile = p.reads[order[position], role]
            s.uses[fill[tile]] = position
            fill[tile] += 1


@small
def _fitting(p: TilingArrays, s: ScheduleArrays, count: int, rule: int) -> int:
    """Plan space for as many of the first members of a set as fit together; return how many."""
    is_flushed = False
    while not plan_space(p, s, count, rule)[0]:
        if count > 1:
            count -= 1
        elif is_flushed:
            return 0
        else:
            flush(p, s)
            is_flushed = True
    return count


@inner
def _close(p: TilingArrays, s: ScheduleArrays) -> None:
    """Store what is finished and close all placements."""
    while s.scalar[PENDING] > 0:
        store(p, s, s.pending[0])
    tensors = p.param_bytes.shape[1]
    for slot in range(p.slots):
        if s.kept[slot] < 0:
            continue
        for k in range(tensors):
            subject, item = -1 - (s.kept[slot] * tensors + k), s.kept_item[slot, k]
            leave_chip(s, subject, 0, slot * tensors + k, item[KEPT_FIRST], item[KEPT_LAST])


def schedule_in_order(
    p: TilingArrays, order: Ints, group: Ints, memory: int, goal: Goal, keep: bool
) -> tuple[int, ScheduleArrays]:
    """Schedule operations in a given order, set by set.

    Args:
        p: The tiling.
        order: Operations.
        group: Size of each set; it is split where its tiles do not fit together.
        memory: Who makes space.
        goal: When to give up.
        keep: Whether to keep events and placements.

    Returns:
        ``DONE``, ``ABORTED`` (beyond the goal's limit) or ``STUCK`` (an operation does not fit);
        and the schedule.
    """
    s = start(p, keep)
    return _schedule(p, s, order, group, _NO_CHOICE._replace(memory=memory), goal), s


def schedule_freely(p: TilingArrays, choice: Choice, goal: Goal) -> tuple[int, ScheduleArrays]:
    """Schedule operations out of order: in every step the set with the highest priority.

    Args:
        p: The problem.
        choice: How sets are chosen.
        goal: What is minimised.

    Returns:
        ``DONE``, ``ABORTED`` (beyond the goal's limit) or ``STUCK`` (an operation does not fit);
        and the schedule.
    """
    s = start(p, False)
    return _schedule(p, s, np.arange(p.reads.shape[0]), _NO_GROUPS, choice, goal), s


_NO_GROUPS = np.zeros(0, np.int64)
_NO_CHOICE = Choice(memory=0, priority=0, beam=0, window=0, trials=0)


@entry
def _schedule(
    p: TilingArrays, s: ScheduleArrays, order: Ints, group: Ints, choice: Choice, goal: Goal
) -> int:
    """Schedule operations by sets of a given order, or out of order if there are none.

    Both are one function: whatever is compiled contains the machine code of all that it calls.
    """
    fill_in(p, s)
    _list_uses(p, s, order)
    sets = start_sets(p, choice)
    is_free = group.shape[0] == 0
    end, g = 0, 0
    while s.scalar[ISSUED] < order.shape[0]:
        size = select(p, s, choice, sets) if is_free else 0
        if size == 0:
            if is_free:
                size = _first_ready(p, s)
            else:
                while s.scalar[ISSUED] == end:
                    end = min(order.shape[0], end + group[g])
                    g += 1
                size = _following(s, order, end)
            size = _fitting(p, s, size, choice.memory)
            if size == 0:
                return STUCK
        do_set(p, s, size)
        if (is_free or s.scalar[ISSUED] == end) and is_hopeless(p, s, goal):
            return ABORTED
    _close(p, s)
    return ABORTED if is_hopeless(p, s, goal) else DONE


@inner
def _first_ready(p: TilingArrays, s: ScheduleArrays) -> int:
    """Make the first operation that is ready the only member; return the number of members."""
    for o in range(p.reads.shape[0]):
        if is_ready(p, s, o):
            s.members[0] = o
            return 1
    return 0


@inner
def _following(s: ScheduleArrays, order: Ints, end: int) -> int:
    """Make what follows in a given order, up to ``end``, the members; return how many they are."""
    position = s.scalar[ISSUED]
    for k in range(position, end):
        s.members[k - position] = order[k]
    return end - position


def result_of(state: Any) -> tuple[int, int]:
    """Return makespan [cycle] and transferred bytes of a finished schedule."""
    return int(state.scalar[MAKESPAN]), int(state.scalar[BYTES])

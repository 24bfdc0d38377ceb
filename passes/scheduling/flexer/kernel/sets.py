"""Sets of operations: how they grow, and the choice of the best set (sections 4.2 and 4.3)."""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from typing import NamedTuple

import numpy as np

from .arrays import AT, BENEFIT, Choice, Ints, Problem, State
from .candidates import candidates
from .compiled import inner, maker, small
from .flow_map import dataflow_map
from .priority import priority_of
from .room import plan_room


class Sets(NamedTuple):
    """Sets that are compared in one step; reused from step to step.

    Attributes:
        window: Operations that are considered ``[.]``.
        member: Of each size and rank the operations ``[npus + 1, beam, npus]``.
        reuse: Their reused and new bytes ``[npus + 1, beam, 2]``.
        flow: Their dataflow maps ``[npus + 1, beam]``.
        width: Sets of each size ``[npus + 1]``.
        grown: The set that is being put together ``[npus]``.
    """

    window: Ints
    member: Ints
    reuse: Ints
    flow: Ints
    width: Ints
    grown: Ints


@maker
def start_sets(p: Problem, choice: Choice) -> Sets:
    """Return room for the sets of one step."""
    npus = p.latency.shape[1]
    return Sets(
        np.zeros(choice.window + 8, np.int64),
        np.zeros((npus + 1, choice.beam, npus), np.int64),
        np.zeros((npus + 1, choice.beam, 2), np.int64),
        np.zeros((npus + 1, choice.beam), np.int64),
        np.zeros(npus + 1, np.int64),
        np.zeros(npus, np.int64),
    )


@small
def _is_behind(q: Sets, level: int, k: int, reused: int, new: int) -> bool:
    """Whether the set of rank ``k`` comes after one that reuses and brings so much."""
    mine = q.reuse[level, k, 0]
    return mine < reused or (mine == reused and q.reuse[level, k, 1] > new)


@inner
def _offer(p: Problem, s: State, q: Sets, level: int) -> None:
    """Put the grown set among the best of its size, unless its dataflow map is there already."""
    key, reused, new = dataflow_map(p, s, q.grown, level)
    count, beam = q.width[level], q.flow.shape[1]
    for k in range(count):
        if q.flow[level, k] == key:
            return
    if count == beam:
        if not _is_behind(q, level, count - 1, reused, new):
            return
        count -= 1
    k = count
    while k > 0 and _is_behind(q, level, k - 1, reused, new):
        for j in range(level):
            q.member[level, k, j] = q.member[level, k - 1, j]
        q.reuse[level, k, 0] = q.reuse[level, k - 1, 0]
        q.reuse[level, k, 1] = q.reuse[level, k - 1, 1]
        q.flow[level, k] = q.flow[level, k - 1]
        k -= 1
    for j in range(level):
        q.member[level, k, j] = q.grown[j]
    q.reuse[level, k, 0], q.reuse[level, k, 1], q.flow[level, k] = reused, new, key
    q.width[level] = count + 1


@small
def _added(p: Problem, s: State, q: Sets, level: int, op: int) -> tuple[bool, int, int]:
    """Return whether an operation may join the grown set, and what it would reuse and bring."""
    reused, new = 0, 0
    for j in range(level - 1):
        if p.reads[q.grown[j], 2] == p.reads[op, 2]:
            return False, 0, 0
    for role in range(3):
        tile = p.reads[op, role]
        if p.resident[tile]:
            continue
        is_here = s.tile[tile, AT] >= 0
        for j in range(level - 1):
            is_here = is_here or p.reads[q.grown[j], role] == tile
        if is_here:
            reused += p.size[tile]
        else:
            new += p.size[tile]
    return True, reused, new


@inner
def _grow(p: Problem, s: State, q: Sets, level: int, parent: int, found: int) -> None:
    """Extend a set by every candidate and keep what is among the best."""
    for j in range(level - 1):
        q.grown[j] = q.member[level - 1, parent, j]
    full = q.flow.shape[1]
    for k in range(found):
        joins, reused, new = _added(p, s, q, level, q.window[k])
        if not joins:
            continue
        reused += q.reuse[level - 1, parent, 0]
        new += q.reuse[level - 1, parent, 1]
        if q.width[level] == full and not _is_behind(q, level, full - 1, reused, new):
            continue
        q.grown[level - 1] = q.window[k]
        _offer(p, s, q, level)


@inner
def select(p: Problem, s: State, choice: Choice, q: Sets) -> int:
    """Make the set with the highest priority the members, and plan its room.

    Sets grow operation by operation; of each size the ``beam`` sets that reuse most are extended.
    Returns its size, 0 where nothing fits.

    Args:
        p: The problem.
        s: State of the schedule.
        choice: How sets are chosen.
        q: Takes the sets that grow.
    """
    npus = p.latency.shape[1]
    found = candidates(p, s, choice.window, q.window)
    for level in range(npus + 1):
        q.width[level] = 0
    q.width[0] = 1
    for level in range(1, npus + 1):
        for parent in range(q.width[level - 1]):
            _grow(p, s, q, level, parent, found)
    for level in range(npus, 0, -1):
        best = _best_of(p, s, choice, q, level)
        if best >= 0:
            for j in range(level):
                s.members[j] = q.member[level, best, j]
            plan_room(p, s, level, choice.memory)
            return level
    return 0


@inner
def _best_of(p: Problem, s: State, choice: Choice, q: Sets, level: int) -> int:
    """Return the rank of the set of a size with the highest priority, -1 where none fits."""
    best, one, two, three = -1, 0.0, 0.0, 0.0
    for k in range(min(q.width[level], choice.trials)):
        reused = q.reuse[level, k, 0]
        if best >= 0 and choice.priority == BENEFIT and reused < one:
            break
        for j in range(level):
            s.members[j] = q.member[level, k, j]
        fits, spilled, used, overhead, moved = plan_room(p, s, level, choice.memory)
        if not fits:
            continue
        a, b, c = priority_of(choice.priority, reused, spilled, used, overhead, moved)
        if best < 0 or a > one or (a == one and (b > two or (b == two and c > three))):
            best, one, two, three = k, a, b, c
    return best

"""Sets of operations: how they grow, and the choice of the best set (sections 4.2 and 4.3).

Sets with equal dataflow maps count once; their priorities are those of section 4.3 and Table 2.

Args:
    p: The problem.
    s: State of the schedule.
    ops: Numbers of operations.
    count: How many count.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023.
"""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from typing import NamedTuple

import numpy as np

from .....ir.compiled import inner, maker, small
from .arrays import (
    AT,
    BENEFIT,
    LEFT,
    MIN_SPILL,
    MIN_TRANSFER,
    SPILLED,
    Choice,
    Ints,
    ScheduleArrays,
    TilingArrays,
)
from .candidates import candidates
from .space_plan import plan_space


@small
def _mix(value: int) -> int:
    """Return a scrambled value (the finaliser of splitmix64)."""
    x = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((x ^ (x >> np.uint64(31))) >> np.uint64(1))


@small
def dataflow_map(p: TilingArrays, s: ScheduleArrays, ops: Ints, count: int) -> tuple[int, int, int]:
    """Return the dataflow map of a set as a number, its reused and its new bytes.

    Sets with equal maps count once (section 4.2): per kind of tile, which are new and which are on
    chip, and how many operations share each. Sizes, spilled accumulators and the last addition
    to a tile belong to the map, for they change what is moved.
    """
    total, reused, new = 0, 0, 0
    for role in range(3):
        for k in range(count):
            tile = p.reads[ops[k], role]
            if p.resident[tile]:
                continue
            sharing, is_first = 0, True
            for j in range(count):
                if p.reads[ops[j], role] == tile:
                    sharing += 1
                    if j < k:
                        is_first = False
            here = s.tile[tile, AT] >= 0
            if here or not is_first:
                reused += p.size[tile]
            else:
                new += p.size[tile]
            if is_first:
                state = (
                    4 * (s.tile[tile, SPILLED] >= 0) + 2 * here + (s.tile[tile, LEFT] == sharing)
                )
                total += _mix(((p.size[tile] * 8 + state) * 64 + sharing) * 4 + role)
    return total, reused, new


@inner
def priority_of(
    rule: int, reused: int, spilled: float, used: int, overhead: int, moved: int
) -> tuple[float, float, float]:
    """Return the priority of a set; larger is better, the first entry that differs decides.

    ``BENEFIT`` is section 4.3: memory benefit, then utilisation, then short memory operations.

    Args:
        rule: ``BENEFIT``, ``MIN_TRANSFER`` or ``MIN_SPILL``.
        reused: Bytes that are on chip already, or shared.
        spilled: Bytes that leave, weighted by how soon they are wanted again.
        used: Bytes on chip afterwards.
        overhead: Time of the memory operations [cycle].
        moved: Bytes that they move.
    """
    if rule == MIN_TRANSFER:
        return -float(moved), reused - spilled, float(used)
    if rule == MIN_SPILL:
        return -spilled, float(reused), float(used)
    return reused - spilled, float(used), -float(overhead)


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
def start_sets(p: TilingArrays, choice: Choice) -> Sets:
    """Return space for the sets of one step."""
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
def _offer(p: TilingArrays, s: ScheduleArrays, q: Sets, level: int) -> None:
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
def _added(
    p: TilingArrays, s: ScheduleArrays, q: Sets, level: int, op: int
) -> tuple[bool, int, int]:
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
def _grow(p: TilingArrays, s: ScheduleArrays, q: Sets, level: int, parent: int, found: int) -> None:
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
def select(p: TilingArrays, s: ScheduleArrays, choice: Choice, q: Sets) -> int:
    """Make the set with the highest priority the members, and plan its space.

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
            plan_space(p, s, level, choice.memory)
            return level
    return 0


@inner
def _best_of(p: TilingArrays, s: ScheduleArrays, choice: Choice, q: Sets, level: int) -> int:
    """Return the rank of the set of a size with the highest priority, -1 where none fits."""
    best, one, two, three = -1, 0.0, 0.0, 0.0
    for k in range(min(q.width[level], choice.trials)):
        reused = q.reuse[level, k, 0]
        if best >= 0 and choice.priority == BENEFIT and reused < one:
            break
        for j in range(level):
            s.members[j] = q.member[level, k, j]
        fits, spilled, used, overhead, moved = plan_space(p, s, level, choice.memory)
        if not fits:
            continue
        a, b, c = priority_of(choice.priority, reused, spilled, used, overhead, moved)
        if best < 0 or a > one or (a == one and (b > two or (b == two and c > three))):
            best, one, two, three = k, a, b, c
    return best

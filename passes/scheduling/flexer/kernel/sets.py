"""Sets of operations: candidates, dataflow maps (section 4.2), and the choice of the best set."""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from typing import NamedTuple

import numpy as np

from .arrays import AT, BENEFIT, LEFT, NEXT, SPILLED, Choice, Ints, Problem, State
from .compiled import inner, maker, small
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


@maker
def _candidates(p: Problem, s: State, window: int, chosen: Ints) -> int:
    """List operations worth considering, those that reuse most first; return how many.

    They are grouped by which of their tiles are on chip. Each group gets an eighth of the window
    at least, then the groups that reuse most get the rest.
    """
    ops = p.reads.shape[0]
    many = np.zeros(8, np.int64)
    some = np.full(8, -1, np.int64)
    for o in range(ops):
        if not is_ready(p, s, o):
            continue
        mask = _presence(p, s, o)
        many[mask] += 1
        if some[mask] < 0:
            some[mask] = o
    weight = np.zeros(8, np.int64)
    for mask in range(8):
        if some[mask] < 0:
            continue
        for role in range(3):
            if mask >> role & 1 and not p.resident[p.reads[some[mask], role]]:
                weight[mask] += p.size[p.reads[some[mask], role]]
    ranked = np.zeros(8, np.int64)
    for mask in range(8):
        k = mask
        while k > 0 and weight[ranked[k - 1]] < weight[mask]:
            ranked[k] = ranked[k - 1]
            k -= 1
        ranked[k] = mask
    quota = np.zeros(8, np.int64)
    left = window
    for mask in range(8):
        quota[mask] = min(many[mask], max(1, window // 8))
        left -= quota[mask]
    for k in range(8):
        mask = ranked[k]
        extra = min(many[mask] - quota[mask], max(0, left))
        quota[mask] += extra
        left -= extra
    count = 0
    for k in range(8):
        mask = ranked[k]
        if quota[mask] == 0:
            continue
        taken = 0
        for o in range(some[mask], ops):
            if is_ready(p, s, o) and _presence(p, s, o) == mask:
                chosen[count] = o
                count += 1
                taken += 1
                if taken == quota[mask]:
                    break
    return count


@small
def is_ready(p: Problem, s: State, op: int) -> bool:
    """Whether an operation may run now: any of an accumulation, or the next one in order."""
    if s.is_done[op]:
        return False
    if p.commute:
        return True
    acc = p.reads[op, 2]
    return s.uses[s.tile[acc, NEXT]] == op


@small
def _presence(p: Problem, s: State, op: int) -> int:
    """Return which tiles of an operation are on chip: 1 input, 2 weights, 4 accumulators."""
    mask = 0
    for role in range(3):
        tile = p.reads[op, role]
        if s.tile[tile, AT] >= 0 or p.resident[tile]:
            mask |= 1 << role
    return mask


@small
def _mix(value: int) -> int:
    """Return a scrambled value (the finaliser of splitmix64)."""
    x = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((x ^ (x >> np.uint64(31))) >> np.uint64(1))


@small
def _signature(p: Problem, s: State, ops: Ints, count: int) -> tuple[int, int, int]:
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


@small
def _is_behind(q: Sets, level: int, k: int, reused: int, new: int) -> bool:
    """Whether the set of rank ``k`` comes after one that reuses and brings so much."""
    mine = q.reuse[level, k, 0]
    return mine < reused or (mine == reused and q.reuse[level, k, 1] > new)


@inner
def _offer(p: Problem, s: State, q: Sets, level: int) -> None:
    """Put the grown set among the best of its size, unless its dataflow map is there already."""
    key, reused, new = _signature(p, s, q.grown, level)
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
    """
    npus = p.latency.shape[1]
    found = _candidates(p, s, choice.window, q.window)
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

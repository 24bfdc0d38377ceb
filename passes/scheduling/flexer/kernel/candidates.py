"""Operations that are worth considering in a step: those that reuse most, of every kind.

Args:
    p: The problem.
    s: State of the schedule.
    window: Most operations to list.
    chosen: Takes them.
    op: Number of an operation.
"""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

import numpy as np

from .....ir.compiled import maker, small
from .arrays import AT, NEXT, Ints, ScheduleArrays, TilingArrays


@maker
def candidates(p: TilingArrays, s: ScheduleArrays, window: int, chosen: Ints) -> int:
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
def is_ready(p: TilingArrays, s: ScheduleArrays, op: int) -> bool:
    """Whether an operation may run now: any of an accumulation, or the next one in order."""
    if s.is_done[op]:
        return False
    if p.commute:
        return True
    acc = p.reads[op, 2]
    return s.uses[s.tile[acc, NEXT]] == op


@small
def _presence(p: TilingArrays, s: ScheduleArrays, op: int) -> int:
    """Return which tiles of an operation are on chip: 1 input, 2 weights, 4 accumulators."""
    mask = 0
    for role in range(3):
        tile = p.reads[op, role]
        if s.tile[tile, AT] >= 0 or p.resident[tile]:
            mask |= 1 << role
    return mask

"""The dynamic programme where several memories are shared: states are tuples of starts.

Args:
    m: The machine.
    candidates: Tiles of the order.
    s: Takes what is worked out.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

import numpy as np

from ......ir.compiled import inner, maker
from .fits import fits
from .records import Floats, I, Ints, MachineRecord, O, OrderRecord, Tiles, W
from .walk import walk


@maker
def allocate_shared(m: MachineRecord, candidates: Tiles, s: OrderRecord) -> float:
    """Choose the starts at all memories from the innermost shared one outwards.

    Returns:
        The least cost of the operands that share, infinite if nothing fits.
    """
    first, last = m.first, m.last
    a = s.counts[W] if m.joint[W] else 1
    b = s.counts[I] if m.joint[I] else 1
    c = s.counts[O] if m.joint[O] else 1
    stages = np.zeros((last - first + 2, a, b, c))
    _begin(m, s, stages[0])
    low0, low1 = np.empty((a, b, c)), np.empty((a, b, c))
    at = np.zeros(3, np.int64)
    for q in range(first, last + 1):
        _split(m, candidates, q, stages[q - first], low0, low1)
        _extend(m, candidates, s, q, low0, low1, stages[q - first + 1], at)
    low = _least(stages[last - first + 1], at)
    if low == np.inf:
        return low
    for q in range(last, first - 1, -1):
        _step_back(m, candidates, s, q, stages[q - first], at)
    for x in range(3):
        inside = _chain_inside(m, first, x)
        if m.joint[x] and inside >= 0:
            walk(m, candidates, s, x, inside, at[x], -1)
    return low


@inner
def _begin(m: MachineRecord, s: OrderRecord, stage: Floats) -> None:
    """Add up what all memories inside of the innermost shared one cost."""
    for x in range(3):
        inside = _chain_inside(m, m.first, x)
        if not m.joint[x] or inside < 0:
            continue
        for i in range(stage.shape[0]):
            for j in range(stage.shape[1]):
                for k in range(stage.shape[2]):
                    at = i if x == W else (j if x == I else k)
                    stage[i, j, k] += s.values[x, inside, at]


@inner
def _chain_inside(m: MachineRecord, q: int, x: int) -> int:
    """Return the outermost chain memory of an operand inside memory ``q``, -1 if there is none."""
    found = -1
    for further in range(q):
        found = max(found, m.member[further, x])
    return found


@inner
def _split(
    m: MachineRecord, candidates: Tiles, q: int, stage: Floats, low0: Floats, low1: Floats
) -> None:
    """Fill the least cost inside memory ``q``, by whether sums are finished inside."""
    splits = m.joint[O] and m.member[q, O] > 0
    for i in range(stage.shape[0]):
        for j in range(stage.shape[1]):
            for k in range(stage.shape[2]):
                is_done = splits and candidates[O, k].done
                low0[i, j, k] = stage[i, j, k] if is_done else np.inf
                low1[i, j, k] = np.inf if is_done else stage[i, j, k]
    for x in range(3):
        if m.joint[x] and m.member[q, x] >= 0:
            _suffix(low0, x)
            _suffix(low1, x)


@inner
def _suffix(table: Floats, axis: int) -> None:
    """Running minimum of a table towards lower indices along one axis, in place."""
    a, b, c = table.shape
    for i in range(a - 1, -1, -1):
        for j in range(b - 1, -1, -1):
            for k in range(c - 1, -1, -1):
                if axis == 0 and i + 1 < a:
                    table[i, j, k] = min(table[i, j, k], table[i + 1, j, k])
                elif axis == 1 and j + 1 < b:
                    table[i, j, k] = min(table[i, j, k], table[i, j + 1, k])
                elif axis == 2 and k + 1 < c:
                    table[i, j, k] = min(table[i, j, k], table[i, j, k + 1])


@inner
def _extend(
    m: MachineRecord,
    candidates: Tiles,
    s: OrderRecord,
    q: int,
    low0: Floats,
    low1: Floats,
    stage: Floats,
    at: Ints,
) -> None:
    """Fill the least cost up to memory ``q``."""
    for i in range(stage.shape[0]):
        for j in range(stage.shape[1]):
            for k in range(stage.shape[2]):
                at[0], at[1], at[2] = i, j, k
                low = np.inf
                if low0[i, j, k] < np.inf and fits(m, candidates, q, m.joint, at, 0):
                    low = low0[i, j, k]
                if low1[i, j, k] < low and fits(m, candidates, q, m.joint, at, 1):
                    low = low1[i, j, k]
                for x in range(3):
                    if m.joint[x] and m.member[q, x] >= 0:
                        low += s.cost[x, m.member[q, x], at[x]]
                stage[i, j, k] = low


@inner
def _least(stage: Floats, at: Ints) -> float:
    """Return the least cost of a stage and fill where it is."""
    low = np.inf
    for i in range(stage.shape[0]):
        for j in range(stage.shape[1]):
            for k in range(stage.shape[2]):
                if stage[i, j, k] < low:
                    low = stage[i, j, k]
                    at[0], at[1], at[2] = i, j, k
    return low


@maker
def _step_back(
    m: MachineRecord, candidates: Tiles, s: OrderRecord, q: int, inside: Floats, at: Ints
) -> None:
    """Choose starts ``at`` for memory ``q``; move ``at`` to the best state inside it."""
    low = np.inf
    begin = at.copy()
    end = at + 1
    for x in range(3):
        if m.joint[x] and m.member[q, x] >= 0:
            s.chosen[x, m.member[q, x]] = at[x]
            end[x] = inside.shape[x]
    splits = m.joint[O] and m.member[q, O] > 0
    fits0 = fits(m, candidates, q, m.joint, begin, 0)
    fits1 = fits(m, candidates, q, m.joint, begin, 1)
    for i in range(begin[0], end[0]):
        for j in range(begin[1], end[1]):
            for k in range(begin[2], end[2]):
                is_done = splits and candidates[O, k].done
                if (fits0 if is_done else fits1) and inside[i, j, k] < low:
                    low = inside[i, j, k]
                    at[0], at[1], at[2] = i, j, k

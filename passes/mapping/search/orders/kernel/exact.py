"""The exact allocation: a dynamic programme over the memories from the innermost outwards.

Costs of boundaries add up, each depends on one start only, and starts of an operand do not
increase outwards; so the least cost of all inner memories for a given start is a running minimum.
Memories that several operands share couple their starts through the capacity: from the innermost
such memory on, the state is the tuple of the starts of all operands that share anything
(:mod:`.shared`; where only one memory is shared, its starts are chosen here). Partial sums are
wider than finished outputs; so minima are kept apart by whether sums are finished inside.

Args:
    m: The machine.
    candidates: Tiles of the order.
    s: Takes what is worked out.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

import numpy as np

from ......ir.compiled import inner, small
from .records import I, MachineRecord, O, OrderRecord, Tiles, W
from .shared import allocate_shared
from .walk import walk


@small
def allocate_exactly(m: MachineRecord, candidates: Tiles, s: OrderRecord) -> float:
    """Allocate with least cost; fill ``chosen`` and return the cost, infinite if nothing fits."""
    for q in range(m.memories):
        for x in range(3):
            if m.member[q, x] >= 0 and (q < m.first or not m.joint[x]):
                _private(candidates, s, x, m.member[q, x], m.usable[q])
    total = 0.0
    for x in range(3):
        c = m.chain[x] - 2
        if not m.joint[x] and c >= 0:
            total += _outermost(m, candidates, s, x, c)
    if total == np.inf or m.first == m.memories:
        return total
    if m.first == m.last:
        return total + _one_shared(m, candidates, s, m.first)
    return total + allocate_shared(m, candidates, s)


@inner
def _outermost(m: MachineRecord, candidates: Tiles, s: OrderRecord, x: int, c: int) -> float:
    """Choose the starts of an operand that shares no memory."""
    k = 0
    for i in range(1, s.counts[x]):
        if s.values[x, c, i] < s.values[x, c, k]:
            k = i
    if s.values[x, c, k] < np.inf:
        walk(m, candidates, s, x, c, k, -1)
    return s.values[x, c, k]


@inner
def _running(candidates: Tiles, s: OrderRecord, x: int, c: int) -> None:
    """Fill the least cost inside chain memory ``c`` for each of its starts."""
    low0, low1 = np.inf, np.inf
    for k in range(s.counts[x] - 1, -1, -1):
        if c == 0:
            low1 = 0.0
        elif candidates[x, k].done:
            low0 = min(low0, s.values[x, c - 1, k])
        else:
            low1 = min(low1, s.values[x, c - 1, k])
        s.least[x, 0, k] = low0
        s.least[x, 1, k] = low1


@inner
def _private(candidates: Tiles, s: OrderRecord, x: int, c: int, usable: int) -> None:
    """Extend one operand by a memory that it has for itself."""
    _running(candidates, s, x, c)
    for k in range(s.counts[x]):
        low = np.inf
        for f in range(2):
            if candidates[x, k].size[c, f] <= usable and s.least[x, f, k] < low:
                low = s.least[x, f, k]
        s.values[x, c, k] = s.cost[x, c, k] + low


@inner
def _one_shared(m: MachineRecord, candidates: Tiles, s: OrderRecord, q: int) -> float:
    """Choose the starts at the only memory that is shared."""
    usable = m.usable[q]
    c0, c1, c2 = m.member[q, W], m.member[q, I], m.member[q, O]
    for x in range(3):
        if m.member[q, x] >= 0:
            _running(candidates, s, x, m.member[q, x])
    lowest = np.inf
    at0 = at1 = at2 = flag = -1
    for i in range(s.counts[W] if c0 >= 0 else 1):
        cost0, size0 = 0.0, 0
        if c0 >= 0:
            cost0 = s.cost[W, c0, i] + s.least[W, 1, i]
            size0 = candidates[W, i].size[c0, 1]
            if cost0 >= lowest or size0 > usable:
                continue
        from1, to1 = 0, s.counts[I] if c1 >= 0 else 1
        if m.even and c0 >= 0 and c1 >= 0:
            from1, to1 = i, i + 1
        for j in range(from1, to1):
            cost1, size1 = cost0, size0
            if c1 >= 0:
                cost1 += s.cost[I, c1, j] + s.least[I, 1, j]
                size1 += candidates[I, j].size[c1, 1]
                if size1 > usable:
                    continue
            if c2 < 0:
                if cost1 < lowest:
                    lowest, at0, at1, at2, flag = cost1, i, j, 0, 1
                continue
            if cost1 >= lowest:
                continue
            left = usable - size1
            from2, to2 = 0, s.counts[O]
            if m.even:
                from2 = j if c1 >= 0 else i
                to2 = from2 + 1
            for k in range(from2, to2):
                cost2 = cost1 + s.cost[O, c2, k]
                for f in range(2):
                    whole = cost2 + s.least[O, f, k]
                    if whole < lowest and candidates[O, k].size[c2, f] <= left:
                        lowest, at0, at1, at2, flag = whole, i, j, k, f
    if lowest == np.inf:
        return np.inf
    if c0 >= 0:
        walk(m, candidates, s, W, c0, at0, 1)
    if c1 >= 0:
        walk(m, candidates, s, I, c1, at1, 1)
    if c2 >= 0:
        walk(m, candidates, s, O, c2, at2, flag if c2 > 0 else -1)
    return lowest

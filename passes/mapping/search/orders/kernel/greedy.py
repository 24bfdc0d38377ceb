"""LOMA's allocation: memory by memory, the fewest accesses to the next outer one.

Args:
    m: The machine.
    candidates: Tiles of the order.
    s: Takes what is worked out.

References:
    Symons, Mei, Verhelst: LOMA: Fast Auto-Scheduling on DNN Accelerators through Loop-Order-based
    Memory Allocation. AICAS 2021.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

import numpy as np

from ......ir.compiled import inner, maker
from .fits import fits
from .records import Ints, MachineRecord, O, OrderRecord, Tiles


@maker
def allocate_greedily(m: MachineRecord, candidates: Tiles, s: OrderRecord) -> float:
    """Allocate by LOMA's rule; fill ``chosen`` and return the cost, infinite if nothing fits."""
    at = s.counts - 1
    total = 0.0
    picked = at.copy()
    for q in range(m.memories):
        if not _pick(m, candidates, s, q, at, picked):
            return np.inf
        for x in range(3):
            c = m.member[q, x]
            if c >= 0:
                at[x] = picked[x]
                s.chosen[x, c] = at[x]
                total += s.cost[x, c, at[x]]
    return total


@maker
def _pick(
    m: MachineRecord, candidates: Tiles, s: OrderRecord, q: int, at: Ints, picked: Ints
) -> bool:
    """Fill the starts at memory ``q``, not inside of ``at``; ties go to the larger tile."""
    everyone = np.ones(3, np.bool_)
    trial, begin = at.copy(), at.copy()
    low = np.inf
    f = 1
    for x in range(3):
        begin[x] = 0 if m.member[q, x] >= 0 else at[x]
        if x == O and m.member[q, x] > 0 and candidates[O, at[O]].done:
            f = 0
    for i in range(at[0], begin[0] - 1, -1):
        for j in range(at[1], begin[1] - 1, -1):
            for k in range(at[2], begin[2] - 1, -1):
                trial[0], trial[1], trial[2] = i, j, k
                if fits(m, candidates, q, everyone, trial, f):
                    accesses = _accesses(m, candidates, s, q, trial, f)
                    if accesses <= low:
                        low = accesses
                        picked[0], picked[1], picked[2] = i, j, k
    return low < np.inf


@inner
def _accesses(
    m: MachineRecord, candidates: Tiles, s: OrderRecord, q: int, at: Ints, f: int
) -> float:
    accesses = 0.0
    for x in range(3):
        c = m.member[q, x]
        if c >= 0:
            accesses += s.times[s.starts[x, at[x]]] * candidates[x, at[x]].size[c, f]
    return accesses

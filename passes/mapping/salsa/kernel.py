"""The compiled inner loop: an order of loops to its allocation, its energy and its latency.

Everything that one evaluation needs stands in this one file, because Numba's file cache watches
only the file of the function that it compiled: a helper elsewhere could change unnoticed.

Operands are indexed W=0 I=1 O=2, dimensions as in :data:`accnn.ir.workload.DIMS`. Bounded
memories are numbered from the innermost outwards, and so are the memories of one operand (its
*chain*, which ends with the off-chip memory). Positions are starts of tiles in the order, 0 for
the whole workload to ``n`` for no temporal loop at all.

The exact allocation is a dynamic programme over the memories from the innermost outwards. Costs
of the boundaries add up, each depends on one start only, and starts of an operand do not increase
outwards; so the least cost of all inner memories for a given start is a running minimum. Memories
that several operands share couple their starts through the capacity: from the first such memory
on, the state is the tuple of the starts of all operands that share anything.
"""

from typing import NamedTuple

import numpy as np
from numba import njit  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
from numpy.typing import NDArray

W, I, O = 0, 1, 2  # noqa: E741
R, S, P, Q, C, K, N, G = range(8)
EXACT, GREEDY = 0, 1
ZIGZAG, ACCNN = 0, 1
_SUMMED = (R, S, C)


class Machine(NamedTuple):
    """Workload, spatial mapping and accelerator as arrays; ``c`` counts along a chain.

    Attributes:
        counting: ``ZIGZAG`` or ``ACCNN``.
        even: Whether operands of one memory start at the same loop.
        chain: Length of each operand's chain, off-chip included ``[3]``.
        member: Place of a bounded memory in each chain, -1 if it does not hold it ``[level, 3]``.
        usable: Of each bounded memory [byte] ``[level]``.
        beneath: Unrolled extents beneath each memory of a chain ``[3, c, 8]``.
        across: Distinct lower instances that one upper instance serves; row 0 is the MACs, row
            ``c`` the boundary above chain memory ``c - 1`` ``[3, c]``.
        used: Instances that take part ``[3, c]``.
        word: Bits of one access ``[3, c]``.
        read: Energy of one read [pJ] ``[3, c]``.
        write: Energy of one write [pJ] ``[3, c]``.
        split_sum: Whether instances of a memory share a sum ``[3, c]``.
        relevant: Whether an operand depends on a dimension ``[3, 8]``.
        bits: Width of a finished element ``[3]``.
        psum_bits: Width of a partial sum.
        window: Vertical and horizontal stride, then dilation ``[4]``.
        stored: Rows and columns of the input without padding ``[2]``.
    """

    counting: int
    even: bool
    chain: NDArray[np.int64]
    member: NDArray[np.int64]
    usable: NDArray[np.int64]
    beneath: NDArray[np.int64]
    across: NDArray[np.int64]
    used: NDArray[np.int64]
    word: NDArray[np.int64]
    read: NDArray[np.float64]
    write: NDArray[np.float64]
    split_sum: NDArray[np.bool_]
    relevant: NDArray[np.bool_]
    bits: NDArray[np.int64]
    psum_bits: int
    window: NDArray[np.int64]
    stored: NDArray[np.int64]


@njit(cache=True)
def _touched(outputs: int, taps: int, stride: int, dilation: int) -> int:
    if outputs == 1 or taps == 1:
        return outputs * taps
    if dilation == 1:
        return (outputs - 1) * min(stride, taps) + taps
    common, rest = stride, dilation
    while rest:
        common, rest = rest, common % rest
    step_p, step_r = dilation // common, stride // common
    return outputs * taps - max(0, outputs - step_p) * max(0, taps - step_r)


@njit(cache=True)
def _elements(m: Machine, x: int, e: NDArray[np.int64], clip: bool) -> int:
    if x == W:
        return e[R] * e[S] * e[C] * e[K] * e[G]
    if x == O:
        return e[P] * e[Q] * e[K] * e[N] * e[G]
    rows = _touched(e[P], e[R], m.window[0], m.window[2])
    columns = _touched(e[Q], e[S], m.window[1], m.window[3])
    if clip:
        rows, columns = min(rows, m.stored[0]), min(columns, m.stored[1])
    return rows * columns * e[C] * e[N] * e[G]


@njit(cache=True)
def _ends(m: Machine, x: int, c: int, is_open: bool) -> tuple[float, float]:
    """Energy of one access at the upper and at the lower end of the boundary above ``c - 1``."""
    upper = m.read[x, c]
    lower = 0.0 if c == 0 else m.write[x, c - 1]
    if x == O:
        upper = m.write[x, c] + (m.read[x, c] if is_open else 0.0)
        if c > 0:
            lower = m.read[x, c - 1] + (m.write[x, c - 1] if is_open else 0.0)
    return upper, lower


@njit(cache=True)
def _zigzag_energy(m: Machine, x: int, c: int, tile: int, times: float, is_open: bool) -> float:
    """Energy of all transfers over the boundary beneath chain memory ``c``."""
    bits = m.psum_bits if x == O and is_open else m.bits[x]
    upper, lower = _ends(m, x, c, is_open)
    top = -(-tile * m.across[x, c] * bits // m.word[x, c]) * m.used[x, c]
    energy = times * top * upper
    if c > 0:
        low = -(-tile * bits // m.word[x, c - 1]) * m.used[x, c - 1]
        energy += times * low * lower
    return energy


@njit(cache=True)
def _tables(m, dims, extents):
    """Tabulate an order.

    Returns:
        Candidate starts ``[3, k]`` ascending and how many ``[3]``; whether sums are finished
        there ``[3, k]``; energy of the boundary above chain memory c ``[3, c, k]``; size with
        finished and with partial sums ``[3, c, 2, k]``; iterations outside ``[n + 1]``; energy at
        the MACs.
    """
    n = len(dims)
    deepest = m.beneath.shape[1]
    inner = np.ones((n + 1, 8), np.int64)
    times = np.ones(n + 1, np.float64)
    outermost_sum = n
    for s in range(n):
        times[s + 1] = times[s] * extents[s]
    for s in range(n - 1, -1, -1):
        inner[s] = inner[s + 1]
        inner[s, dims[s]] *= extents[s]
        if dims[s] in _SUMMED:
            outermost_sum = s
    starts = np.zeros((3, n + 1), np.int64)
    count = np.zeros(3, np.int64)
    done = np.zeros((3, n + 1), np.bool_)
    energy = np.zeros((3, deepest, n + 1))
    size = np.zeros((3, deepest, 2, n + 1), np.int64)
    at_macs = 0.0
    tile = np.ones(8, np.int64)
    for x in range(3):
        merged = 0
        k = 0
        for s in range(n + 1):
            if s == 0 or m.relevant[x, dims[s - 1]]:
                merged = s
            elif not m.even:
                continue
            starts[x, k] = s
            done[x, k] = x == O and merged <= outermost_sum
            for c in range(m.chain[x] - 1):
                for d in range(8):
                    tile[d] = inner[s, d] * m.beneath[x, c, d]
                elements = _elements(m, x, tile, False)
                size[x, c, 0, k] = -(-elements * m.bits[x] // 8)
                size[x, c, 1, k] = size[x, c, 0, k]
                if x == O:
                    wide = max(m.bits[x], m.psum_bits)
                    size[x, c, 1, k] = -(-elements * wide // 8)
                is_open = merged > outermost_sum or m.split_sum[x, c + 1]
                if m.counting == ZIGZAG:
                    if x == I:
                        elements = _elements(m, x, tile, True)
                    energy[x, c, k] = _zigzag_energy(m, x, c + 1, elements, times[merged], is_open)
            k += 1
        count[x] = k
        last = n if x == O else merged
        is_open = outermost_sum < n or m.split_sum[x, 0]
        at_macs += _zigzag_energy(m, x, 0, 1, times[last], is_open)
    return starts, count, done, energy, size, times, at_macs


@njit(cache=True)
def _running(values, done, count, is_first, least):
    """Fill ``least[f, k]``: least value at starts >= k where sums are finished (f=0) or not."""
    low0, low1 = np.inf, np.inf
    for k in range(count - 1, -1, -1):
        if is_first:
            low1 = 0.0
        elif done[k]:
            low0 = min(low0, values[k])
        else:
            low1 = min(low1, values[k])
        least[0, k] = low0
        least[1, k] = low1


@njit(cache=True)
def _private(energy, size, least, usable, count, values):
    """Extend one operand by a memory of its own."""
    for k in range(count):
        low = np.inf
        for f in range(2):
            if size[f, k] <= usable and least[f, k] < low:
                low = least[f, k]
        values[k] = energy[k] + low


@njit(cache=True)
def _suffix(table, axis):
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


@njit(cache=True)
def _first_shared(m):
    """Return the innermost memory that several operands share, and who shares anything."""
    first = len(m.usable)
    joint = np.zeros(3, np.bool_)
    for q in range(len(m.usable) - 1, -1, -1):
        sharers = 0
        for x in range(3):
            sharers += m.member[q, x] >= 0
        if sharers > 1:
            first = q
            for x in range(3):
                joint[x] |= m.member[q, x] >= 0
    return first, joint


@njit(cache=True)
def _fits(m, q, among, size, at, f):
    """Whether tiles of ``among`` at indices ``at`` fit memory ``q``, sums finished if f is 0."""
    taken = 0
    level_start = -1
    for x in range(3):
        c = m.member[q, x]
        if c >= 0 and among[x]:
            taken += size[x, c, f, at[x]]
            if m.even:
                if level_start >= 0 and level_start != at[x]:
                    return False
                level_start = at[x]
    return taken <= m.usable[q]


@njit(cache=True)
def _exact(m, count, done, energy, size, chosen):
    """Allocate with least energy; fill ``chosen[x, c]`` with candidate indices, return energy."""
    levels = len(m.usable)
    first, joint = _first_shared(m)
    width = energy.shape[2]
    values = np.zeros((3, energy.shape[1], width))
    least = np.zeros((3, 2, width))
    shape = np.ones(3, np.int64)
    for x in range(3):
        if joint[x]:
            shape[x] = count[x]
    at = np.zeros(3, np.int64)
    stages = np.zeros((max(1, levels - first), shape[0], shape[1], shape[2]))
    low0 = np.empty((shape[0], shape[1], shape[2]))
    low1 = np.empty((shape[0], shape[1], shape[2]))
    for q in range(levels):
        for x in range(3):
            c = m.member[q, x]
            if c >= 0 and (q < first or not joint[x]):
                _running(values[x, c - 1], done[x], count[x], c == 0, least[x])
                _private(energy[x, c], size[x, c], least[x], m.usable[q], count[x], values[x, c])
        if q < first:
            continue
        stage = q - first
        _lower(m, q, stage, joint, count, done, values, stages, shape, low0, low1)
        for i in range(shape[0]):
            for j in range(shape[1]):
                for k in range(shape[2]):
                    at[0], at[1], at[2] = i, j, k
                    low = np.inf
                    if low0[i, j, k] < np.inf and _fits(m, q, joint, size, at, 0):
                        low = low0[i, j, k]
                    if low1[i, j, k] < low and _fits(m, q, joint, size, at, 1):
                        low = low1[i, j, k]
                    if low < np.inf:
                        for x in range(3):
                            if joint[x] and m.member[q, x] >= 0:
                                low += energy[x, m.member[q, x], at[x]]
                    stages[stage, i, j, k] = low
    total = _trace(m, first, joint, count, done, size, values, stages, shape, chosen)
    return total


@njit(cache=True)
def _lower(m, q, stage, joint, count, done, values, stages, shape, low0, low1):
    """Fill the least energy inside memory ``q`` for every tuple of its starts.

    ``low0`` where sums reach it finished, ``low1`` where they do not (or it holds no outputs).
    """
    splits = m.member[q, O] >= 0 and joint[O]
    for i in range(shape[0]):
        for j in range(shape[1]):
            for k in range(shape[2]):
                value = 0.0
                if stage > 0:
                    value = stages[stage - 1, i, j, k]
                else:
                    if joint[W]:
                        value += _seen(m, q, W, values, i, count)
                    if joint[I]:
                        value += _seen(m, q, I, values, j, count)
                    if joint[O]:
                        value += _seen(m, q, O, values, k, count)
                is_done = splits and done[O, k] and _started(m, q, O)
                low0[i, j, k] = value if is_done else np.inf
                low1[i, j, k] = np.inf if is_done else value
    for x in range(3):
        if joint[x] and m.member[q, x] >= 0:
            _suffix(low1, x)
            if splits:
                _suffix(low0, x)


@njit(cache=True)
def _started(m, q, x):
    """Whether an operand has a memory inside ``q``."""
    for inner in range(q):
        if m.member[inner, x] >= 0:
            return True
    return False


@njit(cache=True)
def _seen(m, q, x, values, k, count):
    """Least energy of an operand inside memory ``q`` with innermost-side start ``k``."""
    c = -1
    for inner in range(q):
        c = max(c, m.member[inner, x])
    if c >= 0:
        return values[x, c, k]
    return 0.0


@njit(cache=True)
def _trace(m, first, joint, count, done, size, values, stages, shape, chosen):
    """Walk back from the best final state; return its energy."""
    levels = len(m.usable)
    total = 0.0
    at = np.zeros(3, np.int64)
    if first < levels:
        low = np.inf
        for i in range(shape[0]):
            for j in range(shape[1]):
                for k in range(shape[2]):
                    if stages[levels - 1 - first, i, j, k] < low:
                        low = stages[levels - 1 - first, i, j, k]
                        at[0], at[1], at[2] = i, j, k
        total += low
    for x in range(3):
        if not joint[x] and m.chain[x] > 1:
            c = m.chain[x] - 2
            for k in range(count[x]):
                if values[x, c, k] < values[x, c, at[x]]:
                    at[x] = k
            total += values[x, c, at[x]]
    if total == np.inf:
        return total
    for q in range(levels - 1, -1, -1):
        if q >= first:
            _step_joint(m, q, first, joint, count, done, size, values, stages, shape, at, chosen)
        for x in range(3):
            c = m.member[q, x]
            if c >= 0 and (q < first or not joint[x]):
                chosen[x, c] = at[x]
                _step(x, c, m.usable[q], count, done, size, values, at)
    return total


@njit(cache=True)
def _step(x, c, usable, count, done, size, values, at):
    """Move ``at[x]`` from chain memory ``c`` to the best start of the one inside it."""
    if c == 0:
        return
    best = -1
    for k in range(at[x], count[x]):
        f = 0 if done[x, k] else 1
        if size[x, c, f, at[x]] <= usable and (
            best < 0 or values[x, c - 1, k] < values[x, c - 1, best]
        ):
            best = k
    at[x] = best


@njit(cache=True)
def _step_joint(m, q, first, joint, count, done, size, values, stages, shape, at, chosen):
    """Move the joint state from memory ``q`` to the best state of the one inside it."""
    low = np.inf
    best = at.copy()
    upper = at + 1
    for x in range(3):
        if joint[x] and m.member[q, x] >= 0:
            chosen[x, m.member[q, x]] = at[x]
            upper[x] = shape[x]
    trial = np.zeros(3, np.int64)
    for i in range(at[0] if joint[0] else 0, upper[0] if joint[0] else 1):
        for j in range(at[1] if joint[1] else 0, upper[1] if joint[1] else 1):
            for k in range(at[2] if joint[2] else 0, upper[2] if joint[2] else 1):
                trial[0], trial[1], trial[2] = i, j, k
                f = 1
                if joint[O] and m.member[q, O] >= 0 and _started(m, q, O) and done[O, k]:
                    f = 0
                if not _fits(m, q, joint, size, at, f):
                    continue
                value = 0.0
                if q > first:
                    value = stages[q - 1 - first, i, j, k]
                else:
                    for x in range(3):
                        if joint[x]:
                            value += _seen(m, q, x, values, trial[x], count)
                if value < low:
                    low = value
                    for x in range(3):
                        if joint[x]:
                            best[x] = trial[x]
    for x in range(3):
        at[x] = best[x]


@njit(cache=True)
def _greedy(m, count, done, energy, size, starts, times, chosen):
    """Allocate by LOMA's rule: memory by memory, fewest accesses to the one above."""
    at = count - 1
    everyone = np.ones(3, np.bool_)
    total = 0.0
    for q in range(len(m.usable)):
        low = np.inf
        picked = at.copy()
        trial = at.copy()
        first = np.zeros(3, np.int64)
        flag = 1
        for x in range(3):
            if m.member[q, x] < 0:
                first[x] = at[x]
            elif x == O and m.member[q, x] > 0 and done[O, at[O]]:
                flag = 0
        for i in range(at[0], first[0] - 1, -1):
            for j in range(at[1], first[1] - 1, -1):
                for k in range(at[2], first[2] - 1, -1):
                    trial[0], trial[1], trial[2] = i, j, k
                    if not _fits(m, q, everyone, size, trial, flag):
                        continue
                    accesses = 0.0
                    for x in range(3):
                        c = m.member[q, x]
                        if c >= 0:
                            accesses += times[starts[x, trial[x]]] * size[x, c, flag, trial[x]]
                    if accesses <= low:
                        low = accesses
                        picked[0], picked[1], picked[2] = i, j, k
        if low == np.inf:
            return np.inf
        for x in range(3):
            c = m.member[q, x]
            if c >= 0:
                at[x] = picked[x]
                chosen[x, c] = at[x]
                total += energy[x, c, at[x]]
    return total


@njit(cache=True)
def evaluate(m, dims, extents, policy, starts):
    """Allocate an order and return its energy [pJ] without the MACs; infinite if it cannot fit.

    Args:
        m: The machine.
        dims: Dimension of each loop, outermost first ``[n]``.
        extents: Extent of each loop ``[n]``.
        policy: ``EXACT`` or ``GREEDY``.
        starts: Filled with the start of each tile ``[3, c]``.
    """
    found, count, done, energy, size, times, at_macs = _tables(m, dims, extents)
    chosen = np.zeros((3, energy.shape[1]), np.int64)
    if policy == EXACT:
        total = _exact(m, count, done, energy, size, chosen)
    else:
        total = _greedy(m, count, done, energy, size, found, times, chosen)
    for x in range(3):
        for c in range(m.chain[x] - 1):
            starts[x, c] = found[x, chosen[x, c]]
        starts[x, m.chain[x] - 1] = 0
    return total + at_macs


@njit(cache=True)
def _unlike(kinds, i, draw):
    """Return the position of a loop that differs from loop ``i``, -1 if all are alike."""
    others = 0
    for j in range(len(kinds)):
        others += kinds[j] != kinds[i]
    if others == 0:
        return -1
    wanted = int(draw * others)
    for j in range(len(kinds)):
        if kinds[j] != kinds[i]:
            if wanted == 0:
                return j
            wanted -= 1
    return -1


@njit(cache=True)
def _unpack(kinds, kind_dims, kind_extents, dims, extents):
    for i in range(len(kinds)):
        dims[i] = kind_dims[kinds[i]]
        extents[i] = kind_extents[kinds[i]]


@njit(cache=True)
def anneal(m, kind_dims, kind_extents, order, draws, policy, fixed, temperature, decay, visited):
    """Search orders by simulated annealing, then by descent from the best one.

    Args:
        m: The machine.
        kind_dims: Dimension of each distinct loop.
        kind_extents: Extent of each distinct loop.
        order: First order, as indices of distinct loops, outermost first ``[n]``; becomes the
            best one.
        draws: Uniform random numbers in [0, 1) ``[iterations, 3]``.
        policy: ``EXACT`` or ``GREEDY``.
        fixed: Energy of the MACs, the same for every order [pJ].
        temperature: First temperature, relative to the value of the current order.
        decay: Factor on the temperature after each iteration.
        visited: Filled with the value of each order looked at ``[iterations]``.

    Returns:
        The least value and the number of evaluations.
    """
    n = len(order)
    dims, extents = np.empty(n, np.int64), np.empty(n, np.int64)
    starts = np.zeros((3, m.beneath.shape[1]), np.int64)
    current = order.copy()
    _unpack(current, kind_dims, kind_extents, dims, extents)
    value = evaluate(m, dims, extents, policy, starts) + fixed
    best = value
    evaluations = 1
    for step in range(len(draws)):
        i = int(draws[step, 0] * n)
        j = _unlike(current, i, draws[step, 1])
        if j < 0:
            break
        current[i], current[j] = current[j], current[i]
        _unpack(current, kind_dims, kind_extents, dims, extents)
        trial = evaluate(m, dims, extents, policy, starts) + fixed
        evaluations += 1
        visited[step] = trial
        if trial <= value or draws[step, 2] < np.exp((value - trial) / (value * temperature)):
            value = trial
            if value < best:
                best = value
                order[:] = current
        else:
            current[i], current[j] = current[j], current[i]
        temperature *= decay
    improved = True
    while improved:
        improved = False
        for i in range(n):
            for j in range(i + 1, n):
                if order[i] == order[j]:
                    continue
                order[i], order[j] = order[j], order[i]
                _unpack(order, kind_dims, kind_extents, dims, extents)
                trial = evaluate(m, dims, extents, policy, starts) + fixed
                evaluations += 1
                if trial < best:
                    best = trial
                    improved = True
                else:
                    order[i], order[j] = order[j], order[i]
    return best, evaluations


@njit(cache=True)
def _next(order):
    """Step to the next distinct order in lexicographic sequence; false after the last."""
    i = len(order) - 2
    while i >= 0 and order[i] >= order[i + 1]:
        i -= 1
    if i < 0:
        return False
    j = len(order) - 1
    while order[j] <= order[i]:
        j -= 1
    order[i], order[j] = order[j], order[i]
    order[i + 1 :] = order[i + 1 :][::-1].copy()
    return True


@njit(cache=True)
def exhaust(m, kind_dims, kind_extents, order, policy, fixed):
    """Evaluate every distinct order; ``order``, given sorted, becomes the best one.

    Returns:
        The least value and the number of evaluations.
    """
    n = len(order)
    dims, extents = np.empty(n, np.int64), np.empty(n, np.int64)
    starts = np.zeros((3, m.beneath.shape[1]), np.int64)
    current = order.copy()
    best = np.inf
    evaluations = 0
    more = True
    while more:
        _unpack(current, kind_dims, kind_extents, dims, extents)
        value = evaluate(m, dims, extents, policy, starts) + fixed
        evaluations += 1
        if value < best:
            best = value
            order[:] = current
        more = _next(current)
    return best, evaluations

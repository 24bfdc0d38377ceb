"""The compiled inner loop: an order of loops to its allocation and its cost, and the two engines.

Everything that one evaluation needs stands in this one file, because Numba's file cache watches
only the file of the function that it compiled: a helper elsewhere could change unnoticed.

Operands are indexed W=0 I=1 O=2, dimensions as in :data:`accnn.ir.workload.DIMS`. Bounded
memories are numbered from the innermost outwards, and so are the memories of one operand (its
*chain*, which ends with the memory that it comes from). The *boundary* of a chain memory is the
one between it and the next outer memory. A *start* is the loop from which on a tile extends
inwards: 0 for the whole workload, ``n`` for no temporal loop at all. Of all starts only those
matter whose next outer loop changes the operand; they are the *candidates*.

The exact allocation is a dynamic programme over the memories from the innermost outwards. Costs
of boundaries add up, each depends on one start only, and starts of an operand do not increase
outwards; so the least cost of all inner memories for a given start is a running minimum. Memories
that several operands share couple their starts through the capacity: from the innermost such
memory on, the state is the tuple of the starts of all operands that share anything. Partial sums
are wider than finished outputs; so minima are kept apart by whether sums are finished inside.

References:
    Jung, Symons, Mei, Verhelst, Benini: SALSA: Simulated Annealing based Loop-Ordering Scheduler
    for DNN Accelerators. AICAS 2023. Eq. (2) is :func:`_unlike`, eq. (3) :func:`anneal`.
    Symons, Mei, Verhelst: LOMA: Fast Auto-Scheduling on DNN Accelerators through Loop-Order-based
    Memory Allocation. AICAS 2021. Its rule of allocation is :func:`_greedy`.
"""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

W, I, O = 0, 1, 2  # noqa: E741
R, S, P, Q, C, K, N, G = range(8)
EXACT, GREEDY = 0, 1
ACCNN, ZIGZAG = 0, 1
ENERGY, LATENCY, EDP = 0, 1, 2
_ROUNDS = 3
_TIE = 1e-6

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _inner(function: _Function) -> _Function:
    """Compile a function that only compiled code calls: without wrappers for Python."""
    compiler = njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)  # pyright: ignore
    return compiler(function)  # pyright: ignore


def _small(function: _Function) -> _Function:
    """Compile a function into its callers: passing all arrays would take longer than its work."""
    compiler = njit(cache=True, inline="always")  # pyright: ignore
    return compiler(function)  # pyright: ignore


def _outer(function: _Function) -> _Function:
    """Compile a function that Python calls."""
    compiler = njit(cache=True)  # pyright: ignore
    return compiler(function)  # pyright: ignore


class Machine(NamedTuple):
    """Workload, spatial mapping and accelerator as arrays.

    Index ``x`` is an operand, ``c`` a memory of its chain (or its boundary), ``q`` a bounded
    memory, ``p`` a port.

    Attributes:
        counting: ``ACCNN`` or ``ZIGZAG``.
        objective: ``ENERGY``, ``LATENCY`` or ``EDP``.
        policy: ``EXACT`` or ``GREEDY``.
        even: Whether operands of one memory start at the same loop.
        loose: Whether outputs take the room of the width at which they leave a memory.
        must_finish: Whether outputs must be finished where they reach their source.
        chain: Length of each chain, the source included ``[x]``.
        member: Place of a memory in each chain, -1 if it does not hold the operand ``[q, x]``.
        usable: Of each bounded memory [byte] ``[q]``.
        beneath: Unrolled extents beneath each memory ``[x, c, 8]``.
        relevant: Whether an operand depends on a dimension ``[x, 8]``.
        bits: Width of a finished element ``[x]``.
        psum_bits: Width of a partial sum.
        window: Vertical and horizontal stride, then dilation ``[4]``.
        stored: Rows and columns of the input without padding ``[2]``.
        across: ZigZag: distinct tiles of the instances beneath that one instance serves ``[x, c]``.
        used: ZigZag: instances that take part ``[x, c]``.
        word: ZigZag: bits of one access ``[x, c]``.
        read: ZigZag: energy of one read [pJ] ``[x, c]``.
        write: ZigZag: energy of one write [pJ] ``[x, c]``.
        split_sum: Whether instances of a memory share a sum ``[x, c]``.
        steps: Steps of the temporal loops, the same for every order [cycle].
        fixed: Energy that is the same for every order [pJ].
        per_visit: Energy per element and visit at a boundary [pJ] ``[x, c]``.
        per_tile: Energy per element and different tile at a boundary [pJ] ``[x, c]``.
        port_fixed: Cycles that are the same for every order ``[p]``.
        port_visit: Cycles per element and visit ``[p, x, c]``.
        port_tile: Cycles per element and different tile ``[p, x, c]``.
        first_tile: Cycles per element of the first (O: last) tile over a boundary ``[x, c]``.
        place: Number of each memory of a chain from the innermost outwards ``[x, c]``.
        couple: Energy per element that crosses boundary ``c``, per visit of boundary ``d`` and
            tile of ``c`` inside it, for sums that are split above ``d`` [pJ] ``[c, d]``.
    """

    counting: int
    objective: int
    policy: int
    even: bool
    loose: bool
    must_finish: bool
    chain: Ints
    member: Ints
    usable: Ints
    beneath: Ints
    relevant: Bools
    bits: Ints
    psum_bits: int
    window: Ints
    stored: Ints
    across: Ints
    used: Ints
    word: Ints
    read: Floats
    write: Floats
    split_sum: Bools
    steps: float
    fixed: float
    per_visit: Floats
    per_tile: Floats
    port_fixed: Floats
    port_visit: Floats
    port_tile: Floats
    first_tile: Floats
    place: Ints
    couple: Floats


class Scratch(NamedTuple):
    """Room for one evaluation; index ``k`` is a candidate start.

    Attributes:
        dims: Dimensions of the order ``[n]``.
        extents: Extents of the order ``[n]``.
        inner: Extents of the loops from a start inwards ``[n + 1, 8]``.
        times: Iterations outside of a start ``[n + 1]``.
        starts: Candidates, ascending ``[x, k]``.
        counts: How many ``[x]``.
        done: Whether sums are finished inside ``[x, k]``.
        visits: How often a tile that starts there is brought ``[x, k]``.
        tiles: Different ones among them ``[x, k]``.
        elements: Of a tile ``[x, c, k]``.
        size: Bytes of a tile with sums finished inside (0) or not (1) ``[x, c, 2, k]``.
        energy: Of the boundary [pJ] ``[x, c, k]``.
        cost: Of the boundary, what the allocation minimises ``[x, c, k]``.
        values: Least cost up to the boundary ``[x, c, k]``.
        least: Least cost of all inside, sums finished (0) or not (1) ``[x, 2, k]``.
        chosen: Candidate index of each tile ``[x, c]``.
        best: Those of the best allocation of the order ``[x, c]``.
        loads: Cycles of each port ``[p]``.
        weights: Of each port in the cost ``[p]``.
    """

    dims: Ints
    extents: Ints
    inner: Ints
    times: Floats
    starts: Ints
    counts: Ints
    done: Bools
    visits: Floats
    tiles: Floats
    elements: Floats
    size: Ints
    energy: Floats
    cost: Floats
    values: Floats
    least: Floats
    chosen: Ints
    best: Ints
    loads: Floats
    weights: Floats


@_inner
def _scratch(m: Machine, n: int) -> Scratch:
    depth = m.beneath.shape[1]
    ports = len(m.port_fixed)
    return Scratch(
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.ones((n + 1, 8), np.int64),
        np.ones(n + 1),
        np.zeros((3, n + 1), np.int64),
        np.zeros(3, np.int64),
        np.zeros((3, n + 1), np.bool_),
        np.zeros((3, n + 1)),
        np.zeros((3, n + 1)),
        np.zeros((3, depth, n + 1)),
        np.zeros((3, depth, 2, n + 1), np.int64),
        np.zeros((3, depth, n + 1)),
        np.zeros((3, depth, n + 1)),
        np.zeros((3, depth, n + 1)),
        np.zeros((3, 2, n + 1)),
        np.zeros((3, depth), np.int64),
        np.zeros((3, depth), np.int64),
        np.zeros(ports),
        np.zeros(ports),
    )


@_small
def _touched(outputs: int, taps: int, stride: int, dilation: int) -> int:
    """Distinct input rows; see :func:`accnn.ir.workload.touched`."""
    found = outputs * taps
    if outputs > 1 and taps > 1:
        if dilation == 1:
            found = (outputs - 1) * min(stride, taps) + taps
        else:
            common, rest = stride, dilation
            while rest:
                common, rest = rest, common % rest
            step_p, step_r = dilation // common, stride // common
            found -= max(0, outputs - step_p) * max(0, taps - step_r)
    return found


@_inner
def _outside(m: Machine, s: Scratch) -> int:
    """Fill what depends on the order alone; return the outermost loop of a sum."""
    n = len(s.dims)
    outermost_sum = n
    for i in range(n):
        s.times[i + 1] = s.times[i] * s.extents[i]
    for i in range(n - 1, -1, -1):
        for d in range(8):
            s.inner[i, d] = s.inner[i + 1, d]
        s.inner[i, s.dims[i]] *= s.extents[i]
        if s.dims[i] == R or s.dims[i] == S or s.dims[i] == C:
            outermost_sum = i
    return outermost_sum


@_inner
def _candidates(m: Machine, s: Scratch, outermost_sum: int) -> None:
    """Fill the starts that matter, and what depends on nothing else."""
    relevant, dims, extents, times = m.relevant, s.dims, s.extents, s.times
    starts, done, visits, all_tiles = s.starts, s.done, s.visits, s.tiles
    for x in range(3):
        merged = 0
        k = 0
        tiles = 1.0
        for start in range(len(dims) + 1):
            if start == 0 or relevant[x, dims[start - 1]]:
                merged = start
                if start > 0:
                    tiles *= extents[start - 1]
            elif not m.even:
                continue
            starts[x, k] = start
            done[x, k] = x == O and merged <= outermost_sum
            visits[x, k] = times[merged]
            all_tiles[x, k] = tiles
            k += 1
        s.counts[x] = k


@_inner
def _count_elements(m: Machine, s: Scratch, x: int, c: int, clip: bool, found: Floats) -> None:
    """Fill the elements of the tiles at one memory, with or without padding."""
    inner, starts = s.inner, s.starts
    b = m.beneath[x, c]
    r, t, p, q, d, o, i, g = b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]
    step_p, step_q, gap_r, gap_s = m.window[0], m.window[1], m.window[2], m.window[3]
    rows_stored, columns_stored = m.stored[0], m.stored[1]
    for k in range(s.counts[x]):
        at = starts[x, k]
        if x == W:
            whole = inner[at, R] * r * inner[at, S] * t * inner[at, C] * d
            whole *= inner[at, K] * o
        elif x == O:
            whole = inner[at, P] * p * inner[at, Q] * q * inner[at, K] * o
            whole *= inner[at, N] * i
        else:
            rows = _touched(inner[at, P] * p, inner[at, R] * r, step_p, gap_r)
            columns = _touched(inner[at, Q] * q, inner[at, S] * t, step_q, gap_s)
            if clip:
                rows, columns = min(rows, rows_stored), min(columns, columns_stored)
            whole = rows * columns * inner[at, C] * d * inner[at, N] * i
        found[k] = whole * inner[at, G] * g


@_inner
def _tabulate(m: Machine, s: Scratch) -> float:
    """Fill the tables of an order; return the energy at the MACs in ZigZag's counting."""
    n = len(s.dims)
    outermost_sum = _outside(m, s)
    _candidates(m, s, outermost_sum)
    at_macs = 0.0
    for x in range(3):
        for c in range(m.chain[x] - 1):
            _count_elements(m, s, x, c, m.loose, s.elements[x, c])
            _tabulate_sizes(m, s, x, c, s.elements[x, c], s.size[x, c])
            if m.counting == ZIGZAG:
                if x == I and not m.loose:
                    _count_elements(m, s, x, c, True, s.elements[x, c])
                _tabulate_zigzag(m, s, x, c, s.elements[x, c], s.energy[x, c])
            else:
                _tabulate_energy(m, s, x, c, s.elements[x, c], s.energy[x, c])
        if m.counting == ZIGZAG:
            is_open = outermost_sum < n or m.split_sum[x, 0]
            upper, _ = _ends(m, x, -1, is_open)
            width = m.psum_bits if x == O and is_open else m.bits[x]
            last = n if x == O else s.starts[x, s.counts[x] - 1]
            if m.even and x != O:
                last = _merged(m, s, x, n)
            words = np.ceil(width * m.across[x, 0] / m.word[x, 0])
            at_macs += s.times[last] * words * m.used[x, 0] * upper
    return at_macs


@_inner
def _merged(m: Machine, s: Scratch, x: int, start: int) -> int:
    """Return where a tile starts once stationary loops just outside of it belong to it."""
    while start > 0 and not m.relevant[x, s.dims[start - 1]]:
        start -= 1
    return start


@_inner
def _tabulate_sizes(m: Machine, s: Scratch, x: int, c: int, elements: Floats, size: Ints) -> None:
    """Fill the bytes of the tiles at one memory."""
    small = m.bits[x] / 8.0
    large = max(m.bits[x], m.psum_bits) / 8.0
    loose, done = m.loose, s.done
    last = m.must_finish and c == m.chain[x] - 2
    split = m.split_sum[x, c]
    if loose:
        split = m.split_sum[x, c + 1]
    for k in range(s.counts[x]):
        size[0, k] = np.int64(np.ceil(elements[k] * small))
        size[1, k] = size[0, k]
        if x == O:
            wide = np.int64(np.ceil(elements[k] * large))
            if last and not done[x, k]:
                size[0, k] = size[1, k] = 1 << 60
            elif loose:
                if split or not done[x, k]:
                    size[0, k] = size[1, k] = wide
            else:
                size[1, k] = wide
                if split:
                    size[0, k] = wide


@_inner
def _tabulate_energy(
    m: Machine, s: Scratch, x: int, c: int, elements: Floats, energy: Floats
) -> None:
    per_visit, per_tile = m.per_visit[x, c], m.per_tile[x, c]
    visits, tiles = s.visits, s.tiles
    for k in range(s.counts[x]):
        energy[k] = elements[k] * (visits[x, k] * per_visit + tiles[x, k] * per_tile)


@_inner
def _ends(m: Machine, x: int, c: int, is_open: bool) -> tuple[float, float]:
    """Energy of an access above and below the boundary of chain memory ``c`` (-1: the MACs)."""
    upper = m.read[x, c + 1]
    lower = m.write[x, c] if c >= 0 else 0.0
    if x == O:
        upper = m.write[x, c + 1] + (m.read[x, c + 1] if is_open else 0.0)
        if c >= 0:
            lower = m.read[x, c] + (m.write[x, c] if is_open else 0.0)
    return upper, lower


@_inner
def _tabulate_zigzag(
    m: Machine,
    s: Scratch,
    x: int,
    c: int,
    elements: Floats,
    energy: Floats,
) -> None:
    """Fill the energies of a boundary as ZigZag counts (all figures are exact in doubles)."""
    done, visits = s.done, s.visits
    low_word = float(m.word[x, c])
    across, word = float(m.across[x, c + 1]), float(m.word[x, c + 1])
    top_used, low_used = m.used[x, c + 1], m.used[x, c]
    split = m.split_sum[x, c + 1]
    upper, lower = _ends(m, x, c, False)
    open_upper, open_lower = _ends(m, x, c, True)
    width, open_width = float(m.bits[x]), float(m.psum_bits)
    for k in range(s.counts[x]):
        if x == O and (split or not done[x, k]):
            bits = elements[k] * open_width
            top = np.ceil(bits * across / word) * top_used * open_upper
            low = np.ceil(bits / low_word) * low_used * open_lower
        else:
            bits = elements[k] * width
            top = np.ceil(bits * across / word) * top_used * upper
            low = np.ceil(bits / low_word) * low_used * lower
        energy[k] = visits[x, k] * (top + low)


# Exact allocation --------------------------------------------------------------------------------


@_inner
def _first_shared(m: Machine) -> tuple[int, int, Bools]:
    """Return the innermost and outermost shared state, and who shares anything.

    The first is the innermost memory that several operands share, the second the outermost one
    that holds any of these.
    """
    first, last = len(m.usable), -1
    joint = np.zeros(3, np.bool_)
    for q in range(len(m.usable) - 1, -1, -1):
        sharers = 0
        for x in range(3):
            sharers += m.member[q, x] >= 0
        if sharers > 1:
            first = q
            for x in range(3):
                joint[x] |= m.member[q, x] >= 0
    for q in range(first, len(m.usable)):
        for x in range(3):
            if joint[x] and m.member[q, x] >= 0:
                last = q
    return first, last, joint


@_inner
def _running(s: Scratch, x: int, c: int) -> None:
    """Fill the least cost inside chain memory ``c`` for each of its starts."""
    low0, low1 = np.inf, np.inf
    for k in range(s.counts[x] - 1, -1, -1):
        if c == 0:
            low1 = 0.0
        elif s.done[x, k]:
            low0 = min(low0, s.values[x, c - 1, k])
        else:
            low1 = min(low1, s.values[x, c - 1, k])
        s.least[x, 0, k] = low0
        s.least[x, 1, k] = low1


@_inner
def _private(m: Machine, s: Scratch, x: int, c: int, usable: int) -> None:
    """Extend one operand by a memory that it has for itself."""
    _running(s, x, c)
    for k in range(s.counts[x]):
        low = np.inf
        for f in range(2):
            if s.size[x, c, f, k] <= usable and s.least[x, f, k] < low:
                low = s.least[x, f, k]
        s.values[x, c, k] = s.cost[x, c, k] + low


@_inner
def _walk(m: Machine, s: Scratch, x: int, c: int, k: int, f: int) -> None:
    """Choose start ``k`` for chain memory ``c`` and the best ones inside it.

    Args:
        m: The machine.
        s: Tables.
        x: Operand.
        c: Chain memory.
        k: Its start.
        f: Whether sums are finished inside (0) or not (1); -1: whatever fits and is best.
    """
    while True:
        s.chosen[x, c] = k
        if c == 0:
            return
        usable = 0
        for q in range(len(m.usable)):
            if m.member[q, x] == c:
                usable = m.usable[q]
        best = -1
        for i in range(k, s.counts[x]):
            state = 0 if s.done[x, i] else 1
            if (f >= 0 and state != f) or (f < 0 and s.size[x, c, state, k] > usable):
                continue
            if best < 0 or s.values[x, c - 1, i] < s.values[x, c - 1, best]:
                best = i
        k, c, f = best, c - 1, -1


@_inner
def _exact(m: Machine, s: Scratch) -> float:
    """Allocate with least cost; fill ``chosen`` and return the cost, infinite if nothing fits."""
    first, last, joint = _first_shared(m)
    total = 0.0
    for q in range(len(m.usable)):
        for x in range(3):
            if m.member[q, x] >= 0 and (q < first or not joint[x]):
                _private(m, s, x, m.member[q, x], m.usable[q])
    for x in range(3):
        c = m.chain[x] - 2
        if not joint[x] and c >= 0:
            k = np.argmin(s.values[x, c, : s.counts[x]])
            total += s.values[x, c, k]
            if total == np.inf:
                return np.inf
            _walk(m, s, x, c, k, -1)
    if first == len(m.usable):
        return total
    if last == first:
        return total + _one_shared(m, s, first, joint)
    return total + _many_shared(m, s, first, last, joint)


@_inner
def _one_shared(m: Machine, s: Scratch, q: int, joint: Bools) -> float:
    """Choose the starts at the only memory that is shared."""
    c0, c1, c2 = m.member[q]
    for x in range(3):
        if m.member[q, x] >= 0:
            _running(s, x, m.member[q, x])
    lowest = np.inf
    at0 = at1 = at2 = flag = -1
    for i in range(s.counts[W] if c0 >= 0 else 1):
        cost0, size0 = 0.0, 0
        if c0 >= 0:
            cost0 = s.cost[W, c0, i] + s.least[W, 1, i]
            size0 = s.size[W, c0, 1, i]
            if cost0 == np.inf or size0 > m.usable[q]:
                continue
        from1, to1 = 0, s.counts[I] if c1 >= 0 else 1
        if m.even and c0 >= 0 and c1 >= 0:
            from1, to1 = i, i + 1
        for j in range(from1, to1):
            cost1, size1 = cost0, size0
            if c1 >= 0:
                cost1 += s.cost[I, c1, j] + s.least[I, 1, j]
                size1 += s.size[I, c1, 1, j]
                if size1 > m.usable[q]:
                    continue
            if c2 < 0:
                if cost1 < lowest:
                    lowest, at0, at1, at2, flag = cost1, i, j, 0, 1
                continue
            room = m.usable[q] - size1
            from2, to2 = 0, s.counts[O]
            if m.even:
                from2 = j if c1 >= 0 else i
                to2 = from2 + 1
            for k in range(from2, to2):
                cost2 = cost1 + s.cost[O, c2, k]
                for f in range(2):
                    whole = cost2 + s.least[O, f, k]
                    if whole < lowest and s.size[O, c2, f, k] <= room:
                        lowest, at0, at1, at2, flag = whole, i, j, k, f
    if lowest == np.inf:
        return np.inf
    if c0 >= 0:
        _walk(m, s, W, c0, at0, 1)
    if c1 >= 0:
        _walk(m, s, I, c1, at1, 1)
    if c2 >= 0:
        _walk(m, s, O, c2, at2, flag if c2 > 0 else -1)
    return lowest


@_inner
def _fits(m: Machine, s: Scratch, q: int, among: Bools, at: Ints, f: int) -> bool:
    """Whether tiles of ``among`` at candidates ``at`` fit memory ``q`` together."""
    taken = 0
    level_start = -1
    for x in range(3):
        c = m.member[q, x]
        if c >= 0 and among[x]:
            taken += s.size[x, c, f, at[x]]
            if m.even:
                if level_start >= 0 and level_start != at[x]:
                    return False
                level_start = at[x]
    return taken <= m.usable[q]


@_inner
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


@_inner
def _chain_inside(m: Machine, q: int, x: int) -> int:
    """Return the outermost chain memory of an operand inside memory ``q``, -1 if there is none."""
    found = -1
    for inner in range(q):
        found = max(found, m.member[inner, x])
    return found


@_inner
def _many_shared(m: Machine, s: Scratch, first: int, last: int, joint: Bools) -> float:
    """Choose the starts at all memories from the innermost shared one outwards."""
    a = s.counts[W] if joint[W] else 1
    b = s.counts[I] if joint[I] else 1
    c = s.counts[O] if joint[O] else 1
    stages = np.zeros((last - first + 2, a, b, c))
    for x in range(3):
        inside = _chain_inside(m, first, x)
        if joint[x] and inside >= 0:
            for i in range(a):
                for j in range(b):
                    for k in range(c):
                        at = i if x == W else (j if x == I else k)
                        stages[0, i, j, k] += s.values[x, inside, at]
    low0 = np.empty((a, b, c))
    low1 = np.empty((a, b, c))
    at = np.zeros(3, np.int64)
    for q in range(first, last + 1):
        splits = joint[O] and m.member[q, O] > 0
        for i in range(a):
            for j in range(b):
                for k in range(c):
                    is_done = splits and s.done[O, k]
                    low0[i, j, k] = stages[q - first, i, j, k] if is_done else np.inf
                    low1[i, j, k] = np.inf if is_done else stages[q - first, i, j, k]
        for x in range(3):
            if joint[x] and m.member[q, x] >= 0:
                _suffix(low0, x)
                _suffix(low1, x)
        for i in range(a):
            for j in range(b):
                for k in range(c):
                    at[0], at[1], at[2] = i, j, k
                    low = np.inf
                    if low0[i, j, k] < np.inf and _fits(m, s, q, joint, at, 0):
                        low = low0[i, j, k]
                    if low1[i, j, k] < low and _fits(m, s, q, joint, at, 1):
                        low = low1[i, j, k]
                    for x in range(3):
                        if joint[x] and m.member[q, x] >= 0:
                            low += s.cost[x, m.member[q, x], at[x]]
                    stages[q - first + 1, i, j, k] = low
    low = np.inf
    for i in range(a):
        for j in range(b):
            for k in range(c):
                if stages[last - first + 1, i, j, k] < low:
                    low = stages[last - first + 1, i, j, k]
                    at[0], at[1], at[2] = i, j, k
    if low == np.inf:
        return np.inf
    for q in range(last, first - 1, -1):
        _step_back(m, s, q, joint, stages[q - first], at)
    for x in range(3):
        inside = _chain_inside(m, first, x)
        if joint[x] and inside >= 0:
            _walk(m, s, x, inside, at[x], -1)
    return low


@_inner
def _step_back(m: Machine, s: Scratch, q: int, joint: Bools, inside: Floats, at: Ints) -> None:
    """Choose starts ``at`` for memory ``q``; move ``at`` to the best state inside it."""
    low = np.inf
    begin = at.copy()
    end = at + 1
    for x in range(3):
        if joint[x] and m.member[q, x] >= 0:
            s.chosen[x, m.member[q, x]] = at[x]
            end[x] = inside.shape[x]
    splits = joint[O] and m.member[q, O] > 0
    fits0, fits1 = _fits(m, s, q, joint, begin, 0), _fits(m, s, q, joint, begin, 1)
    for i in range(begin[0], end[0]):
        for j in range(begin[1], end[1]):
            for k in range(begin[2], end[2]):
                is_done = splits and s.done[O, k]
                if (fits0 if is_done else fits1) and inside[i, j, k] < low:
                    low = inside[i, j, k]
                    at[0], at[1], at[2] = i, j, k


# LOMA's allocation -------------------------------------------------------------------------------


@_inner
def _greedy(m: Machine, s: Scratch) -> float:
    """Allocate by LOMA's rule, memory by memory: fewest accesses to the next outer one.

    Ties go to the larger tile. Returns the cost, infinite where nothing fits.
    """
    everyone = np.ones(3, np.bool_)
    at = s.counts - 1
    total = 0.0
    trial, picked, begin = at.copy(), at.copy(), at.copy()
    for q in range(len(m.usable)):
        low = np.inf
        f = 1
        for x in range(3):
            begin[x] = 0 if m.member[q, x] >= 0 else at[x]
            if x == O and m.member[q, x] > 0 and s.done[O, at[O]]:
                f = 0
        for i in range(at[0], begin[0] - 1, -1):
            for j in range(at[1], begin[1] - 1, -1):
                for k in range(at[2], begin[2] - 1, -1):
                    trial[0], trial[1], trial[2] = i, j, k
                    if not _fits(m, s, q, everyone, trial, f):
                        continue
                    accesses = 0.0
                    for x in range(3):
                        c = m.member[q, x]
                        if c >= 0:
                            outside = s.times[s.starts[x, trial[x]]]
                            accesses += outside * s.size[x, c, f, trial[x]]
                    if accesses <= low:
                        low = accesses
                        picked[:] = trial
        if low == np.inf:
            return np.inf
        for x in range(3):
            c = m.member[q, x]
            if c >= 0:
                at[x] = picked[x]
                s.chosen[x, c] = at[x]
                total += s.cost[x, c, at[x]]
    return total


# Value of an order -------------------------------------------------------------------------------


@_inner
def _energy(m: Machine, s: Scratch) -> float:
    """Energy of the chosen allocation, without what is the same for all orders [pJ]."""
    total = 0.0
    for x in range(3):
        for c in range(m.chain[x] - 1):
            total += s.energy[x, c, s.chosen[x, c]]
    for c in range(m.couple.shape[0]):
        for d in range(c + 1, m.chain[O] - 1):
            if m.couple[c, d] != 0.0:
                k, outer = s.chosen[O, c], s.chosen[O, d]
                restarts = s.visits[O, outer] * s.tiles[O, k] / s.tiles[O, outer]
                total += m.couple[c, d] * restarts * s.elements[O, c, k]
    return total


@_inner
def _cycles(m: Machine, s: Scratch) -> float:
    """Latency of the chosen allocation [cycle]; fills the loads of the ports."""
    slowest = m.steps
    for p in range(len(m.port_fixed)):
        load = m.port_fixed[p]
        for x in range(3):
            for c in range(m.chain[x] - 1):
                k = s.chosen[x, c]
                load += s.elements[x, c, k] * (
                    s.visits[x, k] * m.port_visit[p, x, c] + s.tiles[x, k] * m.port_tile[p, x, c]
                )
        s.loads[p] = load
        slowest = max(slowest, load)
    return slowest + _fill(m, s) + _drain(m, s)


@_inner
def _fill(m: Machine, s: Scratch) -> float:
    """Time until the first tiles have arrived; a memory sends the inputs first [cycle]."""
    ready_w, ready_i = 0.0, 0.0
    for place in range(len(m.usable), -1, -1):
        sent = 0.0
        for c in range(m.chain[I] - 2, -1, -1):
            if m.place[I, c + 1] == place:
                sent = ready_i + s.elements[I, c, s.chosen[I, c]] * m.first_tile[I, c]
                ready_i = sent
        for c in range(m.chain[W] - 2, -1, -1):
            if m.place[W, c + 1] == place:
                time = s.elements[W, c, s.chosen[W, c]] * m.first_tile[W, c]
                ready_w = max(sent, ready_w) + time
    return max(ready_w, ready_i)


@_inner
def _drain(m: Machine, s: Scratch) -> float:
    total = 0.0
    for c in range(m.chain[O] - 1):
        total += s.elements[O, c, s.chosen[O, c]] * m.first_tile[O, c]
    return total


@_inner
def _weigh(m: Machine, s: Scratch, energy: float, ends: float) -> None:
    """Fill the cost: energy, loads of the ports, fill and drain, each by its weight."""
    for x in range(3):
        for c in range(m.chain[x] - 1):
            visit, tile = 0.0, 0.0
            for p in range(len(m.port_fixed)):
                visit += s.weights[p] * m.port_visit[p, x, c]
                tile += s.weights[p] * m.port_tile[p, x, c]
            for k in range(s.counts[x]):
                s.cost[x, c, k] = energy * s.energy[x, c, k] + s.elements[x, c, k] * (
                    s.visits[x, k] * visit + s.tiles[x, k] * tile + ends * m.first_tile[x, c]
                )


@_inner
def _timed(m: Machine, s: Scratch) -> float:
    """Allocate for latency or energy-delay product: weighted sums, the weights from the loads.

    The first allocation minimises the sum of all loads (EDP: energy); each further one gives
    weight to the ports that were slowest before. The best one counts.
    """
    best = np.inf
    share = 1.0 if m.objective == EDP else 1e-9
    s.weights[:] = 0.0 if m.objective == EDP else 1.0
    ends = 0.0 if m.objective == EDP else 1.0
    for _ in range(_ROUNDS):
        _weigh(m, s, share, ends)
        cost = _exact(m, s) if m.policy == EXACT else _greedy(m, s)
        if cost == np.inf:
            return best
        energy = _energy(m, s) + m.fixed
        cycles = _cycles(m, s)
        value = cycles * energy
        if m.objective == LATENCY:
            value = cycles + _TIE * m.steps * energy / max(m.fixed, 1.0)
        if value < best:
            best = value
            s.best[:] = s.chosen
        if m.policy == GREEDY:
            break
        share = (1.0 if m.objective == EDP else 1e-3) / max(energy, 1.0)
        ends = 1.0 / cycles
        slowest = m.steps
        for p in range(len(s.loads)):
            slowest = max(slowest, s.loads[p])
        for p in range(len(s.loads)):
            near = s.loads[p] / slowest
            s.weights[p] = near**8 / cycles if s.loads[p] > 0.9 * m.steps else 0.0
    return best


@_inner
def _value(m: Machine, s: Scratch) -> float:
    """Allocate the order in ``dims`` and ``extents``; return its value, fill ``best``."""
    at_macs = _tabulate(m, s)
    if m.objective != ENERGY:
        return _timed(m, s)
    for x in range(3):
        for c in range(m.chain[x] - 1):
            for k in range(s.counts[x]):
                s.cost[x, c, k] = s.energy[x, c, k]
    total = _exact(m, s) if m.policy == EXACT else _greedy(m, s)
    if total == np.inf:
        return total
    s.best[:] = s.chosen
    return _energy(m, s) + at_macs + m.fixed


@_outer
def evaluate(m: Machine, dims: Ints, extents: Ints) -> tuple[float, Ints]:
    """Allocate one order.

    Args:
        m: The machine.
        dims: Dimension of each loop, outermost first ``[n]``.
        extents: Extent of each loop ``[n]``.

    Returns:
        The value of the objective, infinite if nothing fits, and the start of each tile
        ``[3, c]``, outermost memory last.
    """
    s = _scratch(m, len(dims))
    s.dims[:] = dims
    s.extents[:] = extents
    value = _value(m, s)
    starts = np.zeros((3, m.beneath.shape[1]), np.int64)
    for x in range(3):
        for c in range(m.chain[x] - 1):
            starts[x, c] = s.starts[x, s.best[x, c]]
    return value, starts


# Engines -----------------------------------------------------------------------------------------


class Loops(NamedTuple):
    """The distinct loops of a workload.

    Attributes:
        dims: Dimension of each.
        extents: Extent of each.
    """

    dims: Ints
    extents: Ints


@_small
def _take(loops: Loops, order: Ints, s: Scratch) -> None:
    for i in range(len(order)):
        s.dims[i] = loops.dims[order[i]]
        s.extents[i] = loops.extents[order[i]]


@_inner
def _unlike(order: Ints, i: int, draw: float) -> int:
    """Return the position of a loop that differs from loop ``i``, -1 if all are alike."""
    others = 0
    for j in range(len(order)):
        others += order[j] != order[i]
    wanted = int(draw * others)
    for j in range(len(order)):
        if order[j] != order[i]:
            if wanted == 0:
                return j
            wanted -= 1
    return -1


@_outer
def anneal(
    m: Machine,
    loops: Loops,
    order: Ints,
    draws: Floats,
    temperature: float,
    decay: float,
    visited: Floats,
) -> tuple[float, int]:
    """Search orders by simulated annealing, then by descent from the best one.

    Eq. (2) and (3) of the paper; ``V`` is taken relative to the value of the current order, so
    that a temperature means the same for every objective and workload.

    Args:
        m: The machine.
        loops: The distinct loops.
        order: First order, as indices of ``loops``, outermost first ``[n]``; becomes the best.
        draws: Uniform random numbers in [0, 1) ``[iterations, 3]``.
        temperature: First temperature.
        decay: Factor on the temperature after each iteration.
        visited: Filled with the value of each order looked at ``[iterations]``.

    Returns:
        The least value and the number of evaluations.
    """
    n = len(order)
    s = _scratch(m, n)
    current = order.copy()
    _take(loops, current, s)
    value = _value(m, s)
    best = value
    evaluations = 1
    for step in range(len(draws)):
        i = int(draws[step, 0] * n)
        j = _unlike(current, i, draws[step, 1])
        if j < 0:
            break
        current[i], current[j] = current[j], current[i]
        _take(loops, current, s)
        trial = _value(m, s)
        evaluations += 1
        visited[step] = trial
        if trial <= value or draws[step, 2] < np.exp(
            (value - trial) / max(value * temperature, 1e-300)
        ):
            value = trial
            if value < best:
                best = value
                order[:] = current
        else:
            current[i], current[j] = current[j], current[i]
        temperature *= decay
    best, more = _descend(m, loops, order, best, s)
    return best, evaluations + more


@_inner
def _descend(m: Machine, loops: Loops, order: Ints, best: float, s: Scratch) -> tuple[float, int]:
    """Take every swap that improves until none does."""
    evaluations = 0
    improved = True
    while improved:
        improved = False
        for i in range(len(order)):
            for j in range(i + 1, len(order)):
                if order[i] == order[j]:
                    continue
                order[i], order[j] = order[j], order[i]
                _take(loops, order, s)
                trial = _value(m, s)
                evaluations += 1
                if trial < best:
                    best = trial
                    improved = True
                else:
                    order[i], order[j] = order[j], order[i]
    return best, evaluations


@_inner
def _next(order: Ints) -> bool:
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
    low, high = i + 1, len(order) - 1
    while low < high:
        order[low], order[high] = order[high], order[low]
        low += 1
        high -= 1
    return True


@_outer
def exhaust(m: Machine, loops: Loops, order: Ints) -> tuple[float, int]:
    """Evaluate every distinct order; ``order``, given sorted, becomes the best one.

    Returns:
        The least value and the number of evaluations.
    """
    s = _scratch(m, len(order))
    current = order.copy()
    best = np.inf
    evaluations = 0
    more = True
    while more:
        _take(loops, current, s)
        value = _value(m, s)
        evaluations += 1
        if value < best:
            best = value
            order[:] = current
        more = _next(current)
    return best, evaluations

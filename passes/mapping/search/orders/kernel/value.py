"""The value of an order: allocated, and counted by the objective."""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

import numpy as np

from ......ir.compiled import inner, small
from .exact import allocate_exactly
from .greedy import allocate_greedily
from .latency import latency
from .records import (
    EDP,
    ENERGY,
    EXACT,
    GREEDY,
    LATENCY,
    I,
    Ints,
    Loops,
    MachineRecord,
    O,
    OrderRecord,
    Tiles,
    W,
)
from .rows import find_row

_ROUNDS = 3
_TIE = 1e-6


@inner
def value_of(
    m: MachineRecord, loops: Loops, order: Ints, rows: Tiles, candidates: Tiles, s: OrderRecord
) -> float:
    """Return the value of an order and fill its ``best`` allocation; infinite if nothing fits.

    Energy is a sum over tiles, and its least one is found at once. Latency and energy-delay product
    are allocated for by weighted sums, the weights from the loads: the first allocation minimises
    the sum of all loads (EDP: energy); each further one gives weight to the ports that were slowest
    before. The best one counts.

    Args:
        m: The machine.
        loops: The distinct loops.
        order: Indices of these, outermost first ``[n]``.
        rows: Tiles that are kept from order to order.
        candidates: Takes the tiles of the order.
        s: Takes what is worked out.
    """
    _tabulate(m, loops, order, rows, candidates, s)
    best = np.inf
    share = 1.0 if m.objective == EDP else 1e-9
    ends = 0.0 if m.objective == EDP else 1.0
    for p in range(m.ports):
        s.weights[p] = ends
    for _ in range(_ROUNDS):
        if m.objective != ENERGY:
            _weigh(m, candidates, s, share, ends)
        if _allocate(m, candidates, s) == np.inf:
            break
        energy = _energy(m, candidates, s)
        cycles = latency(m, candidates, s) if m.objective != ENERGY else 1.0
        value = cycles * energy
        if m.objective == LATENCY:
            value = cycles + _TIE * m.steps * energy / max(m.fixed, 1.0)
        if value < best:
            best = value
            _keep(m, s)
        if m.policy == GREEDY or m.objective == ENERGY:
            break
        share = (1.0 if m.objective == EDP else 1e-3) / max(energy, 1.0)
        ends = 1.0 / cycles
        _weigh_ports(m, s, cycles)
    return best


@inner
def _weigh_ports(m: MachineRecord, s: OrderRecord, cycles: float) -> None:
    """Give weight to the ports that were slowest."""
    slowest = m.steps
    for p in range(m.ports):
        slowest = max(slowest, s.loads[p])
    for p in range(m.ports):
        near = s.loads[p] / slowest
        s.weights[p] = near**8 / cycles if s.loads[p] > 0.9 * m.steps else 0.0


@small
def _allocate(m: MachineRecord, candidates: Tiles, s: OrderRecord) -> float:
    if m.policy == EXACT:
        return allocate_exactly(m, candidates, s)
    return allocate_greedily(m, candidates, s)


@inner
def _keep(m: MachineRecord, s: OrderRecord) -> None:
    """Make the chosen allocation the best one."""
    for x in range(3):
        for c in range(m.chain[x] - 1):
            s.best[x, c] = s.chosen[x, c]


@inner
def _energy(m: MachineRecord, candidates: Tiles, s: OrderRecord) -> float:
    """Energy of the chosen allocation [pJ]."""
    total = m.fixed
    for x in (W, I):
        total += candidates[x, s.counts[x] - 1].visits * m.at_macs[x]
    for x in range(3):
        for c in range(m.chain[x] - 1):
            total += candidates[x, s.chosen[x, c]].energy[c]
    for c in range(m.chain[O] - 1):
        for d in range(c + 1, m.chain[O] - 1):
            if m.couple[c, d] != 0.0:
                tile, further = candidates[O, s.chosen[O, c]], candidates[O, s.chosen[O, d]]
                restarts = further.visits * tile.tiles / further.tiles
                total += m.couple[c, d] * restarts * tile.elements[c]
    return total


@inner
def _weigh(m: MachineRecord, candidates: Tiles, s: OrderRecord, energy: float, ends: float) -> None:
    """Fill the cost: energy, loads of the ports, fill and drain, each by its weight."""
    for x in range(3):
        for c in range(m.chain[x] - 1):
            visit, again = 0.0, 0.0
            for p in range(m.ports):
                visit += s.weights[p] * m.port_visit[p, x, c]
                again += s.weights[p] * m.port_tile[p, x, c]
            for k in range(s.counts[x]):
                tile = candidates[x, k]
                each = tile.visits * visit + tile.tiles * again + ends * m.first_tile[x, c]
                s.cost[x, c, k] = energy * tile.energy[c] + tile.elements[c] * each


@inner
def _tabulate(
    m: MachineRecord, loops: Loops, order: Ints, rows: Tiles, candidates: Tiles, s: OrderRecord
) -> None:
    """Fill the candidates of an order, given as indices of ``loops``, outermost first.

    Args:
        m: The machine.
        loops: The loops.
        order: As indices of ``loops``, outermost first.
        rows: Figures of tiles that are known.
        candidates: Takes the tiles of the order.
        s: Takes what is worked out.
    """
    n = len(order)
    s.codes[n] = 0
    s.times[0] = 1.0
    for i in range(n - 1, -1, -1):
        s.codes[i] = s.codes[i + 1] + loops.radix[order[i]]
    for i in range(n):
        s.times[i + 1] = s.times[i] * loops.extents[order[i]]
    for x in range(3):
        k = 0
        row = 0
        for start in range(n + 1):
            if start == 0 or loops.turns[x, order[start - 1]]:
                row = find_row(m, loops, rows, x, s.codes[start], s.inner)
            elif not m.even:
                continue
            s.starts[x, k] = start
            candidates[x, k] = rows[x, row]
            for c in range(m.chain[x] - 1):
                s.cost[x, c, k] = candidates[x, k].energy[c]
            k += 1
        s.counts[x] = k

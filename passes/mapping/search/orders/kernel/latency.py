"""Latency of an allocated order: the slowest port, fill and drain.

Args:
    m: The machine.
    candidates: Tiles of the order.
    s: What was chosen; takes the loads.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from ......ir.compiled import inner
from .records import I, MachineRecord, O, OrderRecord, Tiles, W


@inner
def latency(m: MachineRecord, candidates: Tiles, s: OrderRecord) -> float:
    """Return the latency of the chosen allocation [cycle]; fill the loads of the ports."""
    slowest = m.steps
    for p in range(m.ports):
        load = m.port_fixed[p]
        for x in range(3):
            for c in range(m.chain[x] - 1):
                tile = candidates[x, s.chosen[x, c]]
                each = tile.visits * m.port_visit[p, x, c] + tile.tiles * m.port_tile[p, x, c]
                load += tile.elements[c] * each
        s.loads[p] = load
        slowest = max(slowest, load)
    return slowest + _fill(m, candidates, s) + _drain(m, candidates, s)


@inner
def _fill(m: MachineRecord, candidates: Tiles, s: OrderRecord) -> float:
    """Time until the first tiles have arrived; a memory sends the inputs first [cycle]."""
    ready_w, ready_i = 0.0, 0.0
    for q in range(m.memories, -1, -1):
        sent = 0.0
        for c in range(m.chain[I] - 2, -1, -1):
            if m.place[I, c + 1] == q:
                sent = ready_i + _first_tile(m, candidates, s, I, c)
                ready_i = sent
        for c in range(m.chain[W] - 2, -1, -1):
            if m.place[W, c + 1] == q:
                ready_w = max(sent, ready_w) + _first_tile(m, candidates, s, W, c)
    return max(ready_w, ready_i)


@inner
def _drain(m: MachineRecord, candidates: Tiles, s: OrderRecord) -> float:
    total = 0.0
    for c in range(m.chain[O] - 1):
        total += _first_tile(m, candidates, s, O, c)
    return total


@inner
def _first_tile(m: MachineRecord, candidates: Tiles, s: OrderRecord, x: int, c: int) -> float:
    return candidates[x, s.chosen[x, c]].elements[c] * m.first_tile[x, c]

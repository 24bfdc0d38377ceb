"""From an order of loops to its candidate tiles."""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from .compile import inner
from .records import Ints, Loops, MachineRecord, OrderRecord, Tiles
from .rows import find_row


@inner
def tabulate(
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

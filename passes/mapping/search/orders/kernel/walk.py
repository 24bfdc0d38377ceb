"""From the start of an outer tile to the best starts of all tiles inside it."""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from ......ir.compiled import inner
from .records import MachineRecord, OrderRecord, Tiles


@inner
def walk(
    m: MachineRecord, candidates: Tiles, s: OrderRecord, x: int, c: int, k: int, f: int
) -> None:
    """Choose start ``k`` for chain memory ``c`` and the best ones inside it.

    Args:
        m: The machine.
        candidates: Tiles.
        s: Values; ``chosen`` is filled.
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
        for q in range(m.memories):
            if m.member[q, x] == c:
                usable = m.usable[q]
        best = -1
        for i in range(k, s.counts[x]):
            state = 0 if candidates[x, i].done else 1
            if (f >= 0 and state != f) or (f < 0 and candidates[x, k].size[c, state] > usable):
                continue
            if best < 0 or s.values[x, c - 1, i] < s.values[x, c - 1, best]:
                best = i
        k, c, f = best, c - 1, -1

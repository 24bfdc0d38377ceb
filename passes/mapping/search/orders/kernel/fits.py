"""Whether tiles of several operands fit a memory together."""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from ......ir.compiled import inner
from .records import Bools, Ints, MachineRecord, Tiles


@inner
def fits(m: MachineRecord, candidates: Tiles, q: int, among: Bools, at: Ints, f: int) -> bool:
    """Whether tiles of the operands ``among`` at candidates ``at`` fit memory ``q``.

    Args:
        m: The machine.
        candidates: Tiles.
        q: The memory.
        among: The operands that count ``[x]``.
        at: Their candidates ``[x]``.
        f: Whether sums are finished inside (0) or not (1).
    """
    taken = 0
    level_start = -1
    for x in range(3):
        c = m.member[q, x]
        if c >= 0 and among[x]:
            taken += candidates[x, at[x]].size[c, f]
            if m.even:
                if level_start >= 0 and level_start != at[x]:
                    return False
                level_start = at[x]
    return taken <= m.usable[q]

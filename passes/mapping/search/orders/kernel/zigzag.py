"""Energy of a boundary as ZigZag counts; see :mod:`accnn.passes.analysis.zigzag`."""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

import math

from .compile import inner
from .records import MachineRecord, O


@inner
def zigzag_energy(m: MachineRecord, x: int, c: int, bits: float, is_open: bool) -> float:
    """Return the energy of one visit at the boundary of a chain memory [pJ].

    Args:
        m: The machine.
        x: Operand.
        c: Chain memory.
        bits: Of the tile (all figures are exact in doubles).
        is_open: Whether outputs cross as partial sums, in both directions.
    """
    upper, lower = m.read[x, c + 1], m.write[x, c]
    if x == O:
        upper, lower = m.write[x, c + 1], m.read[x, c]
        if is_open:
            upper += m.read[x, c + 1]
            lower += m.write[x, c]
    top = math.ceil(bits * m.across[x, c + 1] / m.word[x, c + 1]) * m.used[x, c + 1]
    low = math.ceil(bits / m.word[x, c]) * m.used[x, c]
    return top * upper + low * lower

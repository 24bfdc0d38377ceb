"""What moving a tile into, or out of, the instances of a memory of the array loads.

A layout tells how a tile is unrolled. One instance's part passes that instance's port; over a link
passes what all instances beneath it hold, equal parts once where the fan-out can multicast them.
Sums of neighbours that reduce the same outputs are added where their ways join; what has passed
all such points may be finished, and is as wide as outputs are.
"""

import math
from fractions import Fraction

from ....ir.arch import Architecture
from ....ir.mapping import LoopNest
from ....ir.workload import DIMS, RELEVANT, Dim, Operand


def link_loads(
    layout: LoopNest, arch: Architecture, element_bytes: int, out_bytes: int | None = None
) -> tuple[int, tuple[tuple[str, Fraction], ...]]:
    """Return the bytes of the largest part, and those over the busiest link of each fan-out.

    Args:
        layout: Loops inside of the tile, the unrolling, and one allocation: the tile.
        arch: The machine, as the NPU sees it.
        element_bytes: Of an element in that memory [byte].
        out_bytes: Of an element that leaves finished; ``None`` if the tile moves as it is [byte].
    """
    (item,) = layout.allocations
    tile = layout.tile(arch, item)
    part = layout.workload.elements(item.operand, tile) * element_bytes
    relevant = RELEVANT[item.operand]
    stationary = frozenset(DIMS) - relevant
    loads: list[tuple[str, Fraction]] = []
    above = arch.fanouts_above(item.level)
    for position, fanout in enumerate(above):
        copies = 1
        for inner in above[position + 1 :]:
            copies *= _unrolled(layout, inner.name, relevant)
            once = item.operand is Operand.O or item.operand in inner.multicast
            copies *= 1 if once else _unrolled(layout, inner.name, stationary)
        sums_joined = math.prod(
            _unrolled(layout, outer.name, stationary) for outer in above[: position + 1]
        )
        size = Fraction(part * copies)
        if out_bytes is not None and sums_joined == 1:
            size *= Fraction(out_bytes, element_bytes)
        loads.append((fanout.name, size))
    return part, tuple(loads)


def _unrolled(layout: LoopNest, fanout: str, dims: frozenset[Dim]) -> int:
    """Return the unrolling over a fan-out along some dimensions."""
    own = (loop for loop in layout.spatial if loop.fanout == fanout and loop.dim in dims)
    return math.prod(loop.extent for loop in own)

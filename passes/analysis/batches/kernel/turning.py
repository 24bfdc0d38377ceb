"""Loops of one nest that turn outside of a position.

Loops over *relevant* dimensions change what is looked at; loops of extent one never turn.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from .....ir.compiled import inner
from .moving import Bools, TemporalLoops


@inner
def steps(loops: TemporalLoops, b: int, end: int) -> int:
    """Return how many steps the loops outside of a position take.

    Args:
        loops: The nests.
        b: Number of the nest.
        end: The position.
    """
    found = 1
    for at in range(end):
        found *= loops.extents[b, at]
    return found


@inner
def values(loops: TemporalLoops, b: int, relevant: Bools, end: int) -> int:
    """Return how many values the relevant loops outside of a position take.

    Args:
        loops: The nests.
        b: Number of the nest.
        relevant: Whether each dimension is ``[8]``.
        end: The position.
    """
    found = 1
    for at in range(end):
        if relevant[loops.dims[b, at]]:
            found *= loops.extents[b, at]
    return found


@inner
def behind(loops: TemporalLoops, b: int, relevant: Bools, end: int) -> int:
    """Return the position behind the last relevant loop that turns outside of a position.

    Args:
        loops: The nests.
        b: Number of the nest.
        relevant: Whether each dimension is ``[8]``.
        end: The position.
    """
    for at in range(end - 1, -1, -1):
        if loops.extents[b, at] > 1 and relevant[loops.dims[b, at]]:
            return at + 1
    return 0


@inner
def changes(loops: TemporalLoops, b: int, relevant: Bools, end: int) -> int:
    """Return how often relevant loops outside of a position change; the first time counts.

    Args:
        loops: The nests.
        b: Number of the nest.
        relevant: Whether each dimension is ``[8]``.
        end: The position.
    """
    return steps(loops, b, behind(loops, b, relevant, end))

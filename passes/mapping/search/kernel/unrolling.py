"""Ways to fill a fan-out with loops of which none can be made longer."""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....ir.compiled import entry, inner

Ints = NDArray[np.int64]

_MOST = 2**62
"""No extent is as long."""


class Ways(NamedTuple):
    """Ways to unroll.

    Attributes:
        state: Number of the state that each fills a fan-out of ``[ways]``.
        extents: Of the loops over each of its dimensions ``[ways, D]``.
    """

    state: Ints
    extents: Ints


@entry
def fill_ways(left: Ints, size: Ints, padding: bool, found: Ways) -> int:
    """Fill in the ways of states one after the other, as far as there is space; return how many.

    They come in the order of their extents. What is left to a dimension is rounded down dimension
    by dimension, so that a few ways are among them that could still grow: for energy, these are
    often better than those that cannot.

    Args:
        left: Extents of the dimensions that the fan-out unrolls ``[states, D]``, ``D`` above zero.
        size: Children of the fan-out ``[states]``.
        padding: Whether extents need not divide their dimensions; of those with equal steps only
            the smallest counts.
        found: Filled in.
    """
    count, last = 0, left.shape[1] - 1
    choices = np.empty((left.shape[1], max(1, size.max()) + 1), np.int64)
    many, at = np.empty(last + 1, np.int64), np.empty(last + 1, np.int64)
    space = np.empty(last + 2, np.int64)
    for s in range(len(left)):
        for d in range(last + 1):
            many[d] = _fill_choices(left[s, d], size[s], padding, choices[d])
        d, at[0], space[0] = 0, 0, size[s]
        while d >= 0:
            if at[d] == many[d] or choices[d, at[d]] > space[d]:
                d -= 1
                if d >= 0:
                    at[d] += 1
                continue
            space[d + 1] = space[d] // choices[d, at[d]]
            if d < last:
                d += 1
                at[d] = 0
                continue
            if _is_full(choices, at, space[last + 1]):
                if count < len(found.state):
                    found.state[count] = s
                    for own in range(last + 1):
                        found.extents[count, own] = choices[own, at[own]]
                count += 1
            at[d] += 1
    return count


@inner
def _fill_choices(extent: int, size: int, padding: bool, found: Ints) -> int:
    """Fill in the extents of a loop that make sense, ascending; return how many. One is the first.

    The next longer loop, or one that is too long for anything, stands behind the last one.
    """
    count = 0
    for item in range(1, min(extent, size) + 1):
        steps = -(-extent // item)
        least = -(-extent // steps)
        is_new = count == 0 or found[count - 1] != least
        if (padding and is_new) or (not padding and extent % item == 0):
            found[count] = least
            count += 1
    found[count] = _MOST
    return count


@inner
def _is_full(choices: Ints, at: Ints, space: int) -> bool:
    """Whether no loop can be made longer in the space that all of them leave."""
    is_full = True
    for d in range(len(choices)):
        is_full &= choices[d, at[d] + 1] > choices[d, at[d]] * space
    return is_full

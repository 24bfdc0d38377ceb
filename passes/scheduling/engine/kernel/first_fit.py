"""First fit: blocks in turn, each at the lowest address that is free while it is there."""

# Numba's compiled functions take scalars of NumPy, and give them back.
# pyright: reportArgumentType=false, reportReturnType=false

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....ir.compiled import entry, inner

Ints = NDArray[np.int64]


class Placing(NamedTuple):
    """Blocks, and where they lie.

    Attributes:
        sizes: Of each block [byte].
        near: Blocks that share a step with a block, one list after another.
        near_from: Where the list of each block begins, and the end.
        places: Address of each block, -1 where it is not placed.
        beside: Scratch: placed blocks that share a step with one, the lowest first.
    """

    sizes: Ints
    near: Ints
    near_from: Ints
    places: Ints
    beside: Ints


@entry
def first_fit(p: Placing, orders: Ints, budget: int, repairs: int) -> bool:
    """Place all blocks in one of several orders, and say whether that succeeded.

    A block that does not fit is placed first in the next attempt with the same order.

    Args:
        p: The blocks.
        orders: Numbers of the blocks, a row for each order ``[orders, blocks]``; changed.
        budget: Size of the memory [byte].
        repairs: Attempts with each order.
    """
    for order in range(orders.shape[0]):
        for _ in range(repairs):
            failed = _place_all(p, orders, order, budget)
            if failed < 0:
                return True
            _to_front(orders, order, failed)
    return False


@inner
def _place_all(p: Placing, orders: Ints, order: int, budget: int) -> int:
    """Place blocks in an order; return the turn of the first one that does not fit, or -1."""
    for block in range(p.places.shape[0]):
        p.places[block] = -1
    for turn in range(orders.shape[1]):
        block = orders[order, turn]
        place = _lowest(p, block)
        if place + p.sizes[block] > budget:
            return turn
        p.places[block] = place
    return -1


@inner
def _lowest(p: Placing, block: int) -> int:
    """Return the lowest address at which a block fits between those that it shares a step with."""
    place, size = 0, p.sizes[block]
    for row in range(_sorted_beside(p, block)):
        other = p.beside[row]
        if p.places[other] - place >= size:
            break
        place = max(place, p.places[other] + p.sizes[other])
    return place


@inner
def _sorted_beside(p: Placing, block: int) -> int:
    """Sort the placed blocks that share a step with one by their address; return how many."""
    count = 0
    for number in range(p.near_from[block], p.near_from[block + 1]):
        other = p.near[number]
        if p.places[other] < 0:
            continue
        row = count
        while row > 0 and p.places[p.beside[row - 1]] > p.places[other]:
            p.beside[row] = p.beside[row - 1]
            row -= 1
        p.beside[row] = other
        count += 1
    return count


@inner
def _to_front(orders: Ints, order: int, turn: int) -> None:
    """Move the block at a turn of an order before all others."""
    block = orders[order, turn]
    for later in range(turn, 0, -1):
        orders[order, later] = orders[order, later - 1]
    orders[order, 0] = block

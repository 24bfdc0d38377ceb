"""Nests that are one step away from others: one loop elsewhere, or one tile that starts elsewhere.

Nests of ``L`` loops at most are filled up with loops of extent one, innermost.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....ir.compiled import entry, inner

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class LoopOrders(NamedTuple):
    """The loops of ``B`` nests, and where their tiles start.

    Attributes:
        dims: Dimension of each loop, as an index into ``DIMS`` ``[B, L]``.
        extents: Extent of each loop, two or more as far as a nest goes ``[B, L]``.
        starts: Where tiles start, operand by operand, from the outermost that may differ inwards
            ``[B, S]``.
        nest: Number of the nest that each came of ``[B]``.
    """

    dims: Ints
    extents: Ints
    starts: Ints
    nest: Ints


@entry
def fill_steps(orders: LoopOrders, is_first: Bools, carry: bool, found: LoopOrders) -> int:
    """Fill in what is one step away from each nest, and return how many nests these are.

    First come tiles that start elsewhere, then loops at other positions. Most moves that only lead
    to the order of an earlier one are left out.

    Args:
        orders: The nests.
        is_first: Whether a start is the outermost one of its operand ``[S]``.
        carry: Whether a move past starts of tiles comes a second time, with starts that move along.
        found: Filled in; :func:`most_steps` says for how many there must be space.
    """
    count = 0
    run = np.empty(orders.dims.shape[1], np.int64)
    for b in range(len(orders.dims)):
        length = _number_runs(orders, b, run)
        for column in range(len(is_first)):
            low, high = _limits(orders.starts[b], is_first, column, length)
            for start in range(low, high + 1):
                if start != orders.starts[b, column]:
                    _copy(orders, b, found, count)
                    found.starts[count, column] = start
                    count += 1
        for source in range(length):
            for target in range(length):
                if run[source] == run[target]:
                    continue  # others only pass loops that are equal
                if not _is_known(orders, b, run, source, target):
                    _copy(orders, b, found, count)
                    _move(found, count, source, target)
                    count += 1
                if carry and _passes_start(orders.starts[b], source, target):
                    _copy(orders, b, found, count)
                    _move(found, count, source, target)
                    _carry(found.starts[count], source, target)
                    count += 1
    return count


def most_steps(orders: LoopOrders) -> int:
    """Return how many steps there are at most."""
    count, length = orders.dims.shape
    return count * length * (2 * length + orders.starts.shape[1])


@inner
def _number_runs(orders: LoopOrders, b: int, run: Ints) -> int:
    """Number equal loops that follow each other alike; return how many loops a nest has."""
    number = 0
    for at in range(len(run)):
        if orders.extents[b, at] == 1:
            return at
        number += at > 0 and not _alike(orders, b, at - 1, at)
        run[at] = number
    return len(run)


@inner
def _alike(orders: LoopOrders, b: int, one: int, other: int) -> bool:
    dims, extents = orders.dims[b], orders.extents[b]
    return dims[one] == dims[other] and extents[one] == extents[other]


@inner
def _limits(starts: Ints, is_first: Bools, column: int, length: int) -> tuple[int, int]:
    """Return the outermost and the innermost loop at which a tile may start."""
    low = 0 if is_first[column] else starts[column - 1]
    is_last = column + 1 == len(starts) or is_first[column + 1]
    return low, length if is_last else starts[column + 1]


@inner
def _is_known(orders: LoopOrders, b: int, run: Ints, source: int, target: int) -> bool:
    """Whether it is seen at once that an earlier move leads to the same order of loops."""
    if source > 0 and run[source - 1] == run[source]:
        return True
    if target > source:
        return _alike(orders, b, source, target)
    return target == source - 1 or (target > 0 and _alike(orders, b, source, target - 1))


@inner
def _copy(orders: LoopOrders, b: int, found: LoopOrders, row: int) -> None:
    for at in range(orders.dims.shape[1]):
        found.dims[row, at] = orders.dims[b, at]
        found.extents[row, at] = orders.extents[b, at]
    for column in range(orders.starts.shape[1]):
        found.starts[row, column] = orders.starts[b, column]
    found.nest[row] = orders.nest[b]


@inner
def _move(found: LoopOrders, row: int, source: int, target: int) -> None:
    dims, extents = found.dims[row], found.extents[row]
    dim, extent = dims[source], extents[source]
    way = 1 if target > source else -1
    for at in range(source, target, way):
        dims[at], extents[at] = dims[at + way], extents[at + way]
    dims[target], extents[target] = dim, extent


@inner
def _passes_start(starts: Ints, source: int, target: int) -> bool:
    low, high = min(source, target), max(source, target)
    found = False
    for start in starts:
        found |= low < start <= high
    return found


@inner
def _carry(starts: Ints, source: int, target: int) -> None:
    """Let the starts that a move passes move along."""
    way = 1 if target > source else -1
    for column in range(len(starts)):
        if min(source, target) < starts[column] <= max(source, target):
            starts[column] -= way

"""Import of what writes into a tensor at constant places."""

import math
from collections.abc import Iterator

import numpy as np

from .....ir.operators.elementary import Array
from .....ir.types import DType
from ...arguments import constant_input, normal_axis
from ...builder import Builder
from ...folding import numbered
from ...node import Node
from ..chain import Chain
from .moving import indices_from_the_front, taken

_MOST_ROUNDS = 64
"""Updates of one place that are combined one after the other."""

_COMBINED = {"add": "add", "mul": "mul", "max": "max", "min": "min"}


def scatter_nd(node: Node, b: Builder) -> None:
    """``ScatterND`` to constant places."""
    chain, value = Chain(node, b), b.value(node.input(0))
    shape = chain.shape(value)
    indices = constant_input(b, node, 1, "place to scatter to")
    count = indices.shape[-1]
    front = np.where(indices < 0, indices + np.array(shape[:count]), indices)
    grid = numbered(node, shape)
    _scatter(chain, value, grid[tuple(np.moveaxis(front, -1, 0))])


def scatter_elements(node: Node, b: Builder) -> None:
    """``ScatterElements`` to constant places."""
    chain, value = Chain(node, b), b.value(node.input(0))
    shape = chain.shape(value)
    axis = normal_axis(node, node.int("axis", 0), len(shape))
    given = constant_input(b, node, 1, "place to scatter to")
    indices = indices_from_the_front(node, given, shape[axis])
    grid = numbered(node, shape)
    within = tuple(
        slice(None) if other == axis else slice(extent)
        for other, extent in enumerate(indices.shape)
    )
    _scatter(chain, value, np.take_along_axis(grid[within], indices, axis))


def tensor_scatter(node: Node, b: Builder) -> None:
    """``TensorScatter`` at constant places: updates of a cache, from an index on per batch."""
    chain, cache = Chain(node, b), b.value(node.input(0))
    shape, update = chain.shape(cache), chain.shape(chain.input(1))
    axis = normal_axis(node, node.int("axis", -2), len(shape))
    starts = np.zeros(shape[0], np.int64)
    if node.has_input(2):
        starts = constant_input(b, node, 2, "place to write to").reshape(-1)
    along = starts[:, None] + np.arange(update[axis])[None, :]
    if node.str("mode", "linear") == "circular":
        along %= shape[axis]
    if along.min() < 0 or along.max() >= shape[axis]:
        raise node.refusal(f"writes beyond axis {axis} of {shape}")
    grid = np.moveaxis(numbered(node, shape), axis, 1)
    chosen = grid[np.arange(shape[0])[:, None], along]
    _scatter(chain, cache, np.moveaxis(chosen, 1, axis), update=1)


def _scatter(chain: Chain, value: str, places: Array, update: int = 2) -> None:
    """Bind a value with updates at flat places."""
    found = chain.node.str("reduction", "none")
    shape, elements = chain.shape(value), places.size
    flat = chain.reshape(value, (math.prod(shape),))
    updates = chain.reshape(chain.input(update), (elements,))
    if found == "none":
        chain.bind(chain.reshape(_replaced(chain, flat, updates, places), shape))
        return
    if found not in _COMBINED:
        raise chain.node.refusal(f"has reduction = {found!r}")
    neutral = chain.constant([_neutral(found, chain.dtype(value))], chain.dtype(value))
    joined = chain("concat", updates, neutral, axis=0)
    for numbers in _rounds(chain, places, math.prod(shape)):
        flat = chain(_COMBINED[found], flat, taken(chain, joined, 0, numbers))
    chain.bind(chain.reshape(flat, shape))


def _replaced(chain: Chain, flat: str, updates: str, places: Array) -> str:
    """Return a row with updates: each element is picked from both, end to end."""
    (elements,) = chain.shape(flat)
    source = np.arange(elements)
    np.put(source, places, elements + np.arange(places.size))
    return taken(chain, chain("concat", flat, updates, axis=0), 0, source)


def _neutral(reduction: str, dtype: DType) -> float:
    """Return the number that a reduction leaves everything as it is with."""
    if reduction in ("add", "mul"):
        return float(reduction == "mul")
    low, high = (-np.inf, np.inf) if dtype is DType.F32 else dtype.range
    return high if reduction == "min" else low


def _rounds(chain: Chain, places: Array, elements: int) -> Iterator[Array]:
    """Yield, for every element, the number of the update that comes next, or that of none.

    The first round has the first update of every place, the second one the second, and so on.
    """
    waiting = np.arange(places.size)
    flat, rounds = places.reshape(-1), 0
    while waiting.size:
        if rounds == _MOST_ROUNDS:
            raise chain.node.refusal(f"updates one place more than {_MOST_ROUNDS} times")
        rounds += 1
        _, first = np.unique(flat[waiting], return_index=True)
        numbers = np.full(elements, places.size)
        numbers[flat[waiting[first]]] = waiting[first]
        yield numbers
        waiting = np.delete(waiting, first)

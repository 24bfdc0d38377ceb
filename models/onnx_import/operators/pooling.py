"""Import of pools that are made of others: ``LpPool``, and the places of a ``MaxPool``."""

from itertools import product

import numpy as np

from ....ir.operators.elementary import Array
from ....ir.operators.views import SlidingWindow
from ....ir.types import DType
from ..arguments import image_extent, window, window_attrs
from ..builder import Builder
from ..node import Node
from .chain import Chain
from .products.convolution import average_attrs, max_pool
from .reductions import reduced


def lp_pool(node: Node, b: Builder) -> None:
    """``LpPool``: the average of powers, padding included, times the elements of a window."""
    chain, p = Chain(node, b), node.int("p", 2)
    attrs = {**average_attrs(node, b, counts_overhang=True), "count_include_pad": True}
    found = window(node, node.ints("kernel_shape"), image_extent(b, node, node.input(0)))
    attrs |= window_attrs(found.counting_overhang(), is_pool=True)
    count = chain.constant(found.kernel[0] * found.kernel[1])
    mean = chain.emit("avg_pool", (_powers(chain, chain.input(0), p),), attrs)
    chain.bind(_root(chain, chain("mul", mean, count), p))


def global_lp_pool(node: Node, b: Builder) -> None:
    """``GlobalLpPool`` over all axes after the channels."""
    chain, p = Chain(node, b), node.int("p", 2)
    axes = range(2, len(b.type_of(node.input(0)).shape))
    total = reduced(chain, "sum", _powers(chain, chain.input(0), p), tuple(axes))
    chain.bind(_root(chain, total, p))


def _powers(chain: Chain, x: str, p: int) -> str:
    x = chain("abs", x)
    if p == 1:
        return x
    return chain("mul", x, x) if p == 2 else chain("pow", x, chain.constant(p))


def _root(chain: Chain, x: str, p: int) -> str:
    if p == 1:
        return x
    return chain("sqrt", x) if p == 2 else chain("pow", x, chain.constant(1 / p))


def max_pool_with_places(node: Node, b: Builder) -> None:
    """``MaxPool``; where the maxima are is found tap by tap, the first one of equals."""
    if not any(node.outputs[1:2]):
        max_pool(node, b)
        return
    chain, x = Chain(node, b), b.value(node.input(0))
    extent = image_extent(b, node, node.input(0))
    found = window(node, node.ints("kernel_shape"), extent)
    N, C, H, W = chain.shape(x)
    best, at = _best_taps(chain, _padded(chain, x, found), found, extent)
    planes = chain.constant(np.arange(N * C).reshape(N, C, 1, 1) * H * W, DType.S64)
    chain.bind(best)
    chain.bind(chain("add", at, planes), 1)


def _padded(chain: Chain, x: str, found: SlidingWindow) -> str:
    """Return the operand with what stands around it, below all numbers."""
    dtype = chain.dtype(x)
    lowest = -np.inf if dtype is DType.F32 else dtype.range[0]
    top, left, bottom, right = found.pads
    pads = (0, 0, top, left, 0, 0, bottom + found.overhang[0], right + found.overhang[1])
    if not any(pads):
        return x
    return chain("pad", x, chain.constant([lowest], dtype), pads=pads, mode="constant")


def _best_taps(
    chain: Chain, x: str, found: SlidingWindow, extent: tuple[int, int]
) -> tuple[str, str]:
    """Return the maxima of all windows, and their places within an image."""
    best, at = "", ""
    P, Q = found.output(*extent)
    for tap in product(range(found.kernel[0]), range(found.kernel[1])):
        value = x
        for axis, count in ((0, P), (1, Q)):
            start = tap[axis] * found.dilation[axis]
            value = chain.slice(value, 2 + axis, start, count, found.stride[axis])
        place = chain.constant(_places(chain.node, found, extent, (P, Q), tap), DType.S64)
        if not best:
            best, at = value, chain.expand(place, chain.shape(value))
            continue
        better = chain("less", best, value)
        best = chain("max", best, value)
        at = chain("where", better, place, at, dtype=DType.S64)
    return best, at


def _places(
    node: Node,
    found: SlidingWindow,
    extent: tuple[int, int],
    outputs: tuple[int, int],
    tap: tuple[int, int],
) -> Array:
    """Return the place in the image that a tap has, for every window."""
    rows, columns = (
        np.arange(outputs[axis]) * found.stride[axis]
        + tap[axis] * found.dilation[axis]
        - found.pads[axis]
        for axis in (0, 1)
    )
    if node.int("storage_order", 0):
        return rows[:, None] + columns[None, :] * extent[0]
    return rows[:, None] * extent[1] + columns[None, :]

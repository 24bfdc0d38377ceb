"""Import of what moves or picks elements: slices, gathers, borders, repeats, rearrangements."""

import math

import numpy as np

from .....ir.operators.elementary import Array
from .....ir.resources import numpy_dtype
from .....ir.types import DType
from ...arguments import constant_input, normal_axis
from ...builder import Builder
from ...folding import check_size, numbered
from ...node import Node
from ..chain import Chain

_MOST_RUNS = 16
"""Runs of constant indices that are copied; more are gathered."""


def _integers(b: Builder, node: Node, index: int, what: str) -> tuple[int, ...]:
    return tuple(int(item) for item in constant_input(b, node, index, what).reshape(-1))


def slices(node: Node, b: Builder) -> None:
    """``Slice`` with constant bounds; one that takes nothing is a constant without elements."""
    chain, value = Chain(node, b), b.value(node.input(0))
    shape = chain.shape(value)
    starts, ends, given, steps = _bounds(node, b)
    for axis, start, end, step in zip(given, starts, ends, steps, strict=True):
        axis = normal_axis(node, axis, len(shape))
        taken = range(*slice(start, end, step).indices(shape[axis]))
        if not taken:
            b.set_known(node.outputs[0], _empty(chain, value, axis))
            return
        value = chain.slice(value, axis, taken[0], len(taken), step)
    chain.bind(value)


def _bounds(node: Node, b: Builder) -> tuple[tuple[int, ...], ...]:
    """Return starts, ends, axes and steps: attributes before opset 10, inputs since."""
    if node.opset < 10:
        starts, ends = node.ints("starts"), node.ints("ends")
        return starts, ends, node.ints("axes", tuple(range(len(starts)))), (1,) * len(starts)
    starts, ends = _integers(b, node, 1, "starts"), _integers(b, node, 2, "ends")
    axes = _integers(b, node, 3, "axes") if node.has_input(3) else tuple(range(len(starts)))
    steps = _integers(b, node, 4, "steps") if node.has_input(4) else (1,) * len(starts)
    return starts, ends, axes, steps


def split(node: Node, b: Builder) -> None:
    """``Split`` into equal or given sizes."""
    chain, value = Chain(node, b), b.value(node.input(0))
    axis = normal_axis(node, node.int("axis", 0), len(chain.shape(value)))
    extent, count = chain.shape(value)[axis], len(node.outputs)
    sizes = node.ints("split", ()) if node.opset < 13 else ()
    if node.has_input(1):
        sizes = _integers(b, node, 1, "split")
    size = -(-extent // count)
    sizes = sizes or tuple(min(size, extent - size * number) for number in range(count))
    if sum(sizes) != extent or len(sizes) != count or min(sizes) < 0:
        raise node.refusal(f"splits {extent} elements into {sizes}")
    start = 0
    for number, size in enumerate(sizes):
        if size:
            chain.bind(chain.slice(value, axis, start, size), number)
        else:
            b.set_known(node.outputs[number], _empty(chain, value, axis))
        start += size


def _empty(chain: Chain, value: str, axis: int) -> Array:
    """Return an array like a value with nothing along an axis; concatenations leave it out."""
    shape = list(chain.shape(value))
    shape[axis] = 0
    return np.empty(shape, numpy_dtype(chain.dtype(value)))


def gather(node: Node, b: Builder) -> None:
    """``Gather``; few runs of constant indices are copies."""
    chain, value = Chain(node, b), b.value(node.input(0))
    shape = chain.shape(value)
    axis = normal_axis(node, node.int("axis", 0), len(shape))
    indices = b.known(node.input(1))
    if indices is None:
        chain.bind(chain("gather", value, chain.input(1), axis=axis))
        return
    wanted = indices_from_the_front(node, indices, shape[axis])
    target = (*shape[:axis], *wanted.shape, *shape[axis + 1 :])
    chain.bind(chain.reshape(taken(chain, value, axis, wanted.reshape(-1)), target))


def taken(chain: Chain, value: str, axis: int, indices: Array) -> str:
    """Return slices along an axis by constant indices: copies of few runs, or a gather.

    Args:
        chain: Where operators are added.
        value: The value.
        axis: The axis.
        indices: What to take, from the front.
    """
    steps = np.diff(indices)
    if 1 + np.count_nonzero(np.diff(steps)) > _MOST_RUNS:
        return chain("gather", value, chain.constant(indices, DType.S64), axis=axis)
    return chain("take", value, axis=axis, indices=tuple(int(index) for index in indices))


def indices_from_the_front(node: Node, indices: Array, extent: int) -> Array:
    """Return constant indices counted from the front.

    Args:
        node: The node that has them.
        indices: The indices; those below 0 count from the end.
        extent: Of the axis.

    Raises:
        ModelError: One lies outside.
    """
    found = np.where(indices < 0, indices + extent, indices)
    if found.size == 0 or found.min() < 0 or found.max() >= extent:
        raise node.refusal(f"has indices outside of an axis of {extent}, or none")
    return found


def gather_elements(node: Node, b: Builder) -> None:
    """``GatherElements``."""
    chain, value = Chain(node, b), b.value(node.input(0))
    axis = normal_axis(node, node.int("axis", 0), len(chain.shape(value)))
    chain.bind(chain("gather_elements", value, chain.input(1), axis=axis))


def gather_nd(node: Node, b: Builder) -> None:
    """``GatherND``: tuples of indices become positions in the flattened axes."""
    chain, value, indices = Chain(node, b), b.value(node.input(0)), b.value(node.input(1))
    shape, places = chain.shape(value), chain.shape(indices)
    batch = node.int("batch_dims", 0)
    inner = shape[batch : batch + places[-1]]
    strides = [math.prod(inner[axis + 1 :]) for axis in range(len(inner))]
    extents = chain.constant(inner, DType.S64)
    indices = chain.cast(indices, DType.S64)
    below = chain("less", indices, chain.constant(0, DType.S64))
    front = chain("where", below, chain("add", indices, extents), indices, dtype=DType.S64)
    terms = chain("mul", front, chain.constant(strides, DType.S64))
    flat = chain("reduce_sum", terms, axis=len(places) - 1)
    if batch:
        first = np.arange(math.prod(shape[:batch])) * math.prod(inner)
        first = first.reshape(*shape[:batch], *(1,) * (len(places) - batch))
        flat = chain("add", flat, chain.constant(first, DType.S64))
    rest = shape[batch + places[-1] :]
    rows = chain.reshape(value, (math.prod(shape[: batch + places[-1]]), math.prod(rest)))
    found = chain("gather", rows, chain.reshape(flat, (math.prod(places[:-1]),)), axis=0)
    chain.bind(chain.reshape(found, (*places[:-1], *rest)))


def compress(node: Node, b: Builder) -> None:
    """``Compress`` by a constant condition."""
    chain, value = Chain(node, b), b.value(node.input(0))
    (chosen,) = np.nonzero(constant_input(b, node, 1, "condition").reshape(-1))
    if not node.has("axis"):
        value = chain.reshape(value, (b.types[value].elements,))
    axis = normal_axis(node, node.int("axis", 0), len(chain.shape(value)))
    if not chosen.size:
        b.set_known(node.outputs[0], _empty(chain, value, axis))
        return
    front = indices_from_the_front(node, chosen, chain.shape(value)[axis])
    chain.bind(taken(chain, value, axis, front))


def reverse_sequence(node: Node, b: Builder) -> None:
    """``ReverseSequence`` with constant lengths."""
    chain, value = Chain(node, b), b.value(node.input(0))
    shape = chain.shape(value)
    batch, time = node.int("batch_axis", 1), node.int("time_axis", 0)
    lengths = constant_input(b, node, 1, "length of sequences").reshape(-1)
    if len(lengths) != shape[batch] or lengths.min() < 0 or lengths.max() > shape[time]:
        raise node.refusal(f"has lengths {lengths.tolist()} for {shape}")
    places = numbered(node, shape)
    rows = np.moveaxis(places, (batch, time), (0, 1))
    for row, length in zip(rows, lengths, strict=True):
        row[:length] = row[:length][::-1].copy()
    flat = chain.reshape(value, (places.size,))
    chain.bind(chain.reshape(taken(chain, flat, 0, places.reshape(-1)), shape))


def pad(node: Node, b: Builder) -> None:
    """``Pad`` by constant widths; negative ones cut off."""
    chain, value = Chain(node, b), b.value(node.input(0))
    rank = len(chain.shape(value))
    widths = node.ints("pads") if node.opset < 11 else _integers(b, node, 1, "pads")
    axes = _integers(b, node, 3, "axes") if node.has_input(3) else tuple(range(rank))
    ends = [[0, 0] for _ in range(rank)]
    for number, axis in enumerate(axes):
        ends[normal_axis(node, axis, rank)] = [widths[number], widths[len(axes) + number]]
    for axis, (before, after) in enumerate(ends):
        cut = max(0, -before), max(0, -after)
        value = chain.slice(value, axis, cut[0], chain.shape(value)[axis] - sum(cut))
    mode = node.str("mode", "constant")
    border = (_border(chain, value),) if mode == "constant" else ()
    widths = tuple(max(0, end[side]) for side in (0, 1) for end in ends)
    if any(widths):
        value = chain("pad", value, *border, pads=widths, mode=mode)
    chain.bind(value)


def _border(chain: Chain, value: str) -> str:
    if not chain.node.has_input(2):
        return chain.constant([chain.node.float("value", 0.0)], chain.dtype(value))
    return chain.reshape(chain.input(2), (1,))


def expand(node: Node, b: Builder) -> None:
    """``Expand``: both shapes broadcast."""
    chain, value = Chain(node, b), b.value(node.input(0))
    wanted = _integers(b, node, 1, "shape")
    chain.bind(chain.expand(value, np.broadcast_shapes(chain.shape(value), wanted)))


def tile(node: Node, b: Builder) -> None:
    """``Tile``."""
    chain = Chain(node, b)
    chain.bind(chain("tile", chain.input(0), repeats=_integers(b, node, 1, "repeats")))


def depth_to_space(node: Node, b: Builder) -> None:
    """``DepthToSpace``."""
    chain, size = Chain(node, b), node.int("blocksize", 1)
    N, C, H, W = _image(node, b)
    depth = C // size**2
    if node.str("mode", "DCR") == "DCR":
        factors, perm = (N, size, size, depth, H, W), (0, 3, 4, 1, 5, 2)
    else:
        factors, perm = (N, depth, size, size, H, W), (0, 1, 4, 2, 5, 3)
    shape = (N, depth, H * size, W * size)
    chain.bind(chain("rearrange", chain.input(0), factors=factors, perm=perm, shape=shape))


def space_to_depth(node: Node, b: Builder) -> None:
    """``SpaceToDepth``."""
    chain, size = Chain(node, b), node.int("blocksize", 1)
    N, C, H, W = _image(node, b)
    factors = (N, C, H // size, size, W // size, size)
    perm = (0, 3, 5, 1, 2, 4) if node.str("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    shape = (N, C * size**2, H // size, W // size)
    chain.bind(chain("rearrange", chain.input(0), factors=factors, perm=perm, shape=shape))


def _image(node: Node, b: Builder) -> tuple[int, int, int, int]:
    shape = b.type_of(node.input(0)).shape
    if len(shape) != 4:
        raise node.refusal(f"works on a tensor of shape {shape}; supported: [N, C, H, W]")
    return shape[0], shape[1], shape[2], shape[3]


def triangle(node: Node, b: Builder) -> None:
    """``Trilu``: a triangle is kept, the rest is zero."""
    chain, value = Chain(node, b), b.value(node.input(0))
    diagonal = _integers(b, node, 1, "diagonal")[0] if node.has_input(1) else 0
    rows, columns = chain.shape(value)[-2:]
    check_size(node, rows * columns)
    ones = np.ones((rows, columns), bool)
    kept = np.triu(ones, diagonal) if node.int("upper", 1) else np.tril(ones, diagonal)
    mask, dtype = chain.constant(kept, DType.BOOL), chain.dtype(value)
    chain.bind(chain("where", mask, value, chain.constant(0, dtype), dtype=dtype))


def one_hot(node: Node, b: Builder) -> None:
    """``OneHot`` of computed indices."""
    chain, indices = Chain(node, b), b.value(node.input(0))
    depth = _integers(b, node, 1, "depth")[0]
    check_size(node, depth)
    shape = chain.shape(indices)
    axis = normal_axis(node, node.int("axis", -1), len(shape) + 1)
    whole = chain.cast(indices, DType.S64)
    front = chain("mod", whole, chain.constant(depth, DType.S64))
    inside = chain("and", *_within(chain, whole, depth))
    lined = (*shape[:axis], 1, *shape[axis:])
    places = np.arange(depth).reshape(-1, *(1,) * (len(shape) - axis))
    hit = chain("equal", chain.reshape(front, lined), chain.constant(places, DType.S64))
    hit = chain("and", hit, chain.reshape(inside, lined))
    values = chain.input(2)
    off, on = (chain.reshape(chain.slice(values, 0, index, 1), ()) for index in (0, 1))
    chain.bind(chain("where", hit, on, off, dtype=chain.dtype(values)))


def _within(chain: Chain, indices: str, depth: int) -> tuple[str, str]:
    low, high = (chain.constant(bound, DType.S64) for bound in (-depth, depth))
    return chain("less_or_equal", low, indices), chain("less", indices, high)

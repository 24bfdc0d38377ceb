"""Import of what reduces axes: sums, means, extremes, positions, softmax and its kin."""

import math
from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np

from ....ir.types import DType
from ..arguments import constant_input, normal_axis
from ..builder import Builder
from ..folding import check_size
from ..node import Node
from .chain import Chain
from .elementwise import import_unary

Step = Callable[[Chain, str], str]


def _same(chain: Chain, value: str) -> str:
    return value


def square(chain: Chain, value: str) -> str:
    """Return the squares of a value."""
    return chain("mul", value, value)


def reduced(chain: Chain, kind: str, value: str, axes: Sequence[int]) -> str:
    """Return a value reduced along axes, which are kept with extent one.

    Neighbouring axes are reduced as one.

    Args:
        chain: Where operators are added.
        kind: Kind of the reduction, without ``reduce_``.
        value: The value.
        axes: The axes, in order.
    """
    for _, run in groupby(enumerate(axes), lambda item: item[1] - item[0]):
        members = [axis for _, axis in run]
        first, last, shape = members[0], members[-1] + 1, chain.shape(value)
        merged = (*shape[:first], math.prod(shape[first:last]), *shape[last:])
        value = chain(f"reduce_{kind}", chain.reshape(value, merged), axis=first)
        value = chain.reshape(value, (*shape[:first], *(1,) * len(members), *shape[last:]))
    return value


def reduction(
    kind: str, *, before: Step = _same, after: Step = _same, axes_input: int = 18
) -> Callable[[Node, Builder], None]:
    """Return the import of a reduction.

    Args:
        kind: Kind of the reduction, without ``reduce_``.
        before: What is done to its operand.
        after: What is done to its result.
        axes_input: The opset since which axes are an input.
    """

    def run(node: Node, b: Builder) -> None:
        chain = Chain(node, b)
        value, shape = chain.input(0), b.type_of(node.input(0)).shape
        axes = reduced_axes(node, b, axes_input)
        if axes is None:
            chain.bind(value)
            return
        value = after(chain, reduced(chain, kind, before(chain, value), axes))
        chain.bind(chain.reshape(value, kept(node, shape, axes)))

    return run


def reduced_axes(node: Node, b: Builder, since: int = 18) -> tuple[int, ...] | None:
    """Return the axes of a reduction, from the front and in order; ``None``: nothing is done.

    Args:
        node: The node.
        b: Knows the constants.
        since: Opset from which on axes are an input.
    """
    rank, given = len(b.type_of(node.input(0)).shape), tuple[int, ...]()
    if node.opset < since:
        given = node.ints("axes", ())
    elif node.has_input(1):
        given = tuple(int(axis) for axis in constant_input(b, node, 1, "axes").reshape(-1))
    if not given and node.int("noop_with_empty_axes", 0):
        return None
    return tuple(sorted(normal_axis(node, axis, rank) for axis in given)) or tuple(range(rank))


def kept(node: Node, shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape after a reduction: reduced axes have extent one, or are gone.

    Args:
        node: Says whether reduced axes stand.
        shape: Before.
        axes: The reduced ones.
    """
    if node.int("keepdims", 1):
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def log_sum_exp(node: Node, b: Builder) -> None:
    """``ReduceLogSumExp``: the largest value is set aside, so that nothing overflows."""
    chain, axes = Chain(node, b), reduced_axes(node, b)
    x, shape = chain.input(0), b.type_of(node.input(0)).shape
    if axes is None:
        chain.bind(x)
        return
    highest = reduced(chain, "max", x, axes)
    powers = chain("exp", chain("sub", x, highest))
    total = chain("log", reduced(chain, "sum", powers, axes))
    chain.bind(chain.reshape(chain("add", total, highest), kept(node, shape, axes)))


def position(kind: str) -> Callable[[Node, Builder], None]:
    """Return the import of ``ArgMax`` or ``ArgMin``."""

    def run(node: Node, b: Builder) -> None:
        chain, shape = Chain(node, b), b.type_of(node.input(0)).shape
        axis = normal_axis(node, node.int("axis", 0), len(shape))
        prefix = "reduce_last_" if node.int("select_last_index", 0) else "reduce_"
        found = chain(f"{prefix}{kind}", chain.input(0), axis=axis)
        chain.bind(chain.reshape(found, kept(node, shape, (axis,))))

    return run


def softmax(node: Node, b: Builder) -> None:
    """``Softmax``."""
    _along_axis(node, b, lambda chain, value, axis: chain("softmax", value, axis=axis))


def log_softmax(node: Node, b: Builder) -> None:
    """``LogSoftmax``: ``x - max - log(sum(exp(x - max)))``."""

    def run(chain: Chain, value: str, axis: int) -> str:
        below = chain("sub", value, chain("reduce_max", value, axis=axis))
        total = chain("reduce_sum", chain("exp", below), axis=axis)
        return chain("sub", below, chain("log", total))

    _along_axis(node, b, run)


def hardmax(node: Node, b: Builder) -> None:
    """``Hardmax``: one where the first maximum is, else zero."""

    def run(chain: Chain, value: str, axis: int) -> str:
        shape = chain.shape(value)
        places = np.arange(shape[axis]).reshape(-1, *(1,) * (len(shape) - axis - 1))
        found = chain("reduce_arg_max", value, axis=axis)
        hit = chain("equal", found, chain.constant(places, DType.S64))
        return chain.cast(hit, chain.dtype(value))

    _along_axis(node, b, run)


def _along_axis(node: Node, b: Builder, run: Callable[[Chain, str, int], str]) -> None:
    """Import a function of an axis; before opset 13 the axes from ``axis`` on are one."""
    chain, shape = Chain(node, b), b.type_of(node.input(0)).shape
    if node.opset >= 13:
        axis = normal_axis(node, node.int("axis", -1), len(shape))
        chain.bind(run(chain, chain.input(0), axis))
        return
    axis = normal_axis(node, node.int("axis", 1), len(shape))
    flat = (math.prod(shape[:axis]), math.prod(shape[axis:]))
    result = run(chain, chain.reshape(chain.input(0), flat), 1)
    chain.bind(chain.reshape(result, shape))


def reduce_mean(node: Node, b: Builder) -> None:
    """``ReduceMean``; over height and width of an image it is a global average pool."""
    shape, axes = b.type_of(node.input(0)).shape, reduced_axes(node, b)
    if len(shape) != 4 or axes != (2, 3):
        reduction("mean")(node, b)
        return
    if node.int("keepdims", 1):
        import_unary("global_avg_pool", node, b)
        return
    chain = Chain(node, b)
    chain.bind(chain.reshape(chain("global_avg_pool", chain.input(0)), shape[:2]))


def cumulative_sum(node: Node, b: Builder) -> None:
    """``CumSum``: of floats a product with a triangle of ones."""
    chain, x = Chain(node, b), b.value(node.input(0))
    if chain.dtype(x) is not DType.F32:
        _scan(chain, x, "add", 0)
        return
    shape, axis = chain.shape(x), _cumulated(node, b)
    check_size(node, shape[axis] ** 2)
    ones = np.tri(shape[axis], k=-1 if node.int("exclusive", 0) else 0)
    ones = ones.T if node.int("reverse", 0) else ones
    perm = (*(other for other in range(len(shape)) if other != axis), axis)
    turned = chain.transpose(x, perm)
    rows = chain.reshape(turned, (math.prod(shape) // shape[axis], shape[axis]))
    total = chain.reshape(chain("dense", rows, chain.constant(ones)), chain.shape(turned))
    chain.bind(chain.transpose(total, tuple(perm.index(other) for other in range(len(shape)))))


def cumulative_product(node: Node, b: Builder) -> None:
    """``CumProd``."""
    _scan(Chain(node, b), b.value(node.input(0)), "mul", 1)


def _cumulated(node: Node, b: Builder) -> int:
    given = int(constant_input(b, node, 1, "axis").reshape(-1)[0])
    return normal_axis(node, given, len(b.type_of(node.input(0)).shape))


def _scan(chain: Chain, x: str, kind: str, neutral: int) -> None:
    """Bind what a function makes of all elements up to each, in steps of twice the reach."""
    node, axis = chain.node, _cumulated(chain.node, chain.b)
    extent, is_reverse = chain.shape(x)[axis], bool(node.int("reverse", 0))
    if is_reverse:
        x = chain.slice(x, axis, extent - 1, extent, -1)
    if node.int("exclusive", 0):
        x = _shifted(chain, x, axis, 1, neutral)
    reach = 1
    while reach < extent:
        x = chain(kind, x, _shifted(chain, x, axis, reach, neutral))
        reach *= 2
    chain.bind(chain.slice(x, axis, extent - 1, extent, -1) if is_reverse else x)


def _shifted(chain: Chain, x: str, axis: int, by: int, neutral: int) -> str:
    """Return a value moved along an axis, with a number where it came from."""
    shape = chain.shape(x)
    pads = [0] * (2 * len(shape))
    pads[axis] = by
    kept = chain.slice(x, axis, 0, shape[axis] - by) if by < shape[axis] else ""
    value = chain.constant([neutral], chain.dtype(x))
    if not kept:
        return chain.expand(value, shape)
    return chain("pad", kept, value, pads=tuple(pads), mode="constant")

"""Import of normalisations, as means, products and quotients.

Args:
    chain: Adds the operators.
    value: Name of the operand.
    axes: What the mean is taken over.
    epsilon: Added to the mean square.
"""

from collections.abc import Sequence

from ....ir.types import DType
from ..arguments import normal_axis
from ..builder import Builder
from ..node import Node
from .chain import Chain
from .reductions import reduced, square


def centred(chain: Chain, value: str, axes: Sequence[int]) -> str:
    """Return a value less its mean along axes."""
    return chain("sub", value, reduced(chain, "mean", value, axes))


def scaled(chain: Chain, value: str, axes: Sequence[int], epsilon: float) -> str:
    """Return a value over the root of its mean square along axes."""
    power = reduced(chain, "mean", square(chain, value), axes)
    return chain("div", value, chain("sqrt", chain("add", power, chain.constant(epsilon))))


def layer_normalization(node: Node, b: Builder) -> None:
    """``LayerNormalization`` along the last axes; mean and inverse deviation are outputs, too."""
    chain, x = Chain(node, b), b.value(node.input(0))
    axes = _last_axes(chain, node, x)
    mean = reduced(chain, "mean", x, axes)
    below = chain("sub", x, mean)
    power = reduced(chain, "mean", square(chain, below), axes)
    root = chain("sqrt", chain("add", power, chain.constant(node.float("epsilon", 1e-5))))
    result = chain("mul", chain("div", below, root), chain.input(1))
    if node.has_input(2):
        result = chain("add", result, chain.input(2))
    chain.bind(result)
    if any(node.outputs[1:2]):
        chain.bind(mean, 1)
    if any(node.outputs[2:3]):
        chain.bind(chain("reciprocal", root), 2)


def rms_normalization(node: Node, b: Builder) -> None:
    """``RMSNormalization`` along the last axes."""
    chain, x = Chain(node, b), b.value(node.input(0))
    axes = _last_axes(chain, node, x)
    result = scaled(chain, x, axes, node.float("epsilon", 1e-5))
    chain.bind(chain("mul", result, chain.input(1)))


def _last_axes(chain: Chain, node: Node, x: str) -> tuple[int, ...]:
    rank = len(chain.shape(x))
    return tuple(range(normal_axis(node, node.int("axis", -1), rank), rank))


def instance_normalization(node: Node, b: Builder) -> None:
    """``InstanceNormalization``: every channel of every image by itself.

    As onnxruntime does it, an element is multiplied and shifted. Where the elements of a channel
    are nearly the same, product and shift cancel, and what is left is their rounding.
    """
    chain, x = Chain(node, b), b.value(node.input(0))
    axes = tuple(range(2, len(chain.shape(x))))
    mean = reduced(chain, "mean", x, axes)
    power = reduced(chain, "mean", square(chain, chain("sub", x, mean)), axes)
    root = chain("sqrt", chain("add", power, chain.constant(node.float("epsilon", 1e-5))))
    channels = (chain.shape(x)[1], *(1 for _ in axes))
    scale, bias = (chain.reshape(chain.input(index), channels) for index in (1, 2))
    factor = chain("mul", chain("reciprocal", root), scale)
    shift = chain("sub", bias, chain("mul", mean, factor))
    chain.bind(chain("add", chain("mul", x, factor), shift))


def group_normalization(node: Node, b: Builder) -> None:
    """``GroupNormalization``; before opset 21 scale and bias are those of groups."""
    chain, x = Chain(node, b), b.value(node.input(0))
    shape, groups = chain.shape(x), node.int("num_groups", 1)
    split = (shape[0], groups, shape[1] // groups, *shape[2:])
    axes = tuple(range(2, len(split)))
    grouped = chain.reshape(x, split)
    result = scaled(chain, centred(chain, grouped, axes), axes, node.float("epsilon", 1e-5))
    scale, bias = chain.input(1), chain.input(2)
    if chain.shape(scale) == (shape[1],):
        result = chain.reshape(result, shape)
    channels = (*chain.shape(scale), *(1,) * (len(chain.shape(result)) - 2))
    result = chain("mul", result, chain.reshape(scale, channels))
    result = chain("add", result, chain.reshape(bias, channels))
    chain.bind(chain.reshape(result, shape))


def mean_variance_normalization(node: Node, b: Builder) -> None:
    """``MeanVarianceNormalization``."""
    chain, x = Chain(node, b), b.value(node.input(0))
    axes = sorted(
        normal_axis(node, axis, len(chain.shape(x))) for axis in node.ints("axes", (0, 2, 3))
    )
    chain.bind(scaled(chain, centred(chain, x, axes), axes, 1e-9))


def lp_normalization(node: Node, b: Builder) -> None:
    """``LpNormalization`` along an axis; what has no length is zero."""
    chain, x = Chain(node, b), b.value(node.input(0))
    node.require("p", 2, 1, 2)
    axes = (normal_axis(node, node.int("axis", -1), len(chain.shape(x))),)
    if node.int("p", 2) == 1:
        length = reduced(chain, "sum", chain("abs", x), axes)
    else:
        length = chain("sqrt", reduced(chain, "sum", square(chain, x), axes))
    nothing = chain("equal", length, chain.constant(0.0))
    divisor = chain("where", nothing, chain.constant(1.0), length, dtype=DType.F32)
    chain.bind(chain("div", x, divisor))


def local_response_normalization(node: Node, b: Builder) -> None:
    """``LRN``: over the squares of neighbouring channels."""
    chain, x = Chain(node, b), b.value(node.input(0))
    size, shape = node.int("size", 1), chain.shape(x)
    before = (size - 1) // 2
    ends = (0, before, *(0,) * (len(shape) - 2), 0, size - 1 - before, *(0,) * (len(shape) - 2))
    padded = chain("pad", square(chain, x), chain.constant([0.0]), pads=ends, mode="constant")
    total = chain.slice(padded, 1, 0, shape[1])
    for offset in range(1, size):
        total = chain("add", total, chain.slice(padded, 1, offset, shape[1]))
    factor = chain.constant(node.float("alpha", 1e-4) / size)
    base = chain("add", chain("mul", total, factor), chain.constant(node.float("bias", 1.0)))
    beta = chain.constant(node.float("beta", 0.75))
    chain.bind(chain("div", x, chain("pow", base, beta)))

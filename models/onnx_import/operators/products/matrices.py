"""Import of matrix products, and of batch normalisation, which folds into them."""

import math

import numpy as np

from .....ir.operators.elementary import Array
from .....ir.operators.shapes import MOST_MATRIX_AXES
from .....ir.types import DType, Quantization
from ...arguments import constant_input
from ...builder import Builder
from ...node import Node
from ..chain import Chain
from ..reductions import reduced, square


def batch_normalization(node: Node, b: Builder) -> None:
    """``BatchNormalization``: a product and a sum per channel.

    ``fold-affine`` moves both into the weights of the operator before. Computed statistics, and
    those of the batch in training mode, take more steps.
    """
    names = ("scale", "bias", "mean", "variance")
    if node.int("training_mode", 0):
        _normalise_batch(Chain(node, b))
        return
    if any(b.numbers(node.input(index)) is None for index in (1, 2, 3, 4)):
        chain = Chain(node, b)
        chain.bind(_normalised(chain, *(_channels(chain, index) for index in (3, 4))))
        return
    rank = len(b.type_of(node.input(0)).shape)
    gamma, beta, mean, variance = (
        constant_input(b, node, index + 1, name).astype(np.float64)
        for index, name in enumerate(names)
    )
    epsilon = node.float("epsilon", 1e-5)
    if (variance + epsilon <= 0).any():
        raise node.refusal("has a variance that is not positive")
    factor = gamma / np.sqrt(variance + epsilon)
    out, x = node.outputs[0], b.value(node.input(0))
    scaled = b.emit("mul", (x, _channel(b, f"{out}.scale", factor, rank)), f"{out}.scaled", node)
    shift = _channel(b, f"{out}.shift", beta - mean * factor, rank)
    b.bind(out, b.emit("add", (scaled, shift), out, node))


def _channels(chain: Chain, index: int) -> str:
    """Return an input of one value per channel, shaped to broadcast along axis 1."""
    rank = len(chain.b.type_of(chain.node.input(0)).shape)
    value = chain.input(index)
    return chain.reshape(value, (*chain.shape(value), *(1,) * max(0, rank - 2)))


def _normalised(chain: Chain, mean: str, variance: str) -> str:
    """Return the operand normalised by a computed mean and variance, scaled and shifted."""
    epsilon = chain.constant(chain.node.float("epsilon", 1e-5))
    root = chain("sqrt", chain("add", variance, epsilon))
    centred = chain("div", chain("sub", chain.input(0), mean), root)
    return chain("add", chain("mul", centred, _channels(chain, 1)), _channels(chain, 2))


def _normalise_batch(chain: Chain) -> None:
    """Bind what a batch normalised by itself is, and the running mean and variance."""
    node, x = chain.node, chain.input(0)
    axes = tuple(axis for axis in range(len(chain.shape(x))) if axis != 1)
    mean = reduced(chain, "mean", x, axes)
    variance = reduced(chain, "mean", square(chain, chain("sub", x, mean)), axes)
    channels = (chain.shape(x)[1], *(1,) * (len(axes) - 1))
    found = [chain.reshape(value, channels) for value in (mean, variance)]
    chain.bind(_normalised(chain, *found))
    momentum = chain.constant(node.float("momentum", 0.9))
    rest = chain.constant(1 - node.float("momentum", 0.9))
    for number, value in enumerate(found, start=1):
        if any(node.outputs[number : number + 1]):
            before = chain("mul", chain.input(2 + number), momentum)
            flat = chain.reshape(value, chain.shape(before))
            chain.bind(chain("add", before, chain("mul", flat, rest)), number)


def _channel(b: Builder, name: str, values: Array, rank: int) -> str:
    """Add a constant with one value per channel, shaped to broadcast along axis 1."""
    shape = (-1,) + (1,) * max(0, rank - 2)
    return b.constant(name, values.astype(np.float32).reshape(shape))


def gemm(node: Node, b: Builder) -> None:
    """``Gemm``: ``alpha * A' @ B' + beta * C``; constant factors are folded into constants."""
    out = node.outputs[0]
    alpha, beta = node.float("alpha", 1.0), node.float("beta", 1.0)
    a = b.value(node.input(0))
    if node.int("transA", 0):
        a = b.transpose(a, (1, 0), f"{out}.a", node)
    w = b.value(node.input(1))
    if not node.int("transB", 0):
        w = b.transpose(w, (1, 0), f"{out}.w", node)
    w = _scaled(b, w, alpha, f"{out}.w_scaled", node)
    if not node.has_input(2) or beta == 0.0:
        b.bind(out, b.emit("dense", (a, w), out, node))
        return
    c = _scaled(b, b.value(node.input(2)), beta, f"{out}.c_scaled", node)
    J = b.types[w].shape[0]
    shape = b.types[c].shape
    if shape in ((J,), (1, J)) and (J > 1 or len(shape) == 1):
        bias = _flat(b, c, J, f"{out}.c_flat", node)
        b.bind(out, b.emit("dense", (a, w, bias), out, node))
        return
    product = b.emit("dense", (a, w), f"{out}.product", node)
    b.bind(out, b.emit("add", (product, c), out, node))


def _scaled(b: Builder, value: str, factor: float, name: str, node: Node) -> str:
    if factor == 1.0:
        return value
    if value in b.arrays:
        return b.constant(name, b.arrays[value] * np.float32(factor))
    scale = b.constant(f"{name}.factor", np.array([factor], np.float32))
    return b.emit("mul", (value, scale), name, node)


def _flat(b: Builder, value: str, count: int, name: str, node: Node) -> str:
    if b.types[value].shape == (count,):
        return value
    if value in b.arrays:
        return b.constant(name, b.arrays[value].reshape(count), b.types[value].quant)
    return b.emit("reshape", (value,), name, node, attrs={"shape": (count,)})


def matmul(node: Node, b: Builder) -> None:
    """``MatMul``: a matrix is the weights of one product, all else makes a grouped one."""
    out, w = node.outputs[0], b.value(node.input(1))
    if len(b.types[w].shape) == 2 and len(b.type_of(node.input(0)).shape) > 0:
        transposed = b.transpose(w, (1, 0), f"{out}.w", node)
        product_with_matrix(node, b, b.value(node.input(0)), transposed)
        return
    chain = Chain(node, b)
    chain.bind(batched_product(chain, b.value(node.input(0)), w))


def matrix_product(chain: Chain, a: str, b: str) -> str:
    """Return ``a @ b`` as ONNX has it; a matrix ``b`` is the weights of one product.

    Args:
        chain: Where operators are added.
        a: The left operand, of any rank.
        b: The right one.
    """
    shape = chain.shape(a)
    if len(chain.shape(b)) != 2 or not shape:
        return batched_product(chain, a, b)
    w = chain.transpose(b, (1, 0))
    product = chain("dense", chain.reshape(a, (math.prod(shape[:-1]), shape[-1])), w)
    return chain.reshape(product, (*shape[:-1], chain.shape(w)[0]))


def batched_product(
    chain: Chain, a: str, b: str, dtype: DType | None = None, quant: Quantization | None = None
) -> str:
    """Return ``a @ b`` as ONNX has it, batches broadcast.

    The weights are ``b``, transposed, so that the result has the rows of ``a``.

    Args:
        chain: Where operators are added.
        a: The left operand, of any rank.
        b: The right one.
        dtype: Element type of the result, if it is not that of the operands.
        quant: Its quantisation.
    """
    left, right = chain.shape(a), chain.shape(b)
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    left, right = (1, *left)[-max(2, len(left)) :], (right if len(right) > 1 else (*right, 1))
    batch = np.broadcast_shapes(left[:-2], right[:-2])
    a = chain.expand(chain.reshape(a, left), (*batch, *left[-2:]))
    b = chain.expand(chain.reshape(b, right), (*batch, *right[-2:]))
    axes = _batch_axes(batch)
    x, w = chain.reshape(a, (*axes, *left[-2:])), chain.reshape(b, (*axes, *right[-2:]))
    w = chain.transpose(w, (*range(len(axes)), len(axes) + 1, len(axes)))
    product = chain.emit("dense", (x, w), {}, dtype=dtype, quant=quant)
    return chain.reshape(product, (*batch, *rows, *columns))


def _batch_axes(batch: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes of a batch in a product of matrices: these, or one of all, or none of one."""
    count = math.prod(batch)
    if count == 1:
        return ()
    return batch if len(batch) + 2 <= MOST_MATRIX_AXES else (count,)


def product_with_matrix(node: Node, b: Builder, x: str, w: str) -> None:
    """Emit ``dense`` for an activation of any rank, flattened to two axes and back.

    Args:
        node: The node.
        b: Adds the operators.
        x: Name of the activation.
        w: Name of the matrix.
    """
    out, shape = node.outputs[0], b.types[x].shape
    if len(shape) == 2:
        b.bind(out, b.emit("dense", (x, w), out, node))
        return
    flat = (math.prod(shape[:-1]), shape[-1] if shape else 1)
    J = b.types[w].shape[0]
    value = b.emit("reshape", (x,), f"{out}.flat", node, attrs={"shape": flat})
    value = b.emit("dense", (value, w), f"{out}.product", node)
    target = (*shape[:-1], J) if len(shape) > 1 else (J,)
    b.bind(out, b.emit("reshape", (value,), out, node, attrs={"shape": target}))

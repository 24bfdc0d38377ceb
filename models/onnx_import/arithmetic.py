"""Import of float arithmetic: products, sums, batch normalisation, activations."""

import math
from collections.abc import Mapping

import numpy as np

from ...ir.elementary import Array
from ...ir.graph import Attr
from .arguments import constant_input, normal_axis, scalar_input
from .builder import Builder
from .node import Node


def import_unary(
    kind: str, node: Node, b: Builder, attrs: Mapping[str, Attr] | None = None
) -> None:
    """Import an operator of one operand."""
    out = node.outputs[0]
    b.bind(out, b.emit(kind, (b.value(node.input(0)),), out, node, attrs=attrs))


def relu(node: Node, b: Builder) -> None:
    """``Relu``."""
    import_unary("relu", node, b)


def sigmoid(node: Node, b: Builder) -> None:
    """``Sigmoid``."""
    import_unary("sigmoid", node, b)


def tanh(node: Node, b: Builder) -> None:
    """``Tanh``."""
    import_unary("tanh", node, b)


def leaky_relu(node: Node, b: Builder) -> None:
    """``LeakyRelu``."""
    import_unary("leaky_relu", node, b, {"alpha": node.float("alpha", 0.01)})


def clip(node: Node, b: Builder) -> None:
    """``Clip``; bounds are constant inputs, infinite ones do not count."""
    bounds = {
        "lo": scalar_input(b, node, 1, "lower bound"),
        "hi": scalar_input(b, node, 2, "upper bound"),
    }
    finite = {name: x for name, x in bounds.items() if x is not None and abs(x) < _F32_MAX}
    if any(math.isnan(x) for x in bounds.values() if x is not None):
        raise node.refusal("has a bound that is not a number")
    import_unary("clip", node, b, dict(finite))


_F32_MAX = float(np.finfo(np.float32).max)


def softmax(node: Node, b: Builder) -> None:
    """``Softmax``; before opset 13 it flattens the axes from ``axis`` on into one."""
    source = node.input(0)
    shape = b.type_of(source).shape
    if node.opset >= 13:
        axis = normal_axis(node, node.int("axis", -1), len(shape))
        import_unary("softmax", node, b, {"axis": axis})
        return
    axis = normal_axis(node, node.int("axis", 1), len(shape))
    flat = (math.prod(shape[:axis]), math.prod(shape[axis:]))
    out = node.outputs[0]
    value = b.emit("reshape", (b.value(source),), f"{out}.flat", node, attrs={"shape": flat})
    value = b.emit("softmax", (value,), f"{out}.softmax", node, attrs={"axis": 1})
    b.bind(out, b.emit("reshape", (value,), out, node, attrs={"shape": shape}))


def add(node: Node, b: Builder) -> None:
    """``Add``, and ``Sum`` of any number of operands from left to right."""
    _binary("add", node, b)


def mul(node: Node, b: Builder) -> None:
    """``Mul``."""
    _binary("mul", node, b)


def _binary(kind: str, node: Node, b: Builder) -> None:
    out, total = node.outputs[0], b.value(node.input(0))
    last = len(node.inputs) - 1
    for index in range(1, last + 1):
        name = out if index == last else f"{out}.part"
        total = b.emit(kind, (total, b.value(node.input(index))), name, node)
    b.bind(out, total)


def batch_normalization(node: Node, b: Builder) -> None:
    """``BatchNormalization`` in inference: a product and a sum per channel.

    ``simplify/affine.py`` moves both into the weights of the operator before.
    """
    node.require("training_mode", 0, 0)
    rank = len(b.type_of(node.input(0)).shape)
    names = ("scale", "bias", "mean", "variance")
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
    """``MatMul`` of an activation of any rank with a matrix."""
    out = node.outputs[0]
    w = b.value(node.input(1))
    if len(b.types[w].shape) != 2:
        raise node.refusal(
            f"multiplies by a tensor of shape {b.types[w].shape}; supported: a matrix [L, J]"
        )
    product_with_matrix(node, b, b.value(node.input(0)), b.transpose(w, (1, 0), f"{out}.w", node))


def product_with_matrix(node: Node, b: Builder, x: str, w: str) -> None:
    """Emit ``dense`` for an activation of any rank, flattened to two axes and back."""
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

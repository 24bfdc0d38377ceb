"""Import of operators that compute on quantised tensors (QOperator format)."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from .....ir.graph import Attr
from .....ir.operators.elementary import Array, all_bytes, dequantize, leaky_relu, quantize, sigmoid
from .....ir.types import DType, Quantization
from ...arguments import constant_input, image_extent, normal_axis, quantization_input
from ...builder import Builder
from ...node import Node
from ..chain import Chain
from ..products.convolution import average_attrs, conv_attrs
from ..products.matrices import batched_product
from .qdq import quantised_value


def _operand(b: Builder, node: Node, index: int, axis: int | None = None) -> str:
    """Return the quantised tensor whose scale and zero point are the two next inputs."""
    quant, _ = quantization_input(b, node, index + 1, index + 2, axis)
    return quantised_value(b, node, node.input(index), quant)


def _target(b: Builder, node: Node, scale: int, like: str) -> tuple[DType, Quantization]:
    """Return element type and quantisation of the result."""
    quant, dtype = quantization_input(b, node, scale, scale + 1)
    found = dtype or b.types[like].dtype
    if found is DType.S32:
        raise node.refusal("quantises its result to int32; supported: int8, uint8")
    return found, quant


def _finish(
    b: Builder,
    node: Node,
    kind: str,
    operands: tuple[str, ...],
    scale: int,
    attrs: Mapping[str, Attr] | None = None,
) -> None:
    out = node.outputs[0]
    dtype, quant = _target(b, node, scale, operands[0])
    b.bind(out, b.emit(kind, operands, out, node, attrs=attrs, dtype=dtype, quant=quant))


def qlinear_conv(node: Node, b: Builder) -> None:
    """``QLinearConv``."""
    x, w = _operand(b, node, 0), _operand(b, node, 3, axis=0)
    operands = (x, w, b.value(node.input(8))) if node.has_input(8) else (x, w)
    attrs = conv_attrs(node, b, node.input(0), b.types[w].shape)
    _finish(b, node, "conv2d", operands, 6, attrs)


def qlinear_matmul(node: Node, b: Builder) -> None:
    """``QLinearMatMul`` of two matrices, or of batches of them."""
    if any(len(b.type_of(node.input(index)).shape) != 2 for index in (0, 3)):
        x, w = _operand(b, node, 0), _operand(b, node, 3)
        dtype, quant = _target(b, node, 6, x)
        chain = Chain(node, b)
        chain.bind(batched_product(chain, x, w, dtype, quant))
        return
    x, w = _operand(b, node, 0), _operand(b, node, 3, axis=1)
    w = b.transpose(w, (1, 0), f"{node.outputs[0]}.w", node)
    _finish(b, node, "dense", (x, w), 6)


def qgemm(node: Node, b: Builder) -> None:
    """``QGemm`` with ``alpha = 1`` and a quantised result."""
    if node.float("alpha", 1.0) != 1.0:
        raise node.refusal("has alpha other than 1")
    if not node.has_input(7):
        raise node.refusal("returns float32; supported: a quantised result")
    transposed = bool(node.int("transB", 0))
    x, w = _operand(b, node, 0), _operand(b, node, 3, axis=0 if transposed else 1)
    if node.int("transA", 0):
        x = b.transpose(x, (1, 0), f"{node.outputs[0]}.a", node)
    if not transposed:
        w = b.transpose(w, (1, 0), f"{node.outputs[0]}.w", node)
    bias = _bias(b, node, b.types[w].shape[0])
    _finish(b, node, "dense", (x, w, *bias), 7)


def _bias(b: Builder, node: Node, count: int) -> tuple[str, ...]:
    if not node.has_input(6):
        return ()
    array = constant_input(b, node, 6, "bias")
    if array.size not in (1, count) or array.dtype != np.int32:
        raise node.refusal(f"has a bias of {array.dtype} {array.shape}, expected {count} int32")
    full = np.broadcast_to(array.reshape(-1), (count,))
    return (b.constant(node.input(6), np.ascontiguousarray(full)),)


def qlinear_add(node: Node, b: Builder) -> None:
    """``QLinearAdd``."""
    _finish(b, node, "add", (_operand(b, node, 0), _operand(b, node, 3)), 6)


def qlinear_mul(node: Node, b: Builder) -> None:
    """``QLinearMul``."""
    _finish(b, node, "mul", (_operand(b, node, 0), _operand(b, node, 3)), 6)


def qlinear_global_average_pool(node: Node, b: Builder) -> None:
    """``QLinearGlobalAveragePool``."""
    node.require("channels_last", 0, 0)
    image_extent(b, node, node.input(0))
    _finish(b, node, "global_avg_pool", (_operand(b, node, 0),), 3)


def qlinear_average_pool(node: Node, b: Builder) -> None:
    """``QLinearAveragePool``."""
    node.require("channels_last", 0, 0)
    x = _operand(b, node, 0)
    _finish(b, node, "avg_pool", (x,), 3, average_attrs(node, b, counts_overhang=True))


def qlinear_concat(node: Node, b: Builder) -> None:
    """``QLinearConcat``: a table per operand that has another quantisation than the result."""
    out = node.outputs[0]
    quant, dtype = quantization_input(b, node, 0, 1)
    parts = [_operand(b, node, index) for index in range(2, len(node.inputs), 3)]
    found = dtype or b.types[parts[0]].dtype
    same = [_rescaled(b, node, part, found, quant) for part in parts]
    rank = len(b.types[same[0]].shape)
    axis = normal_axis(node, node.int("axis", 0), rank)
    b.bind(out, b.emit("concat", same, out, node, attrs={"axis": axis}))


def qlinear_leaky_relu(node: Node, b: Builder) -> None:
    """``QLinearLeakyRelu``."""
    alpha = node.float("alpha", 0.01)
    _by_table(b, node, lambda x: leaky_relu(x, alpha))


def qlinear_sigmoid(node: Node, b: Builder) -> None:
    """``QLinearSigmoid``."""
    _by_table(b, node, sigmoid)


def _by_table(b: Builder, node: Node, function: Callable[[Array], Array]) -> None:
    x, out = _operand(b, node, 0), node.outputs[0]
    dtype, quant = _target(b, node, 3, x)
    b.bind(out, _lookup(b, node, x, function, out, dtype, quant))


def _rescaled(b: Builder, node: Node, x: str, dtype: DType, quant: Quantization) -> str:
    found = b.types[x]
    if (found.dtype, found.quant) == (dtype, quant):
        return x
    return _lookup(b, node, x, lambda real: real, f"{x}.rescaled", dtype, quant)


def _lookup(
    b: Builder,
    node: Node,
    x: str,
    function: Callable[[Array], Array],
    name: str,
    dtype: DType,
    quant: Quantization,
) -> str:
    found = b.types[x]
    assert found.quant is not None, "operands were given a quantisation"
    source = np.int8 if found.dtype is DType.S8 else np.uint8
    real = dequantize(all_bytes(source), *found.quant.single)
    target = np.int8 if dtype is DType.S8 else np.uint8
    table = quantize(function(real), *quant.single, target)
    entry = b.constant(f"{name}.table", table)
    return b.emit("lookup", (x, entry), name, node, dtype=dtype, quant=quant)


def qlinear_softmax(node: Node, b: Builder) -> None:
    """``QLinearSoftmax``: in floats, between dequantisation and quantisation."""
    chain, x = Chain(node, b), _operand(b, node, 0)
    dtype, quant = _target(b, node, 3, x)
    axis = normal_axis(node, node.int("axis", -1), len(chain.shape(x)))
    real = chain("dequantize", x, dtype=DType.F32)
    shape = chain.shape(real)
    if node.int("opset", 13) < 13:
        flat = (math.prod(shape[:axis]), math.prod(shape[axis:]))
        real, axis = chain.reshape(real, flat), 1
    result = chain.reshape(chain("softmax", real, axis=axis), shape)
    out = node.outputs[0]
    b.bind(out, b.emit("quantize", (result,), out, node, dtype=dtype, quant=quant))

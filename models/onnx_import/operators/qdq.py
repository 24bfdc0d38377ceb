"""Import of ``QuantizeLinear`` and ``DequantizeLinear``, taken literally.

``form-integers`` turns float operators between them into integer ones.
"""

from collections.abc import Mapping

import numpy as np

from ....ir.elementary import quantize
from ....ir.types import DType, Quantization
from ..arguments import normal_axis, quantization_input
from ..builder import Builder
from ..node import Node

_OUTPUT_TYPES: Mapping[int, DType] = {2: DType.U8, 3: DType.S8}


def quantize_linear(node: Node, b: Builder) -> None:
    """``QuantizeLinear``; a constant is quantised at once."""
    out, source = node.outputs[0], node.input(0)
    quant, dtype = quantization_input(b, node, 1, 2, axis=_axis(node, b))
    found = dtype or _OUTPUT_TYPES.get(node.int("output_dtype", 2))
    if found not in (DType.S8, DType.U8):
        raise node.refusal("quantises to a type other than int8 and uint8")
    array = b.known(source)
    if array is None:
        _require_one_scale(node, quant)
        b.bind(out, b.emit("quantize", (b.value(source),), out, node, dtype=found, quant=quant))
        return
    shape = [1] * array.ndim
    if quant.axis is not None:
        shape[quant.axis] = -1
    scale = np.array(quant.scale, np.float32).reshape(shape)
    zero = np.array(quant.zero_point).reshape(shape)
    dtype_name = np.int8 if found is DType.S8 else np.uint8
    b.set_known(out, quantize(array, scale, zero, dtype_name))


def dequantize_linear(node: Node, b: Builder) -> None:
    """``DequantizeLinear`` of an activation or a constant."""
    out, source = node.outputs[0], node.input(0)
    quant, _ = quantization_input(b, node, 1, 2, axis=_axis(node, b))
    value = quantised_value(b, node, source, quant)
    b.bind(out, b.emit("dequantize", (value,), out, node, dtype=DType.F32))


def quantised_value(b: Builder, node: Node, name: str, quant: Quantization) -> str:
    """Return an integer tensor of the graph as one with a given quantisation.

    Constants and 8-bit inputs of the network take it on. Where a tensor has another one, its bytes
    are given a new meaning by a table that maps each byte to itself.

    Args:
        b: Adds the operators.
        node: Where it is read.
        name: Of the tensor.
        quant: The quantisation.

    Raises:
        ModelError: The tensor is not of an integer type.
    """
    array = b.known(name)
    if array is not None:
        return b.constant(name, array, quant)
    _require_one_scale(node, quant)
    value = b.value(name)
    found = b.types[value]
    if found.dtype not in (DType.S8, DType.U8):
        raise node.refusal(f"reads {name!r} of type {found.dtype}; supported: int8, uint8")
    if found.quant == quant or b.adopt_quantisation(value, quant):
        return value
    table = np.arange(256, dtype=np.uint8).view(np.int8 if found.dtype is DType.S8 else np.uint8)
    same = b.constant(f"{name}.same", table)
    return b.emit("lookup", (value, same), f"{name}.retyped", node, dtype=found.dtype, quant=quant)


def _axis(node: Node, b: Builder) -> int | None:
    if node.int("block_size", 0):
        raise node.refusal("has block-wise quantisation, which is not supported")
    rank = len(b.type_of(node.input(0)).shape)
    axis = node.int("axis", 1)
    return normal_axis(node, axis, rank) if -rank <= axis < rank else None


def _require_one_scale(node: Node, quant: Quantization) -> None:
    if quant.axis is not None:
        raise node.refusal("quantises an activation per channel; supported: per tensor")

"""Import of ``QuantizeLinear`` and ``DequantizeLinear``, taken literally.

``form-integers`` turns float operators between them into integer ones.
"""

import numpy as np

from .....ir.operators.elementary import quantize
from .....ir.types import DType, Quantization
from ...arguments import normal_axis, quantization_input
from ...builder import Builder
from ...node import Node
from ...tensors import element_type
from ..chain import Chain

_UINT8 = 2
"""ONNX's code of the type that is quantised to if nothing else is said."""


def quantize_linear(node: Node, b: Builder) -> None:
    """``QuantizeLinear``; a constant is quantised at once.

    What no quantisation of a tensor can say (computed or many scales, wider types) is plain
    arithmetic.
    """
    out, source = node.outputs[0], node.input(0)
    found = _made(node, b)
    if not _is_typed(node, b, found):
        quantise_plainly(node, b, found)
        return
    quant, _ = quantization_input(b, node, 1, 2, axis=_axis(node, b))
    array = b.known(source)
    if array is None:
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
    if not _is_typed(node, b, b.type_of(source).dtype):
        dequantise_plainly(node, b)
        return
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


def _made(node: Node, b: Builder) -> DType:
    """Return the element type that a node quantises to."""
    if node.has_input(2):
        return b.type_of(node.input(2)).dtype
    return element_type(node.int("output_dtype", 0) or _UINT8, f"{node.loc} makes what")


def _is_typed(node: Node, b: Builder, dtype: DType) -> bool:
    """Whether scale and zero point can be a quantisation of the tensor of integers.

    They are constant, and one for all of a tensor that is none.
    """
    is_constant = b.known(node.input(0)) is not None
    if node.int("block_size", 0) or dtype not in (DType.S8, DType.U8, DType.S32):
        return False
    if dtype is DType.S32 and not is_constant:
        return False
    parameters = [b.numbers(node.input(index)) for index in (1, 2) if node.has_input(index)]
    if any(array is None for array in parameters):
        return False
    return is_constant or b.type_of(node.input(1)).elements == 1


def _axis(node: Node, b: Builder) -> int | None:
    rank = len(b.type_of(node.input(0)).shape)
    axis = node.int("axis", 1)
    return normal_axis(node, axis, rank) if -rank <= axis < rank else None


def _require_one_scale(node: Node, quant: Quantization) -> None:
    if quant.axis is not None:
        raise node.refusal("quantises an activation per channel; supported: per tensor")


def quantise_plainly(node: Node, b: Builder, dtype: DType) -> None:
    """Bind ``saturate(round(x / scale) + zero point)``.

    Args:
        node: A ``QuantizeLinear``.
        b: The graph under construction.
        dtype: Element type of the result.

    Raises:
        ModelError: float32 does not hold all numbers of the type.
    """
    if dtype.bytes > 2:
        raise node.refusal(f"quantises to {dtype}; supported: 8 and 16 bits")
    chain = Chain(node, b)
    steps = chain("round", chain("div", chain.cast(chain.input(0), DType.F32), _scale(chain)))
    if node.has_input(2):
        steps = chain("add", steps, chain.cast(_spread(chain, 2), DType.F32))
    low, high = dtype.range
    chain.bind(chain.cast(chain("clip", steps, lo=float(low), hi=float(high)), dtype))


def dequantise_plainly(node: Node, b: Builder) -> None:
    """Bind ``(x - zero point) * scale``; int32 is subtracted as such.

    Args:
        node: A ``DequantizeLinear``.
        b: The graph under construction.
    """
    chain = Chain(node, b)
    x = chain.input(0)
    exact = DType.S32 if chain.dtype(x).bytes > 2 else DType.F32
    x = chain.cast(x, exact)
    if node.has_input(2):
        x = chain("sub", x, chain.cast(_spread(chain, 2), exact))
    chain.bind(chain("mul", chain.cast(x, DType.F32), _scale(chain)))


def _scale(chain: Chain) -> str:
    return chain.cast(_spread(chain, 1), DType.F32)


def _spread(chain: Chain, index: int) -> str:
    """Return scales or zero points in a shape that broadcasts to the operand's."""
    node, value = chain.node, chain.input(index)
    source, shape = chain.b.type_of(node.input(0)).shape, chain.shape(value)
    scales = chain.b.type_of(node.input(1))
    if chain.b.types[value].elements != scales.elements:
        points = chain.b.types[value].elements
        raise node.refusal(f"has {scales.elements} scales and {points} zero points")
    block = node.int("block_size", 0)
    if chain.b.types[value].elements == 1 and not block:
        return chain.reshape(value, ())
    axis = normal_axis(node, node.int("axis", 1), len(source))
    if not block:
        return chain.reshape(value, (*shape, *(1,) * (len(source) - axis - 1)))
    repeats = tuple(block if other == axis else 1 for other in range(len(source)))
    return chain.slice(chain("repeat", value, repeats=repeats), axis, 0, source[axis])

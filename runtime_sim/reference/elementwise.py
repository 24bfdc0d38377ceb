"""Functions, tables and conversions, element by element.

Every function takes the same:

Args:
    op: The operator.
    types: Of its operands, in order; an optional one that is absent is left out.
    operands: Their values.
"""

import numpy as np

from ...ir.graph import Op
from ...ir.operators.elementary import Array, dequantize, quantize
from ...ir.operators.functions import PAIRS, Activation, BinaryKind
from ...ir.operators.pairs import all_pairs
from ...ir.operators.views import activation_of, call_of
from ...ir.types import DType, Quantization, TensorType
from ..functional.numerics import lookup, lookup_pair


def function(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    """Run a function of one float operand."""
    return call_of(op, Activation(op.kind))(operands[0])


def pair(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    """Run a function of two operands; on 8 bits through the table of all pairs."""
    if op.result.type.quant is not None:
        return lookup_pair(operands[0], operands[1], all_pairs(op, types, operands[0].dtype))
    with np.errstate(all="ignore"):
        return activation_of(op)(PAIRS[BinaryKind(op.kind)].evaluate(*operands))


def run_lookup(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    """Run ``lookup``."""
    return lookup(*operands)


def run_quantize(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    """Run ``quantize``."""
    result = op.result.type
    scale, zero = _per_channel(_quant(result), len(result.shape))
    dtype = np.dtype(np.int8 if result.dtype is DType.S8 else np.uint8)
    return quantize(operands[0], scale, zero, dtype)


def run_dequantize(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    """Run ``dequantize``."""
    scale, zero = _per_channel(_quant(types[0]), len(types[0].shape))
    return dequantize(operands[0], scale, zero)


def _per_channel(quant: Quantization, rank: int) -> tuple[Array, Array]:
    """Return scales and zero points in a shape that broadcasts along the quantised axis."""
    shape = [1] * rank
    if quant.axis is not None:
        shape[quant.axis] = -1
    scales = np.array(quant.scale, np.float32).reshape(shape)
    return scales, np.array(quant.zero_point, np.int64).reshape(shape)


def _quant(found: TensorType) -> Quantization:
    assert found.quant is not None, "the verifier lets no integer operand pass without it"
    return found.quant

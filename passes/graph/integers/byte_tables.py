"""Types that float tensors are quantised to, and tables of what happens on the way there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....ir.graph import Op
from ....ir.operators.elementary import Array, all_bytes, dequantize, quantize
from ....ir.operators.functions import Activation
from ....ir.operators.views import call_of, optional_float
from ....ir.types import DType, Quantization, TensorType

UNARY = frozenset({"relu", "clip", "leaky_relu", "sigmoid", "tanh"})
"""Kinds of operators that are functions of one element."""

_EPSILON = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, slots=True)
class Target:
    """Type that a float tensor is to be quantised to."""

    dtype: DType
    quant: Quantization

    @property
    def zero(self) -> int:
        """Its zero point."""
        return self.quant.zero_point[0]

    @property
    def bounds(self) -> tuple[float, float]:
        """The real values that the smallest and largest quantised value stand for."""
        low, high = self.dtype.range
        scale = np.float32(self.quant.scale[0])
        ends = (np.float32(low - self.zero) * scale, np.float32(high - self.zero) * scale)
        return float(ends[0]), float(ends[1])


def byte_table(source: TensorType, chain: Sequence[Op], target: Target) -> Array:
    """Return ``Q(f(DQ(byte)))`` for the 256 bytes of a type, in the order of their patterns.

    Args:
        source: The 8-bit type that is dequantised, one scale for all.
        chain: Functions of one element, first applied first.
        target: The type that the last result is quantised to.
    """
    assert source.quant is not None, "only quantised tensors are dequantised"
    values: Array = dequantize(all_bytes(_numpy(source.dtype)), *source.quant.single)
    for op in chain:
        values = call_of(op, Activation(op.kind))(values)
    return quantize(values, target.quant.scale[0], target.zero, _numpy(target.dtype))


def subsumes(target: Target, op: Op) -> bool:
    """Whether saturation to the target does all that a relu or clip does."""
    low, high = target.bounds
    if op.kind == "relu":
        return target.zero == target.dtype.range[0]
    lo, hi = optional_float(op, "lo"), optional_float(op, "hi")
    return (lo is None or lo - low <= _EPSILON) and (hi is None or high - hi <= _EPSILON)


def _numpy(dtype: DType) -> type[np.int8] | type[np.uint8]:
    return np.int8 if dtype is DType.S8 else np.uint8

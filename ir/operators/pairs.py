"""Sums and products of quantised 8-bit numbers, as onnxruntime rounds them on x86-64."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..graph import Op
from ..types import TensorType
from .elementary import Array, Floats, all_bytes, fma
from .functions import BinaryKind
from .views import clamp_of


def saturate(values: Floats, zero_point: int, lo: int, hi: int, dtype: npt.DTypeLike) -> Array:
    """Return ``clamp(rint(values) + zero_point, lo, hi)`` as integers of a type.

    Args:
        values: Numbers.
        zero_point: Added after rounding.
        lo: Least result.
        hi: Greatest result.
        dtype: Of the result.
    """
    bounded = np.clip(np.rint(values), np.float32(lo - zero_point), np.float32(hi - zero_point))
    return (bounded.astype(np.int32) + np.int32(zero_point)).astype(dtype)


def multiplier(input_scale: float, weight_scale: npt.ArrayLike, output_scale: float) -> Floats:
    """Return the requantisation factor ``(sx * sw) / sy``, each step in float32.

    Args:
        input_scale: Of the input.
        weight_scale: Of the weights, one or one for each channel.
        output_scale: Of the output.
    """
    product = np.float32(input_scale) * np.asarray(weight_scale, np.float32)
    return np.asarray(product / np.float32(output_scale), np.float32)


def qadd_table(
    dtype: npt.DTypeLike,
    a: tuple[float, int],
    b: tuple[float, int],
    y: tuple[float, int],
    lo: int,
    hi: int,
) -> Array:
    """Return the sum of every pair of bytes as a table ``[256, 256]``.

    Args:
        dtype: Type of both operands and of the result.
        a: Scale and zero point of the first operand.
        b: Scale and zero point of the second operand.
        y: Scale and zero point of the result.
        lo: Smallest result, as a quantised value.
        hi: Largest result, as a quantised value.
    """
    ratio_a, ratio_b = np.float32(a[0]) / np.float32(y[0]), np.float32(b[0]) / np.float32(y[0])
    values = all_bytes(dtype).astype(np.float32)
    offset = np.float32(y[1]) - fma(ratio_a, a[1], ratio_b * np.float32(b[1]))
    inner = fma(values, ratio_b, offset)
    total = fma(values[:, None], ratio_a, inner[None, :])
    return saturate(total, 0, lo, hi, dtype)


def qmul_table(
    dtype: npt.DTypeLike,
    a: tuple[float, int],
    b: tuple[float, int],
    y: tuple[float, int],
    lo: int,
    hi: int,
) -> Array:
    """Return the product of every pair of bytes as a table ``[256, 256]``; see ``qadd_table``.

    Args:
        dtype: Of operands and result.
        a: Scale and zero point of the first operand.
        b: Of the second one.
        y: Of the result.
        lo: Least result.
        hi: Greatest result.
    """
    factor = multiplier(a[0], b[0], y[0])
    values = all_bytes(dtype).astype(np.int32)
    product = (values[:, None] - a[1]) * (values[None, :] - b[1])
    total = product.astype(np.float32) * factor + np.float32(y[1])
    return saturate(total, 0, lo, hi, dtype)


TABLES: Mapping[BinaryKind, Callable[..., Array]] = {
    BinaryKind.ADD: qadd_table,
    BinaryKind.MUL: qmul_table,
}
"""Functions of two operands that the machine knows for 8 bits, too, by all pairs of bytes."""


def all_pairs(op: Op, types: Sequence[TensorType], dtype: npt.DTypeLike) -> Array:
    """Return the results of an operator for every pair of bytes as a table ``[256, 256]``.

    Args:
        op: A quantised sum or product.
        types: Of its operands; these and the result have one scale each.
        dtype: NumPy's type of all three.
    """
    quants = [found.quant for found in (*types, op.result.type) if found.quant is not None]
    singles = (quant.single for quant in quants)
    return TABLES[BinaryKind(op.kind)](dtype, *singles, *clamp_of(op, op.result.type))

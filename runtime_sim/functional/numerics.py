"""Exact elementary functions on 8-bit and float32 tensors: what the machine's units compute.

Every function here is bit-equal to what onnxruntime computes on x86-64 for the same operator.
``rint`` rounds halves to even; a product or sum of float32 values rounds to float32 at once,
except in ``fma``. That and the functions of one element (quantise, dequantise, activations) are in
``ir/operators/elementary.py``.
"""

import numpy as np
import numpy.typing as npt

from ...ir.operators.elementary import Array, Floats, all_bytes, fma

F32_EXACT = 2**24
"""Sums of integers below this magnitude are exact in float32."""


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


def requantize(
    accumulator: Array,
    factor: npt.ArrayLike,
    zero_point: int,
    lo: int,
    hi: int,
    dtype: npt.DTypeLike,
) -> Array:
    """Return ``clamp(rint(f32(accumulator) * factor) + zero_point, lo, hi)``.

    Args:
        accumulator: Sums with the bias included, |value| < 2^31; any numeric type.
        factor: Float32 multiplier, of a shape that broadcasts (one per channel).
        zero_point: Zero point of the result.
        lo: Smallest result, as a quantised value.
        hi: Largest result, as a quantised value.
        dtype: ``np.int8`` or ``np.uint8``.
    """
    scaled = accumulator.astype(np.float32) * np.asarray(factor, np.float32)
    return saturate(scaled, zero_point, lo, hi, dtype)


def lookup(values: Array, table: Array) -> Array:
    """Return ``table[values as unsigned bytes]``."""
    return table[values.view(np.uint8)]


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


def lookup_pair(a: Array, b: Array, table: Array) -> Array:
    """Return ``table[a, b]`` with both operands as unsigned bytes and NumPy broadcasting.

    Args:
        a: First operand.
        b: Second operand.
        table: Of all pairs, ``[256, 256]``.
    """
    return table[a.view(np.uint8), b.view(np.uint8)]


def average_factor(input_scale: float, output_scale: float, count: int) -> np.float32:
    """Return the factor of a global average over ``count`` elements: ``sx / (sy * count)``.

    Args:
        input_scale: Of the input.
        output_scale: Of the output.
        count: Elements.
    """
    return np.float32(input_scale) / (np.float32(output_scale) * np.float32(count))


def window_average(
    taps: Floats,
    count: Floats,
    scale: float,
    zero_point: int,
    lo: int,
    hi: int,
    dtype: npt.DTypeLike,
) -> Array:
    """Average dequantised elements of windows as onnxruntime's ``QLinearAveragePool`` does.

    The sum runs in float32 in the order of the taps, row by row; the zero point is added before
    the result is rounded: ``clamp(rint(sum / count / scale + zero_point), lo, hi)``.

    Args:
        taps: Dequantised elements ``[taps, ...]``, zero where a tap lies in the padding.
        count: Number of elements that each window averages, in a shape that broadcasts.
        scale: Scale of the result.
        zero_point: Zero point of the result.
        lo: Smallest result, as a quantised value.
        hi: Largest result, as a quantised value.
        dtype: Type of the result.
    """
    total = np.zeros(taps.shape[1:], np.float32)
    for tap in taps:
        total += tap
    steps = total / count / np.float32(scale) + np.float32(zero_point)
    return saturate(steps, 0, lo, hi, dtype)

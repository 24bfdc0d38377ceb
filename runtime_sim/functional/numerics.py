"""Exact elementary functions on 8-bit and float32 tensors: what the machine's units compute.

Every function here is bit-equal to what onnxruntime computes on x86-64 for the same operator.
``rint`` rounds halves to even; a product or sum of float32 values rounds to float32 at once,
except in ``fma``. That and the functions of one element (quantise, dequantise, activations) are in
``ir/operators/elementary.py``, the sum and the product of quantised numbers in
``ir/operators/pairs.py``.
"""

import numpy as np
import numpy.typing as npt

from ...ir.operators.elementary import Array, Floats
from ...ir.operators.pairs import saturate

F32_EXACT = 2**24
"""Sums of integers below this magnitude are exact in float32."""


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

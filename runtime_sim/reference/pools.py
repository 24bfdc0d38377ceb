"""Maximum and average over windows or whole images.

Every function takes the same:

Args:
    op: The operator.
    types: Of its operands, in order; an optional one that is absent is left out.
    operands: Their values.
"""

import numpy as np

from ...ir.graph import Op
from ...ir.operators.elementary import Array, Floats, byte_range, dequantize
from ...ir.operators.views import SlidingWindow, clamp_of, window_of
from ...ir.resources import numpy_dtype
from ...ir.types import TensorType
from ..functional.numerics import average_factor, requantize, window_average
from .windows import pad_image, taps


def max_pool(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    """Run ``max_pool``; padding is the smallest value of the type."""
    (x,) = operands
    window = window_of(op)
    least = -np.inf if x.dtype.kind == "f" else byte_range(x.dtype)[0]
    return np.max(taps(pad_image(x, window, least), window), axis=0)


def avg_pool(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    """Run ``avg_pool``: float32 sums in the order of the taps, in either type."""
    x, result = operands[0], op.result.type
    window = window_of(op)
    count = _counts(x.shape[2:], window, bool(op.attr("count_include_pad", False)))
    if types[0].quant is None or result.quant is None:
        seen = taps(pad_image(x, window, 0), window)
        return seen.sum(axis=0, dtype=np.float32) / count
    real = dequantize(x, *types[0].quant.single)
    seen = taps(pad_image(real, window, 0), window).astype(np.float32)
    return window_average(seen, count, *result.quant.single, *clamp_of(op, result), x.dtype)


def global_avg_pool(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    """Run ``global_avg_pool``: exact integer sum, or a float32 mean."""
    x, result = operands[0], op.result.type
    if types[0].quant is None or result.quant is None:
        return x.mean(axis=(2, 3), keepdims=True, dtype=np.float64).astype(np.float32)
    read, dtype = x.shape[2] * x.shape[3], numpy_dtype(result.dtype)
    total = x.astype(np.int32).sum(axis=(2, 3), keepdims=True, dtype=np.int32)
    total = total - np.int32(types[0].quant.zero_point[0] * read)
    count = read * op.int("count", 1)
    factor = average_factor(types[0].quant.scale[0], result.quant.scale[0], count)
    return requantize(total, factor, result.quant.zero_point[0], *clamp_of(op, result), dtype)


def sum_pool(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    """Run ``sum_pool``: exact; padding adds nothing."""
    (x,), window, quant = operands, window_of(op), types[0].quant
    zero = 0 if quant is None else quant.single[1]
    seen = taps(pad_image(x, window, zero), window).astype(np.int32)
    return (seen - np.int32(zero)).sum(axis=0).astype(numpy_dtype(op.result.type.dtype))


def _counts(extent: tuple[int, ...], window: SlidingWindow, include_pad: bool) -> Floats:
    """Return how many elements each window averages ``[P, Q]``."""
    rows = _counts_along(0, extent[0], window, include_pad)
    columns = _counts_along(1, extent[1], window, include_pad)
    return np.outer(rows, columns).astype(np.float32)


def _counts_along(axis: int, extent: int, window: SlidingWindow, include_pad: bool) -> Array:
    before, after = window.pads[axis], window.pads[axis + 2]
    counted = np.zeros(before + extent + after + window.overhang[axis], np.int64)
    if include_pad:
        counted[: before + extent + after] = 1
    else:
        counted[before : before + extent] = 1
    reach, step = window.reach()[axis], window.stride[axis]
    starts = np.arange(0, len(counted) - reach + 1, step)
    offsets = np.arange(window.kernel[axis]) * window.dilation[axis]
    return counted[starts[:, None] + offsets[None, :]].sum(axis=1)

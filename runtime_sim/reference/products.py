"""Convolution and matrix product: exact on integers, float32 on floats.

Every function takes the same:

Args:
    op: The operator.
    types: Of its operands, in order; an optional one that is absent is left out.
    operands: Their values.
"""

import numpy as np
import numpy.typing as npt

from ...ir.graph import Op
from ...ir.operators.elementary import Array
from ...ir.operators.pairs import multiplier
from ...ir.operators.views import SlidingWindow, activation_of, clamp_of, window_of
from ...ir.types import Quantization, TensorType
from ..functional.numerics import F32_EXACT, requantize
from .windows import pad_image, windows


def conv2d(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    """Run ``conv2d`` on ``[N, C, H, W]`` and ``[K, C/groups, R, S]``."""
    x, w = _centred(types, operands)
    window = window_of(op, (w.shape[2], w.shape[3]))
    total = _convolve(pad_image(x, window, 0.0), w, window, op.int("groups", 1))
    return _finish(op, types, operands, total, (-1, 1, 1))


def dense(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    """Run ``dense`` on ``[.., M, L]`` and ``[.., J, L]``."""
    x, w = _centred(types, operands)
    return _finish(op, types, operands, x @ np.swapaxes(w, -1, -2), (-1,))


def _centred(types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> tuple[Array, Array]:
    """Return both factors without zero points, in a float type whose sums are exact."""
    if types[0].quant is None:
        return operands[0], operands[1]
    x = operands[0].astype(np.float32) - np.float32(types[0].quant.zero_point[0])
    zeros = np.array(_weight_quant(types).zero_point, np.float32)
    w = operands[1].astype(np.float32) - zeros.reshape(-1, *(1,) * (operands[1].ndim - 1))
    largest = float(np.abs(w).reshape(len(w), -1).sum(axis=1).max() * np.abs(x).max(initial=0))
    return (x, w) if largest < F32_EXACT else (x.astype(np.float64), w.astype(np.float64))


def _convolve(padded: Array, w: Array, window: SlidingWindow, groups: int) -> Array:
    seen = windows(padded, window)
    N, C, R, S, P, Q = seen.shape
    K = len(w)
    if groups == C == K:
        return _depthwise(seen, w)
    columns = seen.reshape(N, groups, C // groups * R * S, P * Q)
    rows = w.reshape(groups, K // groups, -1)
    return np.matmul(rows, columns).reshape(N, K, P, Q)


def _depthwise(seen: Array, w: Array) -> Array:
    N, C, R, S, P, Q = seen.shape
    total = np.zeros((N, C, P, Q), seen.dtype)
    for r in range(R):
        for s in range(S):
            total += seen[:, :, r, s] * w[:, 0, r, s].reshape(-1, 1, 1)
    return total


def _finish(
    op: Op,
    types: tuple[TensorType, ...],
    operands: tuple[Array, ...],
    total: Array,
    channel: tuple[int, ...],
) -> Array:
    """Add the bias, then requantise or activate; ``channel`` is the shape of per-channel data."""
    result = op.result.type
    bias = operands[2] if len(operands) > 2 else None
    if result.quant is None or types[0].quant is None:
        biased = total if bias is None else total + bias.reshape(channel)
        return activation_of(op)(biased)
    accumulator = total if bias is None else _add_integers(total, bias.reshape(channel))
    factor = _factor(types[0].quant, _weight_quant(types), result.quant)
    lo, hi = clamp_of(op, result)
    shaped = factor.reshape(channel) if factor.size > 1 else factor
    dtype = np.dtype(np.int8 if result.dtype == "s8" else np.uint8)
    return requantize(accumulator, shaped, result.quant.zero_point[0], lo, hi, dtype)


def _add_integers(total: Array, bias: Array) -> npt.NDArray[np.int32]:
    """Add in int32, wrapping around as the accumulators do."""
    return total.astype(np.int64).astype(np.int32) + bias.astype(np.int32)


def _factor(x: Quantization, w: Quantization, y: Quantization) -> npt.NDArray[np.float32]:
    return multiplier(x.scale[0], np.array(w.scale, np.float32), y.scale[0])


def _weight_quant(types: tuple[TensorType, ...]) -> Quantization:
    quant = types[1].quant
    assert quant is not None, "the verifier lets no integer weights pass without quantisation"
    return quant

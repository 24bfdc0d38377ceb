"""Meaning of the functions of one element: quantise, dequantise, activations; all in float32.

The importer builds tables from them and the simulator's reference runs them, so they stand on the
ground floor. They are bit-equal to onnxruntime's, ``sigmoid`` and ``tanh`` excepted: these are
computed in float64 and rounded once, where onnxruntime approximates.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float32]


def byte_range(dtype: npt.DTypeLike) -> tuple[int, int]:
    """Return the smallest and largest value of an 8-bit type."""
    return (-128, 127) if np.dtype(dtype) == np.int8 else (0, 255)


def all_bytes(dtype: npt.DTypeLike) -> Array:
    """Return the 256 values of an 8-bit type in the order of their unsigned byte patterns."""
    return np.arange(256, dtype=np.uint8).view(dtype)


def quantize(
    values: Array, scale: npt.ArrayLike, zero_point: npt.ArrayLike, dtype: npt.DTypeLike
) -> Array:
    """Return ``sat(rint(values / scale) + zero_point)`` in ``np.int8`` or ``np.uint8``."""
    low, high = byte_range(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(values.astype(np.float32) / np.asarray(scale, np.float32))
        shifted = steps.astype(np.float64) + np.asarray(zero_point)
        return np.clip(shifted, low, high).astype(dtype)


def dequantize(values: Array, scale: npt.ArrayLike, zero_point: npt.ArrayLike) -> Floats:
    """Return ``f32(values - zero_point) * scale``."""
    steps = values.astype(np.int64) - np.asarray(zero_point, np.int64)
    with np.errstate(over="ignore"):
        return steps.astype(np.float32) * np.asarray(scale, np.float32)


def relu(values: Array) -> Array:
    """Return ``max(x, 0)``."""
    return np.maximum(values, np.float32(0))


def clip(values: Array, lo: float | None, hi: float | None) -> Array:
    """Limit values to ``[lo, hi]``; ``None`` does not limit."""
    bounded = values if lo is None else np.maximum(values, np.float32(lo))
    return bounded if hi is None else np.minimum(bounded, np.float32(hi))


def leaky_relu(values: Array, alpha: float) -> Array:
    """Multiply negative values by ``alpha``."""
    return np.where(values >= 0, values, values * np.float32(alpha))


def sigmoid(values: Array) -> Floats:
    """Return ``1 / (1 + exp(-x))``, computed in float64 and rounded once."""
    wide = values.astype(np.float64)
    small = np.exp(-np.abs(wide))
    return (np.where(wide >= 0, 1.0, small) / (1.0 + small)).astype(np.float32)


def tanh(values: Array) -> Floats:
    """Return the hyperbolic tangent, computed in float64 and rounded once."""
    return np.tanh(values.astype(np.float64)).astype(np.float32)

"""Meaning of the functions of one element: quantise, dequantise, activations; all in float32.

The importer builds tables from them and the simulator's reference runs them, so they stand on the
ground floor. They are bit-equal to onnxruntime's on x86-64 with fused multiply-add, ``sigmoid`` and
``tanh`` included. These two are quotients of polynomials, within 1e-6 of the functions: rounded
exactly instead, a table of bytes would differ wherever a result lies at the tie of two bytes, as
``tanh`` does at both ends of its range.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..types import TensorType

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float32]

_TANH_ODD = (
    *(-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11),
    *(5.12229709037114e-08, 1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03),
)
_TANH_EVEN = (
    *(1.19825839466702e-06, 1.18534705686654e-04),
    *(2.26843463243900e-03, 4.89352518554385e-03),
)
_SIGMOID_ODD = (
    *(4.37031012579801e-11, 1.15627324459942e-07),
    *(6.08574864600143e-05, 8.51377133304701e-03, 2.48287947061529e-01),
)
_SIGMOID_EVEN = (
    *(6.10247389755681e-13, 5.76102136993427e-09, 6.29106785017040e-06),
    *(1.70198817374094e-03, 1.16817656904453e-01, 9.93151921023180e-01),
)
"""Coefficients of the polynomials in the square of the argument, highest power first."""


def byte_range(dtype: npt.DTypeLike) -> tuple[int, int]:
    """Return the smallest and largest value of an 8-bit type."""
    return (-128, 127) if np.dtype(dtype) == np.int8 else (0, 255)


def all_bytes(dtype: npt.DTypeLike) -> Array:
    """Return the 256 values of an 8-bit type in the order of their unsigned byte patterns."""
    return np.arange(256, dtype=np.uint8).view(dtype)


def quantize(
    values: Array, scale: npt.ArrayLike, zero_point: npt.ArrayLike, dtype: npt.DTypeLike
) -> Array:
    """Return ``sat(rint(values / scale) + zero_point)`` in ``np.int8`` or ``np.uint8``.

    NaN becomes the least integer: a maximum of x86-64 returns its other operand then, and
    ONNX leaves it open.

    Args:
        values: Numbers.
        scale: Of the result.
        zero_point: Of the result.
        dtype: Of the result.
    """
    low, high = byte_range(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(values.astype(np.float32) / np.asarray(scale, np.float32))
        shifted = steps.astype(np.float64) + np.asarray(zero_point)
        return np.minimum(np.fmax(shifted, low), high).astype(dtype)


def dequantize(values: Array, scale: npt.ArrayLike, zero_point: npt.ArrayLike) -> Floats:
    """Return ``f32(values - zero_point) * scale``.

    Args:
        values: Integers.
        scale: Of the integers.
        zero_point: Of the integers.
    """
    steps = values.astype(np.int64) - np.asarray(zero_point, np.int64)
    with np.errstate(over="ignore"):
        return steps.astype(np.float32) * np.asarray(scale, np.float32)


def dequantized(array: Array, found: TensorType) -> Floats:
    """Return the numbers that a quantised constant stands for."""
    assert found.quant is not None, "only quantised tensors are dequantised"
    shape = [1] * array.ndim
    if found.quant.axis is not None:
        shape[found.quant.axis] = -1
    scale = np.array(found.quant.scale, np.float32).reshape(shape)
    return dequantize(array, scale, np.array(found.quant.zero_point).reshape(shape))


def relu(values: Array) -> Array:
    """Return ``max(x, 0)``."""
    return np.maximum(values, np.float32(0))


def clip(values: Array, lo: float | None, hi: float | None) -> Array:
    """Limit values to ``[lo, hi]``; ``None`` does not limit.

    Args:
        values: Numbers.
        lo: Least.
        hi: Greatest.
    """
    bounded = values if lo is None else np.maximum(values, np.float32(lo))
    return bounded if hi is None else np.minimum(bounded, np.float32(hi))


def leaky_relu(values: Array, alpha: float) -> Array:
    """Multiply negative values by ``alpha``."""
    return np.where(values >= 0, values, values * np.float32(alpha))


def sigmoid(values: Array) -> Floats:
    """Return ``1 / (1 + exp(-x))`` as the quotient of polynomials that onnxruntime computes.

    References:
        onnxruntime, ``MlasComputeLogistic``; the coefficients are those of Eigen's ``plogistic``.
    """
    x = np.clip(values.astype(np.float32), np.float32(-18), np.float32(18))
    square = x * x
    odd = _polynomial(square, _SIGMOID_ODD) * x
    return np.maximum(odd / _polynomial(square, _SIGMOID_EVEN) + np.float32(0.5), np.float32(0))


def tanh(values: Array) -> Floats:
    """Return the hyperbolic tangent as the quotient of polynomials that onnxruntime computes.

    References:
        onnxruntime, ``MlasComputeTanh``; the coefficients are those of Eigen's ``ptanh``.
    """
    x = np.clip(values.astype(np.float32), np.float32(-9), np.float32(9))
    square = x * x
    return _polynomial(square, _TANH_ODD) * x / _polynomial(square, _TANH_EVEN)


def _polynomial(x: Floats, coefficients: tuple[float, ...]) -> Floats:
    """Evaluate by Horner's rule with fused multiply-add, the highest power first."""
    result = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        result = fma(result, x, np.float32(coefficient))
    return result


def fma(a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike) -> Floats:
    """Return ``a * b + c`` of float32 values, rounded once to float32.

    The product of two float32 is exact in float64. Their sum is rounded *to odd* in float64, so
    that the second rounding to float32 sees on which side of a tie the exact value lies.

    Args:
        a: First factor.
        b: Second factor.
        c: Summand.
    """
    product = np.asarray(a, np.float32).astype(np.float64) * np.asarray(b, np.float32)
    addend = np.asarray(c, np.float32).astype(np.float64)
    total = np.asarray(product + addend)
    virtual = total - product
    lost = (product - (total - virtual)) + (addend - virtual)
    bits = total.view(np.int64)
    to_odd = (lost != 0) & (bits & 1 == 0)
    outward = (lost > 0) == (total > 0)
    odd = np.where(to_odd, bits + np.where(outward, 1, -1), bits)
    return odd.view(np.float64).astype(np.float32)


def wide(function: Callable[[Array], Array], values: Array) -> Floats:
    """Return a function of float32 values, computed in float64 and rounded once."""
    return function(values.astype(np.float64)).astype(np.float32)


# Coefficients of erfc(x) = t exp(-x^2 + poly(t)), t = 1 / (1 + x/2), lowest order first.
_ERFC_LOW = (-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806)
_ERFC_HIGH = (0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277)
_ERFC = (*_ERFC_LOW, *_ERFC_HIGH)


def erf(values: Array) -> Floats:
    """Return the error function, within 2e-7; relative to the result near zero, too.

    Near zero by its Maclaurin series, elsewhere from the Chebyshev fit of ``erfc``.

    References:
        Press, Teukolsky, Vetterling, Flannery: Numerical Recipes, 2nd edition, section 6.2.
    """
    x = values.astype(np.float64)
    t = 1 / (1 + 0.5 * np.abs(x))
    fit = np.polynomial.polynomial.polyval(t, _ERFC)
    tail = np.copysign(1 - t * np.exp(-x * x + fit), x)
    series = x * (1 - x * x / 3 * (1 - x * x * 0.3)) * 1.1283791670955126
    return np.where(np.abs(x) < 0.05, series, tail).astype(np.float32)

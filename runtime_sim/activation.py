"""Float32 activation functions of the vector unit."""

import numpy as np

from ..ir.elementary import Array, Floats, clip, leaky_relu, relu, sigmoid, tanh
from ..ir.isa import Activation

# Coefficients of erfc(x) = t exp(-x^2 + poly(t)), t = 1 / (1 + x/2), lowest order first.
_ERFC_LOW = (-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806)
_ERFC_HIGH = (0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277)
_ERFC = (*_ERFC_LOW, *_ERFC_HIGH)


def activate(values: Array, act: Activation, a: float, b: float) -> Array:
    """Return ``act`` of float32 values.

    Args:
        values: The arguments.
        act: The function.
        a: Lower bound of ``clip``, slope of ``leaky_relu``.
        b: Upper bound of ``clip``.
    """
    with np.errstate(all="ignore"):
        return _apply(values, act, a, b)


def _apply(values: Array, act: Activation, a: float, b: float) -> Array:
    match act:
        case Activation.NONE:
            return values
        case Activation.RELU:
            return relu(values)
        case Activation.CLIP:
            return clip(values, a, b)
        case Activation.LEAKY_RELU:
            return leaky_relu(values, a)
        case Activation.SIGMOID:
            return sigmoid(values)
        case Activation.TANH:
            return tanh(values)
        case Activation.EXP:
            return np.exp(values)
        case Activation.SQRT:
            return np.sqrt(values)
        case Activation.RECIPROCAL:
            return np.float32(1) / values
        case Activation.ERF:
            return erf(values)


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

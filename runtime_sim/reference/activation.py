"""Float functions of one element, alone or fused into the operator before them."""

from collections.abc import Callable, Mapping

import numpy as np

from ...ir.elementary import Array, Floats, clip, leaky_relu, relu, sigmoid, tanh
from ...ir.graph import Op
from ...ir.op_views import Activation, FusedActivation, activation_of, optional_float


def activate(op: Op, values: Array) -> Array:
    """Apply the activation that a float operator carries."""
    return apply_activation(activation_of(op), values)


def apply_activation(act: FusedActivation, values: Array) -> Array:
    """Apply an activation to float32 values."""
    match act.kind:
        case Activation.NONE:
            return values
        case Activation.RELU:
            return relu(values)
        case Activation.CLIP:
            return clip(values, act.lo, act.hi)
        case Activation.LEAKY_RELU:
            return leaky_relu(values, act.alpha)


def softmax(values: Array, axis: int) -> Floats:
    """Return ``exp(x - max) / sum`` along an axis, computed in float64 and rounded once."""
    wide = values.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return (powers / powers.sum(axis=axis, keepdims=True)).astype(np.float32)


UNARY: Mapping[str, Callable[[Op, Array], Array]] = {
    "relu": lambda op, x: relu(x),
    "clip": lambda op, x: clip(x, optional_float(op, "lo"), optional_float(op, "hi")),
    "leaky_relu": lambda op, x: leaky_relu(x, op.float("alpha")),
    "sigmoid": lambda op, x: sigmoid(x),
    "tanh": lambda op, x: tanh(x),
    "exp": lambda op, x: np.exp(x),
    "reduce_max": lambda op, x: x.max(axis=op.int("axis"), keepdims=True),
    "reduce_sum": lambda op, x: x.sum(axis=op.int("axis"), keepdims=True),
    "softmax": lambda op, x: softmax(x, op.int("axis")),
}
"""Meaning of each float operator with one operand."""

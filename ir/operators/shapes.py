"""Shape rules that the operator table refers to."""

import numpy as np

from ..graph import Op
from .spec import Types, optional, present, refusal
from .views import window_of

MOST_MATRIX_AXES = 4
"""Axes of the operands of a product of matrices, those of its batch included."""


def same_shape(op: Op, types: Types) -> tuple[int, ...]:
    """The result has the shape of the first operand."""
    return present(op, types, 0).shape


def broadcast_shape(op: Op, types: Types) -> tuple[int, ...]:
    """NumPy's broadcasting of all operands."""
    shapes = [present(op, types, index).shape for index in range(len(types))]
    try:
        return tuple(int(extent) for extent in np.broadcast_shapes(*shapes))
    except ValueError:
        listed = " and ".join(str(shape) for shape in shapes)
        raise refusal(op, f"shapes {listed} do not broadcast") from None


def image_shape(op: Op, types: Types) -> tuple[int, int, int, int]:
    """Return the first operand's ``(N, C, H, W)``."""
    shape = present(op, types, 0).shape
    if len(shape) != 4:
        raise refusal(op, f"expects [N, C, H, W], got {shape}")
    N, C, H, W = shape
    return N, C, H, W


def conv2d_shape(op: Op, types: Types) -> tuple[int, ...]:
    """``[N, K, P, Q]``."""
    N, C, H, W = image_shape(op, types)
    weight, groups = present(op, types, 1).shape, op.int("groups", 1)
    if len(weight) != 4:
        raise refusal(op, f"expects weights [K, C/groups, R, S], got {weight}")
    K, per_group, R, S = weight
    if per_group * groups != C or K % groups:
        raise refusal(op, f"weights {weight} in {groups} groups do not suit {C} input channels")
    _check_bias(op, types, K)
    P, Q = window_of(op, (R, S)).output(H, W)
    return _non_empty(op, (N, K, P, Q))


def pool_shape(op: Op, types: Types) -> tuple[int, ...]:
    """``[N, C, P, Q]``."""
    N, C, H, W = image_shape(op, types)
    return _non_empty(op, (N, C, *window_of(op).output(H, W)))


def global_pool_shape(op: Op, types: Types) -> tuple[int, ...]:
    """``[N, C, 1, 1]``."""
    N, C, _, _ = image_shape(op, types)
    return N, C, 1, 1


def dense_shape(op: Op, types: Types) -> tuple[int, ...]:
    """``[.., M, J]``."""
    x, weight = present(op, types, 0).shape, present(op, types, 1).shape
    is_alike = len(x) == len(weight) and x[:-2] == weight[:-2] and x[-1:] == weight[-1:]
    if not is_alike or not 2 <= len(x) <= MOST_MATRIX_AXES:
        raise refusal(op, f"expects [M, L] and [J, L], or batches of them, got {x} and {weight}")
    if len(x) > 2 and optional(types, 2) is not None:
        raise refusal(op, "has batches and a bias")
    _check_bias(op, types, weight[-2])
    return *x[:-1], weight[-2]


def reduced_shape(op: Op, types: Types) -> tuple[int, ...]:
    """The operand's shape with extent one along ``axis``."""
    shape, axis = present(op, types, 0).shape, op.int("axis")
    if axis >= len(shape):
        raise refusal(op, f"axis {axis} is outside of shape {shape}")
    return (*shape[:axis], 1, *shape[axis + 1 :])


def _check_bias(op: Op, types: Types, count: int) -> None:
    bias = optional(types, 2)
    if bias is not None and bias.shape != (count,):
        raise refusal(op, f"expects a bias of shape {(count,)}, got {bias.shape}")


def _non_empty(op: Op, shape: tuple[int, ...]) -> tuple[int, ...]:
    if min(shape) < 1:
        raise refusal(op, f"the window is larger than the padded input (result {shape})")
    return shape

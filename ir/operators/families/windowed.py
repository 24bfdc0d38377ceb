"""Operators that reduce: along an axis, over windows, and what is split into such."""

import math
from functools import partial

from ...graph import Op
from ..access import SAME, AxisMap, Part, Read, View, all_along, one_part
from ..attributes import AXIS, CLAMP, STEPS
from ..checks import (
    check_average,
    check_dtypes,
    check_float,
    check_global_average,
    check_max_pool,
    check_sum_pool,
)
from ..functions import REDUCTIONS, ReduceKind, Reduction
from ..shapes import global_pool_shape, pool_shape, reduced_shape, same_shape
from ..spec import AttrSpec, AttrType, Family, OpSpec, Rounding, Types, present
from ..views import SlidingWindow, has_attr, window_of

REDUCE = "reduce_"
"""What the kinds of reductions begin with."""

_POOL = (
    AttrSpec(name="kernel", type=AttrType.INTS, required=True, length=2, minimum=1),
    *STEPS,
    AttrSpec(name="overhang", type=AttrType.INTS, length=2, minimum=0),
)


def reduction_spec(kind: ReduceKind, reduction: Reduction) -> OpSpec:
    """Return the operator that reduces one axis of a float tensor."""
    return OpSpec(
        kind=f"{REDUCE}{kind}",
        summary=reduction.summary,
        family=Family.REDUCTION,
        operands=("x",),
        attrs=(AXIS,),
        shape=reduced_shape,
        check=partial(check_dtypes, dtypes=reduction.dtypes, made=reduction.result),
        result=reduction.result,
        access=_reduction_parts,
        cost=lambda op, types: present(op, types, 0).shape[op.int("axis")],
        rounding=Rounding.ROUNDS if reduction.is_rounded else Rounding.EXACT,
    )


def _reduction_parts(op: Op, types: Types) -> tuple[Part, ...]:
    source, axis = View.dense(present(op, types, 0).shape), op.int("axis")
    out = View.dense(op.result.type.shape)
    axes = all_along(axis, source.shape[axis], len(out.shape))
    return one_part(out, Read(0, source, axes))


def pool_window(op: Op, source: tuple[int, ...]) -> SlidingWindow:
    """Return the window of a pool; a global one covers its whole operand.

    Args:
        op: The pool.
        source: Shape of its operand.
    """
    return window_of(op) if has_attr(op, "kernel") else SlidingWindow(kernel=(source[2], source[3]))


def _pool_parts(op: Op, types: Types) -> tuple[Part, ...]:
    source = View.dense(present(op, types, 0).shape)
    window, out = pool_window(op, source.shape), View.dense(op.result.type.shape)
    axes = (
        AxisMap(-window.pads[axis], window.stride[axis], window.kernel[axis], window.dilation[axis])
        for axis in (0, 1)
    )
    return one_part(out, Read(0, source, (SAME, SAME, *axes)))


def _pool_cost(op: Op, types: Types) -> int:
    return math.prod(pool_window(op, present(op, types, 0).shape).kernel)


WINDOWED = (
    *(reduction_spec(kind, reduction) for kind, reduction in REDUCTIONS.items()),
    OpSpec(
        kind="softmax",
        summary="exp(x - max) over its sum along an axis.",
        family=Family.COMPOSITE,
        operands=("x",),
        attrs=(AXIS,),
        shape=same_shape,
        check=check_float,
    ),
    OpSpec(
        kind="max_pool",
        summary="Maximum over a window.",
        family=Family.POOL,
        operands=("x",),
        attrs=_POOL,
        shape=pool_shape,
        check=check_max_pool,
        access=_pool_parts,
        cost=_pool_cost,
        rounding=Rounding.EXACT,
    ),
    OpSpec(
        kind="avg_pool",
        summary="Average over a window; padding counts only with count_include_pad.",
        family=Family.POOL,
        operands=("x",),
        attrs=(*_POOL, AttrSpec(name="count_include_pad", type=AttrType.BOOL), *CLAMP),
        shape=pool_shape,
        check=check_average,
        access=_pool_parts,
        cost=_pool_cost,
    ),
    OpSpec(
        kind="global_avg_pool",
        summary="Average over height and width.",
        family=Family.POOL,
        operands=("x",),
        attrs=(AttrSpec(name="count", type=AttrType.INT, minimum=1), *CLAMP),
        shape=global_pool_shape,
        check=check_global_average,
        access=_pool_parts,
        cost=_pool_cost,
    ),
    OpSpec(
        kind="sum_pool",
        summary="Exact sum over a window, in integers.",
        family=Family.POOL,
        operands=("x",),
        attrs=_POOL,
        shape=pool_shape,
        check=check_sum_pool,
        access=_pool_parts,
        cost=_pool_cost,
        rounding=Rounding.EXACT,
    ),
)
"""Their declarations."""

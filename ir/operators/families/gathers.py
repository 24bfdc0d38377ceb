"""Operators that pick elements by computed indices."""

import math

from ...graph import Op
from ..access import ONCE, SAME, Part, Read, View, all_along, one_part
from ..attributes import AXIS
from ..checks import check_gather
from ..spec import Family, OpSpec, Rounding, Types, present, refusal


def gathered_axis(op: Op, types: Types) -> tuple[View, int]:
    """Return the operand as the access map sees it, and the axis that is indexed."""
    shape, axis = present(op, types, 0).shape, op.int("axis")
    if op.kind == "gather":
        before, after = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        return View.dense((before, shape[axis], after)), 1
    return View.dense(shape), axis


def _gather_shape(op: Op, types: Types) -> tuple[int, ...]:
    """The operand's shape with that of the indices in place of ``axis``."""
    shape, index, axis = present(op, types, 0).shape, present(op, types, 1).shape, op.int("axis")
    if axis >= len(shape):
        raise refusal(op, f"axis {axis} is outside of shape {shape}")
    return *shape[:axis], *index, *shape[axis + 1 :]


def _gather_parts(op: Op, types: Types) -> tuple[Part, ...]:
    source, _ = gathered_axis(op, types)
    before, extent, after = source.shape
    count = present(op, types, 1).elements
    out, index = View.dense((before, count, after)), View.dense((1, count, 1))
    everything = Read(0, source, all_along(1, extent, 3))
    return one_part(out, everything, Read(1, index, (ONCE, SAME, ONCE)))


def _elements_shape(op: Op, types: Types) -> tuple[int, ...]:
    """The shape of the indices, which reach beyond the operand along ``axis`` only."""
    shape, index, axis = present(op, types, 0).shape, present(op, types, 1).shape, op.int("axis")
    if len(shape) != len(index) or axis >= len(shape):
        raise refusal(op, f"indices of shape {index} do not suit {shape} along axis {axis}")
    others = zip(shape[:axis] + shape[axis + 1 :], index[:axis] + index[axis + 1 :], strict=True)
    if any(wanted > extent for extent, wanted in others):
        raise refusal(op, f"indices of shape {index} reach beyond {shape}")
    return index


def _elements_parts(op: Op, types: Types) -> tuple[Part, ...]:
    source, axis = gathered_axis(op, types)
    out = View.dense(op.result.type.shape)
    axes = all_along(axis, source.shape[axis], len(out.shape))
    return one_part(out, Read(0, source, axes), Read(1, out, (SAME,) * len(axes)))


GATHERS = (
    OpSpec(
        kind="gather",
        summary="Slices of x along an axis, chosen by indices.",
        family=Family.GATHER,
        operands=("x", "indices"),
        attrs=(AXIS,),
        shape=_gather_shape,
        check=check_gather,
        access=_gather_parts,
        rounding=Rounding.MOVES,
    ),
    OpSpec(
        kind="gather_elements",
        summary="Elements of x: along an axis where the indices say, along others in place.",
        family=Family.GATHER,
        operands=("x", "indices"),
        attrs=(AXIS,),
        shape=_elements_shape,
        check=check_gather,
        access=_elements_parts,
        rounding=Rounding.MOVES,
    ),
)
"""Their declarations."""

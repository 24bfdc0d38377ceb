"""Operators of one element of each operand: functions, tables, conversions."""

from functools import partial

from ...graph import Op
from ..access import SAME, Part, Read, View, broadcast, one_part, whole
from ..attributes import TAIL
from ..checks import (
    check_cast,
    check_choice,
    check_dequantize,
    check_dtypes,
    check_lookup,
    check_quantize,
    check_sum,
)
from ..functions import FUNCTIONS, PAIRS, Activation, BinaryKind, Function, PairFunction
from ..pairs import TABLES
from ..shapes import broadcast_shape, same_shape
from ..spec import AttrSpec, AttrType, Family, OpSpec, Rounding, Types, present


def function_spec(act: Activation, function: Function) -> OpSpec:
    """Return the operator that applies a function of one float operand."""
    return OpSpec(
        kind=act.value,
        summary=function.summary,
        family=Family.FUNCTION,
        operands=("x",),
        attrs=tuple(
            AttrSpec(name=item.name, type=AttrType.FLOAT, required=item.default is None)
            for item in function.numbers
        ),
        shape=same_shape,
        check=partial(check_dtypes, dtypes=function.dtypes),
        access=first_operand_parts,
        cost=lambda op, types: function.cycles,
        rounding=_rounding(function.is_rounded),
        cancels=function.cancels,
    )


def pair_spec(kind: BinaryKind, function: PairFunction) -> OpSpec:
    """Return the operator that applies a function of two operands."""
    return OpSpec(
        kind=kind.value,
        summary=function.summary,
        family=Family.PAIR,
        operands=("a", "b"),
        attrs=TAIL if kind in TABLES else (),
        shape=broadcast_shape,
        check=check_sum
        if kind in TABLES
        else partial(check_dtypes, dtypes=function.dtypes, made=function.result),
        result=function.result,
        access=broadcast_parts,
        cost=lambda op, types: function.cycles,
        rounding=_rounding(function.is_rounded),
    )


def _rounding(is_rounded: bool) -> Rounding:
    return Rounding.ROUNDS if is_rounded else Rounding.EXACT


def first_operand_parts(op: Op, types: Types) -> tuple[Part, ...]:
    """Return the one part of an operator that reads an element of its first operand for each."""
    return _flat(op.result.type.elements, 1)


def broadcast_parts(op: Op, types: Types) -> tuple[Part, ...]:
    """Return the one part of an operator whose operands broadcast."""
    shape = op.result.type.shape
    operands = [present(op, types, index).shape for index in range(len(types))]
    if all(operand == shape for operand in operands):
        return _flat(op.result.type.elements, len(operands))
    reads = (broadcast(index, operand, shape) for index, operand in enumerate(operands))
    return one_part(View.dense(shape), *reads)


ONE_ELEMENT = frozenset(
    {
        Family.FUNCTION,
        Family.PAIR,
        Family.CHOICE,
        Family.CAST,
        Family.LOOKUP,
        Family.QUANTIZE,
        Family.DEQUANTIZE,
    }
)
"""Families that make an element of the result of one element of each operand."""


def along_axes(op: Op, types: Types, count: int) -> Part:
    """Return the access map of such an operator along the result's own axes.

    Args:
        op: The operator.
        types: Of its operands.
        count: How many operands it reads in tiles.
    """
    shape = op.result.type.shape
    reads = (broadcast(index, present(op, types, index).shape, shape) for index in range(count))
    return Part(View.dense(shape), whole(shape), tuple(reads))


def _flat(elements: int, count: int) -> tuple[Part, ...]:
    """Return the part that treats all tensors as one row of elements."""
    row = View.dense((elements,))
    return one_part(row, *(Read(index, row, (SAME,)) for index in range(count)))


ELEMENTWISE = (
    *(pair_spec(kind, function) for kind, function in PAIRS.items()),
    *(
        function_spec(act, function)
        for act, function in FUNCTIONS.items()
        if act is not Activation.NONE
    ),
    OpSpec(
        kind="where",
        summary="a where the condition holds, else b, with NumPy broadcasting.",
        family=Family.CHOICE,
        operands=("condition", "a", "b"),
        shape=broadcast_shape,
        check=check_choice,
        access=broadcast_parts,
        rounding=Rounding.MOVES,
    ),
    OpSpec(
        kind="cast",
        summary="Numbers of another type; fractions are cut off, truth is what is not 0.",
        family=Family.CAST,
        operands=("x",),
        shape=same_shape,
        check=check_cast,
        access=first_operand_parts,
        rounding=Rounding.EXACT,
    ),
    OpSpec(
        kind="lookup",
        summary="Table of 256 bytes, indexed by the operand as an unsigned byte.",
        family=Family.LOOKUP,
        operands=("x", "table"),
        shape=same_shape,
        check=check_lookup,
        access=first_operand_parts,
        rounding=Rounding.EXACT,
        parameters=1,
    ),
    OpSpec(
        kind="quantize",
        summary="Float32 to 8 bits with the result's quantisation.",
        family=Family.QUANTIZE,
        operands=("x",),
        shape=same_shape,
        check=check_quantize,
        access=first_operand_parts,
    ),
    OpSpec(
        kind="dequantize",
        summary="8 bits to float32 with the operand's quantisation.",
        family=Family.DEQUANTIZE,
        operands=("x",),
        shape=same_shape,
        check=check_dequantize,
        access=first_operand_parts,
        rounding=Rounding.EXACT,
    ),
)
"""Their declarations."""

"""Rules on element types and quantisation that the operator table refers to.

Every function takes the same, unless it says otherwise:

Args:
    op: The operator.
    types: Of its operands, in order; ``None`` where an optional one is absent.
    result: Type of its result.
"""

import math

from ..graph import Op
from ..types import DType, Quantization, TensorType
from .functions import FUNCTIONS, NUMBERS, Activation
from .spec import Types, optional, present, refusal
from .views import clamp_of, has_attr, window_of

BYTE_TYPES = frozenset({DType.S8, DType.U8})
"""Element types of quantised activations and weights."""

_SUM_TYPES = (DType.S16, DType.S32)
"""Element types of sums of such, from the narrowest on."""

_MOST_APART = 255
"""How far an element of eight bits is from a zero point at most."""


def sum_types(count: int) -> tuple[DType, ...]:
    """Return the types that hold any sum of so many elements of eight bits, the narrowest first.

    Args:
        count: Elements.
    """
    return tuple(dtype for dtype in _SUM_TYPES if dtype.range[1] >= _MOST_APART * count)


def check_float(op: Op, types: Types, result: TensorType) -> None:
    """Everything is float32."""
    _require_dtypes(op, (*types, result), DType.F32)
    _check_axis(op, result)


def check_dtypes(
    op: Op, types: Types, result: TensorType, dtypes: frozenset[DType], made: DType | None = None
) -> None:
    """Check operands of one of some types, without quantisation, and the type of the result.

    Args:
        op: The operator.
        types: Types of the operands.
        result: Type of the result.
        dtypes: Element types that operands may have.
        made: Element type of the result, ``None``: that of the operands.
    """
    found = present(op, types, 0).dtype
    if found not in dtypes:
        raise refusal(op, f"is known for {', '.join(sorted(dtypes))}, not for {found}")
    _require_dtypes(op, types, found)
    _require_dtypes(op, (result,), made or found)
    if any(item is not None and item.quant is not None for item in (*types, result)):
        raise refusal(op, "works on plain numbers; an operand or the result is quantised")
    _check_axis(op, result)


def _check_axis(op: Op, result: TensorType) -> None:
    if has_attr(op, "axis") and op.int("axis") >= len(result.shape):
        raise refusal(op, f"axis {op.int('axis')} is outside of shape {result.shape}")


def check_same_type(op: Op, types: Types, result: TensorType) -> None:
    """Operands and result share element type and quantisation (elements only move)."""
    for index in range(len(types)):
        found = present(op, types, index)
        if (found.dtype, found.quant) != (result.dtype, result.quant):
            raise refusal(op, f"operand {index} and the result differ in type or quantisation")


def check_mac(op: Op, types: Types, result: TensorType) -> None:
    """Float32 throughout, or 8-bit operands, int32 bias and an 8-bit result with quantisation."""
    x, weight, bias = present(op, types, 0), present(op, types, 1), optional(types, 2)
    if x.dtype is DType.F32:
        _require_dtypes(op, (*types, result), DType.F32)
    else:
        _require_quantised(op, "x", x)
        _require_quantised(op, "w", weight, axis=scale_axis(op.kind, weight))
        _require_quantised(op, "result", result)
        if bias is not None and bias.dtype is not DType.S32:
            raise refusal(op, f"expects a bias of type s32, got {bias.dtype}")
    _check_tail(op, result)


def scale_axis(kind: str, weight: TensorType) -> int | None:
    """Return the axis of weights that may have a scale for each index; ``None``: none has.

    Args:
        kind: Of an operator of the MAC array.
        weight: Type of its weights, of which batches of matrices have one scale.
    """
    return None if kind == "dense" and len(weight.shape) > 2 else 0


def check_sum(op: Op, types: Types, result: TensorType) -> None:
    """Plain numbers of one type, or one 8-bit type with a quantisation of its own per tensor."""
    if result.quant is None:
        check_dtypes(op, types, result, NUMBERS)
    else:
        _require_dtypes(op, (*types, result), present(op, types, 0).dtype)
        _check_float_or_quantised(op, types, result)
    _check_tail(op, result)


def check_choice(op: Op, types: Types, result: TensorType) -> None:
    """A truth value chooses between two tensors of the result's type."""
    _require_dtypes(op, types[:1], DType.BOOL)
    check_same_type(op, types[1:], result)


def check_cast(op: Op, types: Types, result: TensorType) -> None:
    """Plain numbers or truth values to such of another type."""
    if present(op, types, 0).quant is not None or result.quant is not None:
        raise refusal(op, "works on plain numbers; its operand or result is quantised")


def check_gather(op: Op, types: Types, result: TensorType) -> None:
    """Elements of one type are chosen by integers."""
    index = present(op, types, 1)
    if index.dtype not in (DType.S32, DType.S64):
        raise refusal(op, f"expects indices of s32 or s64, got {index.dtype}")
    check_same_type(op, types[:1], result)


def check_average(op: Op, types: Types, result: TensorType) -> None:
    """Float32 throughout, or one 8-bit type with a quantisation of its own per tensor."""
    _require_dtypes(op, (*types, result), present(op, types, 0).dtype)
    _check_float_or_quantised(op, types, result)
    _check_clamp(op, result)


def check_global_average(op: Op, types: Types, result: TensorType) -> None:
    """As any average; or sums of ``count`` elements, to an 8-bit type."""
    if not has_attr(op, "count"):
        check_average(op, types, result)
        return
    x = present(op, types, 0)
    if x.dtype not in _SUM_TYPES or x.quant is None or x.quant.single[1] != 0:
        raise refusal(op, f"averages sums of s16 or s32 without a zero point, not {x}")
    _require_quantised(op, "result", result)
    _check_clamp(op, result)


def check_sum_pool(op: Op, types: Types, result: TensorType) -> None:
    """An 8-bit tensor; the result holds every sum, has its scale and no zero point."""
    x = present(op, types, 0)
    _require_quantised(op, "x", x)
    count = math.prod(window_of(op).kernel)
    if result.dtype not in sum_types(count):
        raise refusal(op, f"sums up to {_MOST_APART * count}, which {result.dtype} does not hold")
    if x.quant is None or result.quant != Quantization((x.quant.scale[0],), (0,)):
        raise refusal(op, "makes sums of the operand's scale and of zero point 0")


def check_max_pool(op: Op, types: Types, result: TensorType) -> None:
    """The result has the operand's float32 or 8-bit type and quantisation."""
    if result.dtype is not DType.F32 and result.dtype not in BYTE_TYPES:
        raise refusal(op, f"works on f32, s8 or u8, not on {result.dtype}")
    check_same_type(op, types, result)


def check_lookup(op: Op, types: Types, result: TensorType) -> None:
    """8-bit operand, 256 table entries of the result's type."""
    x, table = present(op, types, 0), present(op, types, 1)
    if x.dtype not in BYTE_TYPES or result.dtype not in BYTE_TYPES:
        raise refusal(op, f"maps s8 or u8 to s8 or u8, not {x.dtype} to {result.dtype}")
    if table.shape != (256,) or table.dtype is not result.dtype:
        raise refusal(op, f"expects a table {result.dtype}<256>, got {table}")


def check_quantize(op: Op, types: Types, result: TensorType) -> None:
    """Float32 to a quantised 8-bit type."""
    _require_dtypes(op, types, DType.F32)
    _require_quantised(op, "result", result)


def check_dequantize(op: Op, types: Types, result: TensorType) -> None:
    """A quantised tensor, 8 bits wide or a constant of int32, to float32."""
    x = present(op, types, 0)
    if x.quant is None or x.dtype not in BYTE_TYPES | {DType.S32}:
        raise refusal(op, f"x must be s8, u8 or s32 with a quantisation, is {x}")
    _require_dtypes(op, (result,), DType.F32)


def _check_float_or_quantised(op: Op, types: Types, result: TensorType) -> None:
    if result.dtype is DType.F32:
        return
    for index in range(len(types)):
        _require_quantised(op, f"operand {index}", present(op, types, index))
    _require_quantised(op, "result", result)


def _check_tail(op: Op, result: TensorType) -> None:
    """Check the fused activation (float) or the clamp bounds (integer)."""
    _check_clamp(op, result)
    act = Activation(op.str("act", "none"))
    if act is not Activation.NONE and result.dtype is not DType.F32:
        raise refusal(op, "has a float activation on an integer result; use 'qlo' and 'qhi'")
    numbers = {item.name: item for item in FUNCTIONS[act].numbers}
    for function, found in FUNCTIONS.items():
        for item in found.numbers if found.is_fusable else ():
            if has_attr(op, item.name) and item.name not in numbers:
                raise refusal(op, f'has {item.name!r} without act = "{function}"')
    missing = [name for name, item in numbers.items() if item.default is None]
    if not all(has_attr(op, name) for name in missing):
        raise refusal(op, f'lacks {missing[0]!r}, which act = "{act}" takes')


def _check_clamp(op: Op, result: TensorType) -> None:
    if not (has_attr(op, "qlo") or has_attr(op, "qhi")):
        return
    if not result.dtype.is_integer:
        raise refusal(op, "has clamp bounds 'qlo'/'qhi' on a float result")
    low, high = clamp_of(op, result)
    least, most = result.dtype.range
    if not least <= low <= high <= most:
        raise refusal(op, f"clamp bounds {low}..{high} are not within {least}..{most}")


def _require_dtypes(op: Op, types: Types, dtype: DType) -> None:
    for found in types:
        if found is not None and found.dtype is not dtype:
            raise refusal(op, f"expects {dtype} throughout, got {found.dtype}")


def _require_quantised(op: Op, what: str, found: TensorType, axis: int | None = None) -> None:
    if found.dtype not in BYTE_TYPES or found.quant is None:
        raise refusal(op, f"{what} must be s8 or u8 with a quantisation, is {found}")
    if found.quant.axis not in (None, axis):
        raise refusal(op, f"{what} is quantised along axis {found.quant.axis}")

"""The functions of the vector unit: each declared once, with its meaning and what it costs.

Each but ``none`` is an operator kind of the same name on float32 tensors
(``families/elementwise.py``), and a choice of an instruction: of ``activate`` (one operand), of
``binary`` (two), of ``reduce``. A new function is a member of its enumeration, appended, because
its position is its code, and an entry of the table below it.

All compute in float32 unless their summary says otherwise.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from ..types import DType
from .elementary import Array, clip, erf, leaky_relu, relu, sigmoid, tanh, wide

SIMPLE = 1
"""Lane cycles per element of a simple function [cycle]."""

SLOW = 4
"""Lane cycles per element of exp, division and the like [cycle]."""


FLOATS = frozenset({DType.F32})
INTEGERS = frozenset(dtype for dtype in DType if dtype.is_integer)
NUMBERS = FLOATS | INTEGERS
BITS = INTEGERS | {DType.BOOL}


class Activation(StrEnum):
    """Function of one operand."""

    NONE = "none"
    RELU = "relu"
    CLIP = "clip"
    LEAKY_RELU = "leaky_relu"
    SIGMOID = "sigmoid"
    TANH = "tanh"
    EXP = "exp"
    SQRT = "sqrt"
    RECIPROCAL = "reciprocal"
    ERF = "erf"
    LOG = "log"
    ABS = "abs"
    NEG = "neg"
    SIGN = "sign"
    FLOOR = "floor"
    CEIL = "ceil"
    ROUND = "round"
    NOT = "not"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    SINH = "sinh"
    COSH = "cosh"
    ASINH = "asinh"
    ACOSH = "acosh"
    ATANH = "atanh"
    SOFTPLUS = "softplus"
    SOFTSIGN = "softsign"
    MISH = "mish"
    ELU = "elu"
    CELU = "celu"
    SELU = "selu"
    THRESHOLDED_RELU = "thresholded_relu"
    SHRINK = "shrink"
    HARD_SIGMOID = "hard_sigmoid"
    HARD_SWISH = "hard_swish"
    SWISH = "swish"
    GELU = "gelu"
    GELU_TANH = "gelu_tanh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number that a function takes beside its operand, an attribute of the operator.

    Attributes:
        name: Name of the attribute.
        default: Value where the attribute is absent; ``None``: it must be there.
    """

    name: str
    default: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function of one element.

    Attributes:
        summary: What it computes.
        evaluate: Its meaning; takes the elements and its two numbers (0 where it has none).
        cycles: Lane cycles per element [cycle].
        is_rounded: Whether a result may differ from the exact one.
        cancels: Whether small results are differences of numbers near one, so that what float32
            rounds of these is large beside them.
        is_fusable: Whether the operator before it can apply it as it stores its result.
        numbers: The numbers it takes, two at most.
        dtypes: Element types that it is known for; the result has that of the operand.
    """

    summary: str
    evaluate: Callable[[Array, float, float], Array]
    cycles: int = SIMPLE
    is_rounded: bool = True
    cancels: bool = False
    is_fusable: bool = False
    numbers: tuple[Number, ...] = ()
    dtypes: frozenset[DType] = FLOATS


def _exact(summary: str, evaluate: Callable[[Array], Array], dtypes: frozenset[DType]) -> Function:
    """Return a function whose results are not rounded, or in one way only."""
    return Function(
        summary=summary,
        evaluate=lambda x, a, b: evaluate(x),
        is_rounded=False,
        dtypes=dtypes,
    )


def _wide(summary: str, evaluate: Callable[[Array], Array], cycles: int = SLOW) -> Function:
    """Return a function that is computed in float64 and rounded once."""
    return Function(summary=summary, evaluate=lambda x, a, b: wide(evaluate, x), cycles=cycles)


def _wide_with(
    numbers: tuple[str, ...],
    summary: str,
    evaluate: Callable[[Array, float, float], Array],
    cycles: int = SLOW,
) -> Function:
    """Return a function with numbers that is computed in float64 and rounded once."""
    return Function(
        summary=summary,
        evaluate=lambda x, a, b: wide(lambda values: evaluate(values, a, b), x),
        cycles=cycles,
        numbers=tuple(Number(name=name) for name in numbers),
    )


def _cancelling(function: Function) -> Function:
    """Return a function whose small results are differences of numbers near one."""
    return replace(function, cancels=True)


def _softplus(x: Array) -> Array:
    return np.logaddexp(0, x)


def _elu(x: Array, alpha: float) -> Array:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


FUNCTIONS: Mapping[Activation, Function] = {
    Activation.NONE: Function(
        summary="x.", evaluate=lambda x, a, b: x, is_rounded=False, is_fusable=True
    ),
    Activation.RELU: Function(
        summary="max(x, 0).",
        evaluate=lambda x, a, b: relu(x),
        is_rounded=False,
        is_fusable=True,
        dtypes=NUMBERS,
    ),
    Activation.CLIP: Function(
        summary="x limited to [lo, hi]; an absent bound does not limit.",
        evaluate=clip,
        is_rounded=False,
        is_fusable=True,
        numbers=(Number(name="lo", default=-np.inf), Number(name="hi", default=np.inf)),
    ),
    Activation.LEAKY_RELU: Function(
        summary="x, times alpha where x is negative.",
        evaluate=lambda x, a, b: leaky_relu(x, a),
        is_fusable=True,
        numbers=(Number(name="alpha"),),
    ),
    Activation.SIGMOID: Function(
        summary="1 / (1 + exp(-x)).", evaluate=lambda x, a, b: sigmoid(x), cycles=SLOW
    ),
    Activation.TANH: Function(
        summary="Hyperbolic tangent.", evaluate=lambda x, a, b: tanh(x), cycles=SLOW
    ),
    Activation.EXP: Function(
        summary="Exponential function.", evaluate=lambda x, a, b: np.exp(x), cycles=SLOW
    ),
    Activation.SQRT: Function(
        summary="Square root.", evaluate=lambda x, a, b: np.sqrt(x), cycles=SLOW
    ),
    Activation.RECIPROCAL: Function(
        summary="1 / x.", evaluate=lambda x, a, b: np.float32(1) / x, cycles=SLOW
    ),
    Activation.ERF: Function(
        summary="Error function.", evaluate=lambda x, a, b: erf(x), cycles=SLOW
    ),
    Activation.LOG: _wide("Natural logarithm.", np.log),
    Activation.ABS: _exact("Magnitude.", np.abs, NUMBERS),
    Activation.NEG: _exact("-x.", np.negative, NUMBERS),
    Activation.SIGN: _exact("-1, 0 or 1.", np.sign, NUMBERS),
    Activation.FLOOR: _exact("Largest integer that is not above x.", np.floor, FLOATS),
    Activation.CEIL: _exact("Smallest integer that is not below x.", np.ceil, FLOATS),
    Activation.ROUND: _exact("Nearest integer, halves to even.", np.rint, FLOATS),
    Activation.NOT: _exact("Every bit turned over; of a truth value, the other.", np.invert, BITS),
    Activation.SIN: _wide("Sine.", np.sin),
    Activation.COS: _wide("Cosine.", np.cos),
    Activation.TAN: _wide("Tangent.", np.tan),
    Activation.ASIN: _wide("Inverse sine.", np.arcsin),
    Activation.ACOS: _wide("Inverse cosine.", np.arccos),
    Activation.ATAN: _wide("Inverse tangent.", np.arctan),
    Activation.SINH: _wide("Hyperbolic sine.", np.sinh),
    Activation.COSH: _wide("Hyperbolic cosine.", np.cosh),
    Activation.ASINH: _wide("Inverse hyperbolic sine.", np.arcsinh),
    Activation.ACOSH: _wide("Inverse hyperbolic cosine.", np.arccosh),
    Activation.ATANH: _wide("Inverse hyperbolic tangent.", np.arctanh),
    Activation.SOFTPLUS: _wide("log(1 + exp(x)).", _softplus),
    Activation.SOFTSIGN: _wide("x / (1 + |x|).", lambda x: x / (1 + np.abs(x))),
    Activation.MISH: _wide("x * tanh(softplus(x)).", lambda x: x * np.tanh(_softplus(x))),
    Activation.ELU: _cancelling(
        _wide_with(
            ("alpha",),
            "alpha * (exp(x) - 1) where x is negative, else x.",
            lambda x, alpha, _: _elu(x, alpha),
        )
    ),
    Activation.CELU: _cancelling(
        _wide_with(
            ("alpha",),
            "alpha * (exp(x / alpha) - 1) where x is negative, else x.",
            lambda x, alpha, _: alpha * _elu(x / alpha, 1.0),
        )
    ),
    Activation.SELU: _cancelling(
        _wide_with(
            ("alpha", "gamma"),
            "gamma times elu with alpha.",
            lambda x, alpha, gamma: gamma * _elu(x, alpha),
        )
    ),
    Activation.THRESHOLDED_RELU: _wide_with(
        ("alpha",),
        "x where it is above alpha, else 0.",
        lambda x, alpha, _: np.where(x > alpha, x, 0),
        SIMPLE,
    ),
    Activation.SHRINK: _wide_with(
        ("lambd", "bias"),
        "x + bias below -lambd, x - bias above lambd, else 0.",
        lambda x, lambd, bias: np.where(np.abs(x) > lambd, x - np.copysign(bias, x), 0),
        SIMPLE,
    ),
    Activation.HARD_SIGMOID: _cancelling(
        _wide_with(
            ("alpha", "beta"),
            "alpha * x + beta, limited to [0, 1].",
            lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
            SIMPLE,
        )
    ),
    Activation.HARD_SWISH: _cancelling(
        _wide(
            "x times (x / 6 + 1 / 2), which is limited to [0, 1].",
            lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
            SIMPLE,
        )
    ),
    Activation.SWISH: _wide_with(
        ("alpha",),
        "x / (1 + exp(-alpha * x)).",
        lambda x, alpha, _: x / (1 + np.exp(-alpha * x)),
    ),
    Activation.GELU: _cancelling(
        _wide("x / 2 * (1 + erf(x / sqrt(2))).", lambda x: x / 2 * (1 + erf(x * math.sqrt(0.5))))
    ),
    Activation.GELU_TANH: _cancelling(
        _wide(
            "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).",
            lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        )
    ),
}
"""Every function of one operand."""


class BinaryKind(StrEnum):
    """Element-wise function of two operands."""

    ADD = "add"
    MUL = "mul"
    SUB = "sub"
    DIV = "div"
    MAX = "max"
    MIN = "min"
    POW = "pow"
    MOD = "mod"
    FMOD = "fmod"
    PRELU = "prelu"
    EQUAL = "equal"
    LESS = "less"
    LESS_OR_EQUAL = "less_or_equal"
    AND = "and"
    OR = "or"
    XOR = "xor"
    SHIFT_LEFT = "shift_left"
    SHIFT_RIGHT = "shift_right"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFunction:
    """A function of two elements.

    Attributes:
        summary: What it computes.
        evaluate: Its meaning.
        cycles: Lane cycles per element [cycle].
        is_rounded: Whether a float result may differ from the exact one.
        dtypes: Element types that it is known for.
        result: Element type of the result, ``None``: that of the operands.
    """

    summary: str
    evaluate: Callable[[Array, Array], Array]
    cycles: int = SIMPLE
    is_rounded: bool = True
    dtypes: frozenset[DType] = NUMBERS
    result: DType | None = None


def _comparison(
    summary: str, evaluate: Callable[[Array, Array], Array], dtypes: frozenset[DType] = NUMBERS
) -> PairFunction:
    """Return a function that makes truth values."""
    return PairFunction(
        summary=summary, evaluate=evaluate, is_rounded=False, dtypes=dtypes, result=DType.BOOL
    )


def _quotient(a: Array, b: Array) -> Array:
    """Return ``a / b``; of integers, rounded towards zero."""
    if a.dtype.kind == "f":
        return np.divide(a, b)
    floor = np.floor_divide(a, b)
    return floor + ((a % b != 0) & ((a < 0) != (b < 0))).astype(a.dtype)


PAIRS: Mapping[BinaryKind, PairFunction] = {
    BinaryKind.ADD: PairFunction(summary="Sum with NumPy broadcasting.", evaluate=np.add),
    BinaryKind.MUL: PairFunction(summary="Product with NumPy broadcasting.", evaluate=np.multiply),
    BinaryKind.SUB: PairFunction(
        summary="Difference with NumPy broadcasting.", evaluate=np.subtract
    ),
    BinaryKind.DIV: PairFunction(
        summary="Quotient with NumPy broadcasting.", evaluate=_quotient, cycles=SLOW
    ),
    BinaryKind.MAX: PairFunction(
        summary="Larger of two with NumPy broadcasting.", evaluate=np.maximum, is_rounded=False
    ),
    BinaryKind.MIN: PairFunction(
        summary="Smaller of two with NumPy broadcasting.", evaluate=np.minimum, is_rounded=False
    ),
    BinaryKind.POW: PairFunction(
        summary="a to the power of b.", evaluate=np.power, cycles=SLOW, dtypes=FLOATS
    ),
    BinaryKind.MOD: PairFunction(
        summary="Remainder with the sign of b.",
        evaluate=np.mod,
        cycles=SLOW,
        is_rounded=False,
    ),
    BinaryKind.FMOD: PairFunction(
        summary="Remainder with the sign of a.", evaluate=np.fmod, cycles=SLOW, is_rounded=False
    ),
    BinaryKind.PRELU: PairFunction(
        summary="a, times b where a is negative.",
        evaluate=lambda a, b: np.where(a < 0, a * b, a),
    ),
    BinaryKind.EQUAL: _comparison("Whether a is b.", np.equal, NUMBERS | {DType.BOOL}),
    BinaryKind.LESS: _comparison("Whether a is below b.", np.less),
    BinaryKind.LESS_OR_EQUAL: _comparison("Whether a is not above b.", np.less_equal),
    BinaryKind.AND: PairFunction(summary="Bits of both.", evaluate=np.bitwise_and, dtypes=BITS),
    BinaryKind.OR: PairFunction(summary="Bits of either.", evaluate=np.bitwise_or, dtypes=BITS),
    BinaryKind.XOR: PairFunction(summary="Bits of one only.", evaluate=np.bitwise_xor, dtypes=BITS),
    BinaryKind.SHIFT_LEFT: PairFunction(
        summary="a times 2 to the power of b.", evaluate=np.left_shift, dtypes=INTEGERS
    ),
    BinaryKind.SHIFT_RIGHT: PairFunction(
        summary="a over 2 to the power of b, rounded down.",
        evaluate=np.right_shift,
        dtypes=INTEGERS,
    ),
}
"""Every function of two operands."""


class ReduceKind(StrEnum):
    """How a window or an axis is reduced."""

    MAX = "max"
    MEAN = "mean"
    SUM = "sum"
    MIN = "min"
    PROD = "prod"
    ARG_MAX = "arg_max"
    ARG_MIN = "arg_min"
    LAST_ARG_MAX = "last_arg_max"
    LAST_ARG_MIN = "last_arg_min"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """A reduction of the last axis.

    Attributes:
        summary: What it computes.
        evaluate: Its meaning: from an array to one with an axis less.
        is_rounded: Whether a float result may differ from the exact one.
        dtypes: Element types that it is known for.
        result: Element type of the result, ``None``: that of the operand.
    """

    summary: str
    evaluate: Callable[[Array], Array]
    is_rounded: bool = True
    dtypes: frozenset[DType] = NUMBERS
    result: DType | None = None


def _position(summary: str, evaluate: Callable[[Array], Array]) -> Reduction:
    """Return a reduction that tells a position on the axis."""
    return Reduction(
        summary=summary,
        evaluate=lambda x: evaluate(x).astype(np.int64),
        is_rounded=False,
        dtypes=NUMBERS | {DType.BOOL},
        result=DType.S64,
    )


def _last(first: Callable[..., Array], x: Array) -> Array:
    return x.shape[-1] - 1 - first(x[..., ::-1], axis=-1)


REDUCTIONS: Mapping[ReduceKind, Reduction] = {
    ReduceKind.MAX: Reduction(
        summary="Maximum along an axis, which stays with extent one.",
        evaluate=lambda x: x.max(axis=-1),
        is_rounded=False,
        dtypes=NUMBERS | {DType.BOOL},
    ),
    ReduceKind.MEAN: Reduction(
        summary="Mean along an axis, which stays with extent one.",
        evaluate=lambda x: x.sum(axis=-1) / np.float32(x.shape[-1]),
        dtypes=FLOATS,
    ),
    ReduceKind.SUM: Reduction(
        summary="Sum along an axis, which stays with extent one.",
        evaluate=lambda x: x.sum(axis=-1, dtype=x.dtype),
    ),
    ReduceKind.MIN: Reduction(
        summary="Minimum along an axis, which stays with extent one.",
        evaluate=lambda x: x.min(axis=-1),
        is_rounded=False,
        dtypes=NUMBERS | {DType.BOOL},
    ),
    ReduceKind.PROD: Reduction(
        summary="Product along an axis, which stays with extent one.",
        evaluate=lambda x: x.prod(axis=-1, dtype=x.dtype),
    ),
    ReduceKind.ARG_MAX: _position(
        "Where the first maximum along an axis is.", lambda x: np.argmax(x, axis=-1)
    ),
    ReduceKind.ARG_MIN: _position(
        "Where the first minimum along an axis is.", lambda x: np.argmin(x, axis=-1)
    ),
    ReduceKind.LAST_ARG_MAX: _position(
        "Where the last maximum along an axis is.", lambda x: _last(np.argmax, x)
    ),
    ReduceKind.LAST_ARG_MIN: _position(
        "Where the last minimum along an axis is.", lambda x: _last(np.argmin, x)
    ),
}
"""Every reduction of an axis; the operator kind is its name after ``reduce_``."""

"""What the declaration of an operator kind consists of, and the checks that follow from it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from ..errors import VerifyError
from ..graph import Attr, Op
from ..types import DType, TensorType
from ..workload import Workload
from .access import Part
from .functions import SIMPLE

Types: TypeAlias = tuple[TensorType | None, ...]
"""Operand types in operand order, ``None`` where an optional one is absent."""


class Family(StrEnum):
    """Operators that are executed alike.

    ``mac`` runs on the MAC array, ``move`` copies elements and changes none of them, and
    ``composite`` is split into others before anything is scheduled. The others run on the vector
    unit: ``function`` and ``pair`` compute element by element (``functions.py``), ``reduction``
    along an axis, ``pool`` over windows, ``choice`` is one of two operands, ``gather`` and
    ``lookup`` go by an index; ``cast``, ``quantize`` and ``dequantize`` convert.
    """

    MAC = "mac"
    FUNCTION = "function"
    PAIR = "pair"
    REDUCTION = "reduction"
    POOL = "pool"
    CHOICE = "choice"
    CAST = "cast"
    GATHER = "gather"
    LOOKUP = "lookup"
    QUANTIZE = "quantize"
    DEQUANTIZE = "dequantize"
    MOVE = "move"
    COMPOSITE = "composite"


class Rounding(StrEnum):
    """How far float results may be from the exact ones.

    ``moves``: they are elements of the operands. ``exact``: they are not rounded, or in one way
    only. ``rounds``: implementations differ in the last bits.
    """

    MOVES = "moves"
    EXACT = "exact"
    ROUNDS = "rounds"


class AttrType(StrEnum):
    """Type of an attribute."""

    BOOL = "bool"
    INT = "int"
    INTS = "ints"
    FLOAT = "float"
    STR = "str"

    def holds(self, value: Attr) -> bool:
        """Whether a value is of this type (``True`` is not an integer, ``2`` not a float)."""
        if self is AttrType.INTS:
            return isinstance(value, tuple) and all(type(item) is int for item in value)
        scalar = {"bool": bool, "int": int, "float": float, "str": str}[self.value]
        return type(value) is scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class AttrSpec:
    """One attribute of an operator kind.

    Attributes:
        name: Name of the attribute.
        type: Type of its value.
        required: Whether every operator of the kind carries it.
        allowed: The values that text may have; empty: any.
        length: How many integers ``ints`` has, ``None``: any number.
        minimum: Smallest value of an integer or of each of several.
    """

    name: str
    type: AttrType
    required: bool = False
    allowed: tuple[str, ...] = ()
    length: int | None = None
    minimum: int | None = None

    def complaint(self, value: Attr) -> str | None:
        """Return what is wrong with a value, ``None`` if nothing is."""
        if not self.type.holds(value):
            return f"must be of type {self.type}"
        if self.allowed and value not in self.allowed:
            return f"must be one of {', '.join(self.allowed)}"
        items = value if isinstance(value, tuple) else (value,)
        if self.length is not None and len(items) != self.length:
            return f"must have {self.length} values"
        if self.minimum is not None and any(
            isinstance(item, int) and item < self.minimum for item in items
        ):
            return f"must be at least {self.minimum}"
        return None


def _simple(op: Op, types: Types) -> int:
    """Return the cost of a simple function, one lane cycle per element."""
    return SIMPLE


@dataclass(frozen=True, slots=True, kw_only=True)
class OpSpec:
    """Declaration of one operator kind.

    Attributes:
        kind: Its name in the text form.
        summary: One sentence on what it computes.
        family: How it is executed.
        operands: Names of the operands, in order.
        optional: How many of the last operands may be absent (written ``""`` or left out).
        variadic: Whether the last operand may be repeated.
        attrs: Its attributes.
        shape: Infers the shape of the result from the operator and its operand types.
        check: Checks element types and quantisation of operands and result.
        workload: The loop nest that the MAC array runs; ``None`` for other families.
        result: Element type of the result where the kind decides it; ``None``: that of the first
            operand, or what is asked for.
        access: From the operator to the parts it is cut into, with what each reads of its operands;
            ``None`` where the MAC array runs it, and for composites.
        cost: Lane cycles per element of the result on the vector unit; 0 for moves.
        rounding: How far float results may be from the exact ones.
        cancels: Whether small float results are differences of numbers near one.
        parameters: Position of the first operand that lies beside the unit, in ``pb`` (a bias, a
            table); ``None`` if there is none.
    """

    kind: str
    summary: str
    family: Family
    operands: tuple[str, ...]
    optional: int = 0
    variadic: bool = False
    attrs: tuple[AttrSpec, ...] = ()
    shape: Callable[[Op, Types], tuple[int, ...]]
    check: Callable[[Op, Types, TensorType], None]
    workload: Callable[[Op, Types], Workload] | None = None
    result: DType | None = None
    access: Callable[[Op, Types], tuple[Part, ...]] | None = None
    cost: Callable[[Op, Types], int] = _simple
    rounding: Rounding = Rounding.ROUNDS
    cancels: bool = False
    parameters: int | None = None

    def verify_arity(self, op: Op) -> None:
        """Check the number of operands and that the mandatory ones are present.

        Raises:
            VerifyError: There are too few or too many, or a mandatory one is absent.
        """
        count, least = len(op.operands), len(self.operands) - self.optional
        if count < least or (count > len(self.operands) and not self.variadic):
            raise refusal(op, f"has {count} operands, expected {', '.join(self.operands)}")
        mandatory = op.operands if self.variadic else op.operands[:least]
        if not all(mandatory):
            raise refusal(op, f"lacks operand {self.operands[mandatory.index('')]!r}")
        if len(op.results) != 1:
            raise refusal(op, f"has {len(op.results)} results, expected one")

    def verify_attrs(self, op: Op) -> None:
        """Check that attributes are known, complete, sorted, and have allowed values.

        Raises:
            VerifyError: Names the attribute.
        """
        known = {spec.name: spec for spec in self.attrs}
        names = [name for name, _ in op.attrs]
        if names != sorted(set(names)):
            raise refusal(op, f"attributes are not sorted or not unique: {', '.join(names)}")
        for name, value in op.attrs:
            if name not in known:
                raise refusal(
                    op, f"has no attribute {name!r} (known: {', '.join(known) or 'none'})"
                )
            if complaint := known[name].complaint(value):
                raise refusal(op, f"attribute {name!r} = {value!r} {complaint}")
        for spec in self.attrs:
            if spec.required and spec.name not in names:
                raise refusal(op, f"lacks attribute {spec.name!r}")


def refusal(op: Op, text: str) -> VerifyError:
    """Return the error that names an operator and what is wrong with it."""
    origin = f" (from {op.loc})" if op.loc else ""
    name = op.results[0].name if op.results else "?"
    return VerifyError(f"{op.kind} %{name}{origin}: {text}")


def present(op: Op, types: Types, index: int) -> TensorType:
    """Return the type of a mandatory operand.

    Args:
        op: The operator.
        types: Of its operands, in order; ``None`` where an optional one is absent.
        index: Position of the operand.

    Raises:
        VerifyError: The operand is absent.
    """
    found = types[index] if index < len(types) else None
    if found is None:
        raise refusal(op, f"lacks operand {index}")
    return found


def optional(types: Types, index: int) -> TensorType | None:
    """Return the type of an operand that may be absent."""
    return types[index] if index < len(types) else None

"""The schema of a dataclass, from its annotations: what every written form of it is derived from.

JSON (``json_codec.py``), the text of modules (``ir/text/``), the binary form of instructions and
their manual (``backend``), and the options of passes all read these columns, so that a new field
appears in each of them by itself.

==================  ===========================================================================
scalar              numbers, booleans, enumerations, texts
leaf                a small dataclass that text gives a spelling of its own, such as ``0:16``
sequence            a tuple of values, as many as there are or a fixed number
record              a dataclass
table               a tuple of flat dataclasses
blocks              a tuple of dataclasses that hold tables themselves
code                a tuple of instructions
mapping             values by name
choice              one of several scalars
==================  ===========================================================================
"""

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import Enum, StrEnum
from functools import cache
from typing import Any, cast

from ..isa.instructions import Access, Instruction, Wait
from ..tiles.graph import Range
from ..types import TensorType

LEAVES = (Range, Access, Wait, TensorType)
"""Dataclasses with a spelling of their own."""


class Form(StrEnum):
    """How values of a type are written."""

    SCALAR = "scalar"
    LEAF = "leaf"
    SEQUENCE = "sequence"
    RECORD = "record"
    TABLE = "table"
    BLOCKS = "blocks"
    CODE = "code"
    MAPPING = "mapping"
    CHOICE = "choice"


@dataclass(frozen=True, slots=True)
class Shape:
    """How values of one annotated type are written.

    Attributes:
        form: The form.
        kind: Class of a scalar, leaf or record, and of the items of a table or of blocks.
        optional: Whether ``None`` is a value.
        items: Shape of the items of a sequence or mapping; of each item where ``fixed``, and of
            each alternative of a choice.
        fixed: Whether a sequence has exactly one item per element of ``items``.
        tags: Classes of instructions by their word in text.
    """

    form: Form
    kind: type
    optional: bool = False
    items: tuple["Shape", ...] = ()
    fixed: bool = False
    tags: tuple[tuple[str, type], ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A field of a dataclass with its shape.

    Attributes:
        name: Name of the field.
        shape: How it is written.
        default: Its default, ``MISSING`` where it has none.
        compared: Whether it takes part in equality; text leaves out what does not.
    """

    name: str
    shape: Shape
    default: object
    compared: bool = True

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING


@cache
def columns(kind: type) -> tuple[Column, ...]:
    """Return the fields of a dataclass or of a range, in order.

    Raises:
        TypeError: An annotation has no written form; a mistake in the dataclass.
    """
    hints = typing.get_type_hints(kind)
    if kind is Range:
        defaults = Range._field_defaults
        names = ((name, defaults.get(name, MISSING)) for name in Range._fields)
        return tuple(Column(name, shape_of(hints[name]), default) for name, default in names)
    return tuple(
        Column(item.name, shape_of(hints[item.name]), item.default, item.compare)
        for item in fields(kind)
    )


def shape_of(hint: Any) -> Shape:
    """Return how values of an annotation are written.

    Raises:
        TypeError: They have no written form.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _union(arguments)
    if origin is tuple:
        return _tuple(arguments)
    if origin is Mapping:
        return Shape(Form.MAPPING, dict, items=(shape_of(arguments[1]),))
    if hint in LEAVES:
        return Shape(Form.LEAF, hint)
    if is_dataclass(hint):
        return Shape(Form.RECORD, cast("type", hint))
    if hint in (bool, int, float, str) or (isinstance(hint, type) and issubclass(hint, Enum)):
        return Shape(Form.SCALAR, hint)
    raise TypeError(f"{hint} has no written form")


def _union(arguments: tuple[Any, ...]) -> Shape:
    members = [member for member in arguments if member is not types.NoneType]
    optional = len(members) < len(arguments)
    if len(members) == 1:
        return replace(shape_of(members[0]), optional=optional)
    items = tuple(map(shape_of, members))
    if any(item.form is not Form.SCALAR for item in items):
        raise TypeError(f"{arguments} has no written form")
    return Shape(Form.CHOICE, object, optional, items)


def _tuple(arguments: tuple[Any, ...]) -> Shape:
    if len(arguments) != 2 or arguments[1] is not Ellipsis:
        return Shape(Form.SEQUENCE, tuple, items=tuple(map(shape_of, arguments)), fixed=True)
    if tags := _instructions(arguments[0]):
        return Shape(Form.CODE, tuple, tags=tags)
    inner = shape_of(arguments[0])
    if inner.form is not Form.RECORD:
        return Shape(Form.SEQUENCE, tuple, items=(inner,))
    return Shape(Form.TABLE if is_flat(inner.kind) else Form.BLOCKS, inner.kind, items=(inner,))


def _instructions(hint: Any) -> tuple[tuple[str, type], ...]:
    members = [item for item in typing.get_args(hint) if isinstance(item, type)]
    if not all(issubclass(item, Instruction) for item in members):
        return ()
    return tuple((item.__name__.lower(), item) for item in members)


@cache
def is_flat(kind: type) -> bool:
    """Whether a dataclass fits a row of a table."""
    inner = {column.shape.form for column in columns(kind)}
    return not inner & {Form.TABLE, Form.BLOCKS, Form.CODE}

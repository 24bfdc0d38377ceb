"""Syntax to dataclasses, led by the types of their fields: the inverse of ``printing.records``.

Readers of types are compiled once and cached, since a tile schedule has 10^5 rows and more.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast

from lark import Token

from ...codec.schema import Form, Shape, columns
from ...isa.instructions import Access, Wait
from ...tiles.graph import Range
from ...types import TensorType
from .leaves import (
    expected,
    read_access,
    read_bool,
    read_enum,
    read_float,
    read_int,
    read_range,
    read_text,
    read_type_value,
    read_wait,
    unknown,
)
from .syntax import (
    CodeNode,
    FieldNode,
    ListNode,
    RecordNode,
    Syntax,
    SyntaxProblem,
    TableNode,
    position,
)

T = TypeVar("T")
Read: TypeAlias = Callable[[Syntax], Any]


def read_fields(
    kind: type[T], at: Token, fields: Sequence[FieldNode], given: Mapping[str, object] | None = None
) -> T:
    """Return the dataclass that fields describe.

    Args:
        kind: The dataclass.
        at: Where it begins.
        fields: What the text says.
        given: Fields that the text says elsewhere.

    Raises:
        SyntaxProblem: A field is unknown, given twice, missing or of another type.
    """
    values = dict(given or {})
    readers = _readers(kind)
    for item in fields:
        name = str(item.at)
        if name in values:
            raise SyntaxProblem(item.at, f"{name} is given twice")
        if name not in readers:
            raise unknown(item.at, f"{kind.__name__} has no field {name!r}", readers)
        values[name] = readers[name](item.value)
    _require(kind, at, values)
    return kind(**values)


def read_record(kind: type[T], node: Syntax) -> T:
    """Return the dataclass that fields in braces describe.

    Raises:
        SyntaxProblem: There are none, or one of them is wrong.
    """
    if not isinstance(node, RecordNode):
        raise expected(node, f"the fields of {kind.__name__} in braces")
    return read_fields(kind, node.at, node.fields)


@cache
def _readers(kind: type) -> Mapping[str, Read]:
    return {column.name: _reader(column.shape) for column in columns(kind)}


def _reader(shape: Shape) -> Read:
    plain = _reader_plain(shape)
    if not shape.optional:
        return plain
    return lambda node: None if isinstance(node, Token) and node == "none" else plain(node)


def _reader_plain(shape: Shape) -> Read:
    if shape.form is Form.SCALAR:
        return _scalar_reader(shape.kind)
    if shape.form is Form.LEAF:
        return _LEAVES[shape.kind]
    if shape.form is Form.RECORD:
        return lambda node: read_record(cast("type[object]", shape.kind), node)
    if shape.form is Form.CODE:
        return lambda node: _read_code(dict(shape.tags), node)
    if shape.fixed:
        return _fixed_reader(shape)
    return _sequence_reader(shape)


def _scalar_reader(kind: type) -> Read:
    if kind is bool:
        return read_bool
    if kind is int:
        return read_int
    if kind is float:
        return read_float
    if issubclass(kind, Enum):
        members = {str(member.value): member for member in kind}
        return lambda node: _member(members, node) or read_enum(kind, node)
    return read_text


def _member(members: Mapping[str, Enum], node: Syntax) -> Enum | None:
    return members.get(node) if isinstance(node, Token) else None


def _fixed_reader(shape: Shape) -> Read:
    readers = [_reader(item) for item in shape.items]

    def read(node: Syntax) -> tuple[Any, ...]:
        if not isinstance(node, ListNode) or len(node.items) != len(readers):
            raise expected(node, f"a list of {len(readers)}")
        return tuple(read(item) for read, item in zip(readers, node.items, strict=True))

    return read


def _sequence_reader(shape: Shape) -> Read:
    inner = _reader(shape.items[0])

    def read(node: Syntax) -> tuple[Any, ...]:
        if isinstance(node, TableNode) and shape.form is Form.TABLE:
            return _read_table(shape.kind, node)
        if not isinstance(node, ListNode):
            raise expected(node, "a table or a list" if shape.form is Form.TABLE else "a list")
        return tuple(map(inner, node.items))

    return read


def _read_code(tags: Mapping[str, type[object]], node: Syntax) -> tuple[Any, ...]:
    if not isinstance(node, CodeNode):
        raise expected(node, "code")
    for item in node.items:
        if str(item.at) not in tags:
            raise unknown(item.at, f"no instruction {str(item.at)!r}", tags)
    return tuple([read_fields(tags[str(item.at)], item.at, item.fields) for item in node.items])


def _read_table(kind: type, node: TableNode) -> tuple[Any, ...]:
    readers = _readers(kind)
    names = [str(key) for key in node.keys]
    for key in node.keys:
        if str(key) not in readers:
            raise unknown(key, f"{kind.__name__} has no field {str(key)!r}", readers)
    if len(set(names)) != len(names):
        raise SyntaxProblem(node.at, "a column is named twice")
    _require(kind, node.at, names)
    _check_rows(node, len(names))
    cells = [
        [readers[name](cell) for cell in node.cells[number :: len(names)]]
        for number, name in enumerate(names)
    ]
    return tuple([kind(**dict(zip(names, row, strict=True))) for row in zip(*cells, strict=True)])


def _check_rows(node: TableNode, width: int) -> None:
    """Each row is a line with one value per column."""
    starts = [position(cell) for cell in node.cells]
    for _, row in itertools.groupby(starts, key=lambda token: token.line):
        tokens = list(row)
        if len(tokens) != width:
            raise SyntaxProblem(
                tokens[0], f"the row has {len(tokens)} values, the table {width} columns"
            )


def _require(kind: type, at: Token, present: Iterable[str]) -> None:
    missing = _required(kind) - set(present)
    if missing:
        first = next(column for column in columns(kind) if column.name in missing)
        raise SyntaxProblem(at, f"{kind.__name__} lacks {first.name}")


@cache
def _required(kind: type) -> frozenset[str]:
    return frozenset(column.name for column in columns(kind) if column.is_required)


_LEAVES: dict[type, Read] = {
    Range: read_range,
    Access: read_access,
    Wait: read_wait,
    TensorType: read_type_value,
}

"""Syntax to dataclasses, led by the types of their fields: the inverse of ``print_records``.

Readers of types are compiled once and cached, since a tile schedule has 10^5 rows and more.
"""

import difflib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast

from lark import Token

from ..isa import Access, Space, Wait
from ..tiles import Range
from ..types import DType, Quantization, TensorType
from .shapes import Form, Shape, columns
from .syntax import (
    AccessNode,
    CodeNode,
    FieldNode,
    ListNode,
    RecordNode,
    Syntax,
    SyntaxProblem,
    TableNode,
    TypeNode,
    position,
    text_of,
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
            raise _unknown(item.at, f"{kind.__name__} has no field {name!r}", readers)
        values[name] = readers[name](item.value)
    _require(kind, at, values)
    return kind(**values)


def read_record(kind: type[T], node: Syntax) -> T:
    """Return the dataclass that fields in braces describe.

    Raises:
        SyntaxProblem: There are none, or one of them is wrong.
    """
    if not isinstance(node, RecordNode):
        raise _expected(node, f"the fields of {kind.__name__} in braces")
    return read_fields(kind, node.at, node.fields)


def read_type(node: TypeNode) -> TensorType:
    """Return a tensor type.

    Raises:
        SyntaxProblem: There is no such element type, or the quantisation is incomplete.
    """
    head, _, extents = str(node.at).partition("<")
    if head not in tuple(DType):
        raise _unknown(node.at, f"no element type {head!r}", DType)
    shape = tuple(map(int, extents.split("x"))) if extents else ()
    return TensorType(DType(head), shape, _read_quantization(node) if node.fields else None)


def read_attr(node: Syntax) -> Any:
    """Return a value whose type its spelling tells.

    Raises:
        SyntaxProblem: It is no number, boolean, text or list of these.
    """
    if isinstance(node, ListNode):
        return tuple(_read_single(item) for item in node.items)
    return _read_single(node)


def _read_single(node: Syntax) -> bool | int | float | str:
    if isinstance(node, Token):
        if node.type == "INT":
            return read_int(node)
        if node.type == "STRING":
            return text_of(node)
        if node in ("true", "false"):
            return node == "true"
        if node.type == "FLOAT" or node in ("inf", "nan"):
            return _read_float(node)
    raise _expected(node, "a number, true, false or a text in quotes")


def read_int(node: Syntax) -> int:
    """Return an integer.

    Raises:
        SyntaxProblem: It is none.
    """
    if isinstance(node, Token) and node.type == "INT":
        return int(node)
    raise _expected(node, "an integer")


def read_enum(kind: type[Enum], node: Syntax) -> Any:
    """Return the member of an enumeration.

    Raises:
        SyntaxProblem: There is none of this spelling.
    """
    text = _read_text(node)
    for member in kind:
        if member.value == text:
            return member
    raise _unknown(position(node), f"no {kind.__name__} {text!r}", (str(m.value) for m in kind))


def _read_quantization(node: TypeNode) -> Quantization:
    values = {str(item.at): item.value for item in node.fields}
    for item in node.fields:
        if str(item.at) not in ("scale", "zero", "axis"):
            raise _unknown(item.at, f"a type has no {str(item.at)!r}", ("scale", "zero", "axis"))
    if "scale" not in values or "zero" not in values:
        raise SyntaxProblem(node.at, "a quantised type needs scale and zero")
    scales = tuple(_read_float(item) for item in _items(values["scale"]))
    zeros = tuple(read_int(item) for item in _items(values["zero"]))
    if not isinstance(values["zero"], ListNode):
        zeros *= len(scales)
    axis = read_int(values["axis"]) if "axis" in values else None
    return Quantization(scales, zeros, axis)


def _items(node: Syntax) -> Sequence[Syntax]:
    return node.items if isinstance(node, ListNode) else (node,)


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
        return _read_bool
    if kind is int:
        return read_int
    if kind is float:
        return _read_float
    if issubclass(kind, Enum):
        members = {str(member.value): member for member in kind}
        return lambda node: _member(members, node) or read_enum(kind, node)
    return _read_text


def _member(members: Mapping[str, Enum], node: Syntax) -> Enum | None:
    return members.get(node) if isinstance(node, Token) else None


def _fixed_reader(shape: Shape) -> Read:
    readers = [_reader(item) for item in shape.items]

    def read(node: Syntax) -> tuple[Any, ...]:
        if not isinstance(node, ListNode) or len(node.items) != len(readers):
            raise _expected(node, f"a list of {len(readers)}")
        return tuple(read(item) for read, item in zip(readers, node.items, strict=True))

    return read


def _sequence_reader(shape: Shape) -> Read:
    inner = _reader(shape.items[0])

    def read(node: Syntax) -> tuple[Any, ...]:
        if isinstance(node, TableNode) and shape.form is Form.TABLE:
            return _read_table(shape.kind, node)
        if not isinstance(node, ListNode):
            raise _expected(node, "a table or a list" if shape.form is Form.TABLE else "a list")
        return tuple(map(inner, node.items))

    return read


def _read_code(tags: Mapping[str, type[object]], node: Syntax) -> tuple[Any, ...]:
    if not isinstance(node, CodeNode):
        raise _expected(node, "code")
    for item in node.items:
        if str(item.at) not in tags:
            raise _unknown(item.at, f"no instruction {str(item.at)!r}", tags)
    return tuple([read_fields(tags[str(item.at)], item.at, item.fields) for item in node.items])


def _read_table(kind: type, node: TableNode) -> tuple[Any, ...]:
    readers = _readers(kind)
    names = [str(key) for key in node.keys]
    for key in node.keys:
        if str(key) not in readers:
            raise _unknown(key, f"{kind.__name__} has no field {str(key)!r}", readers)
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


def _read_text(node: Syntax) -> str:
    if isinstance(node, Token) and node.type in ("WORD", "STRING"):
        return text_of(node)
    raise _expected(node, "a word or a text in quotes")


def _read_bool(node: Syntax) -> bool:
    if isinstance(node, Token) and node in ("true", "false"):
        return node == "true"
    raise _expected(node, "true or false")


def _read_float(node: Syntax) -> float:
    if isinstance(node, Token) and (
        node.type in ("INT", "FLOAT") or (node.type == "WORD" and node in ("inf", "nan"))
    ):
        return float(node)
    raise _expected(node, "a number")


@cache
def _range_of(text: str) -> Range:
    return Range(*map(int, text.split(":")))


def _read_range(node: Syntax) -> Range:
    if isinstance(node, Token) and node.type == "RANGE":
        return _range_of(str(node))
    raise _expected(node, "a range such as 0:16")


def _read_wait(node: Syntax) -> Wait:
    if isinstance(node, Token) and node.type == "WAIT":
        return Wait(*map(int, node.split(">=")))
    raise _expected(node, "a wait such as 3>=17")


def _read_access(node: Syntax) -> Access:
    if not isinstance(node, AccessNode):
        raise _expected(node, "an access such as gb.0+64[8, 1]")
    place, _, address = str(node.at).partition("+")
    space, _, npu = place.partition(".")
    if space not in tuple(Space):
        raise _unknown(node.at, f"no space {space!r}", Space)
    strides = tuple(read_int(item) for item in node.strides.items)
    return Access(Space(space), int(npu), int(address), strides)


def _read_type_node(node: Syntax) -> TensorType:
    if isinstance(node, TypeNode):
        return read_type(node)
    raise _expected(node, "a type such as s8<1x64>")


def _expected(node: Syntax, what: str) -> SyntaxProblem:
    return SyntaxProblem(position(node), f"expected {what}, found {str(position(node))!r}")


def _unknown(at: Token, message: str, known: Iterable[str]) -> SyntaxProblem:
    names = [str(name) for name in known]
    close = difflib.get_close_matches(str(at), names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(names)}"
    return SyntaxProblem(at, message, hint)


_LEAVES: dict[type, Read] = {
    Range: _read_range,
    Access: _read_access,
    Wait: _read_wait,
    TensorType: _read_type_node,
}

"""The payload of an instruction: its own fields as bytes, and back; see ``encode`` for the form."""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from ..ir.isa import Access, Instruction, Space, Window
from .instruction_table import Field, Kind, Layout, layout_of

_ABSENT = 255
_SPACES = tuple(Space)
_SPACE_CODES = {space: code for code, space in enumerate(_SPACES)}


@cache
def codec_of(kind: type[Instruction]) -> "Codec":
    """Return the codec of a class of instructions."""
    return Codec(layout_of(kind))


@dataclass(frozen=True, slots=True)
class _Piece:
    """One field in bytes.

    Attributes:
        flatten: From a field's value to what ``struct`` packs.
        build: From an iterator over unpacked values and the field's count to its value.
    """

    flatten: Callable[[Any], Sequence[Any]]
    build: Callable[[Iterator[Any], int], Any]


class Codec:
    """Packs and unpacks the payload of one kind of instruction."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._pieces = [(field, _piece(field)) for field in layout.fields]
        self._variable = [field for field in layout.fields if field.is_variable]

    def pack(self, instruction: Instruction) -> bytes:
        """Return the payload."""
        counts = bytes(_count(getattr(instruction, field.name)) for field in self._variable)
        values: list[Any] = []
        for field, piece in self._pieces:
            values += piece.flatten(getattr(instruction, field.name))
        try:
            packed = _struct(self.layout, counts, False).pack(*values)
        except struct.error:
            return b"\x01" + counts + _struct(self.layout, counts, True).pack(*values)
        return b"\x00" + counts + packed

    def unpack(self, payload: bytes) -> dict[str, Any]:
        """Return the fields.

        Raises:
            ValueError: The payload has the wrong length or a choice that does not exist.
        """
        start = 1 + len(self._variable)
        counts = payload[1:start]
        if len(payload) < start or payload[0] > 1:
            raise ValueError("malformed payload")
        form = _struct(self.layout, counts, bool(payload[0]))
        if form.size != len(payload) - start:
            raise ValueError(f"payload of {len(payload)} bytes, must be {form.size + start}")
        values = iter(form.unpack_from(payload, start))
        count = iter(counts)
        return {
            field.name: piece.build(values, next(count) if field.is_variable else field.count or 0)
            for field, piece in self._pieces
        }


def _count(value: Access | tuple[int, ...] | None) -> int:
    """Return the count of a variable field.

    Raises:
        ValueError: It has too many values.
    """
    if value is None:
        return _ABSENT
    count = len(value.strides) if isinstance(value, Access) else len(value)
    if count >= _ABSENT:
        raise ValueError(f"{count} values in one field")
    return count


@cache
def _struct(layout: Layout, counts: bytes, wide: bool) -> struct.Struct:
    whole = "q" if wide else "i"
    remaining = iter(counts)
    form = "<"
    for field in layout.fields:
        count = next(remaining) if field.is_variable else field.count or 1
        match field.kind:
            case Kind.INTEGER | Kind.INTEGERS:
                form += whole * count
            case Kind.REAL | Kind.REALS:
                form += "d" * count
            case Kind.FLAG:
                form += "?"
            case Kind.CHOICE:
                form += "B"
            case Kind.WINDOW:
                form += whole * 8
            case Kind.ACCESS if count == _ABSENT:
                if not field.optional:
                    raise ValueError(f"{field.name} is absent")
            case Kind.ACCESS:
                form += "BH" + whole * (1 + count)
    return struct.Struct(form)


def _piece(field: Field) -> _Piece:
    match field.kind:
        case Kind.INTEGER | Kind.REAL | Kind.FLAG:
            return _Piece(_single, _next)
        case Kind.INTEGERS | Kind.REALS:
            return _Piece(tuple, _take)
        case Kind.CHOICE:
            choices = field.choices
            codes = {choice: code for code, choice in enumerate(choices)}
            return _Piece(lambda value: (codes[value],), lambda values, _: choices[_index(values)])
        case Kind.WINDOW:
            return _Piece(_flatten_window, _build_window)
        case Kind.ACCESS:
            return _Piece(_flatten_access, _build_access)


def _flatten_access(value: Access | None) -> tuple[int, ...]:
    if value is None:
        return ()
    return (_SPACE_CODES[value.space], value.npu, value.address, *value.strides)


def _single(value: Any) -> tuple[Any]:
    return (value,)


def _next(values: Iterator[Any], _: int) -> Any:
    return next(values)


def _index(values: Iterator[Any]) -> int:
    return int(next(values))


def _take(values: Iterator[Any], count: int) -> tuple[Any, ...]:
    return tuple(islice(values, count))


def _build_access(values: Iterator[Any], count: int) -> Access | None:
    if count == _ABSENT:
        return None
    space, npu, address = _index(values), _index(values), _index(values)
    return Access(_SPACES[space], npu, address, _take(values, count))


def _flatten_window(value: Window) -> tuple[int, ...]:
    return (*value.stride, *value.dilation, value.rows, value.columns, value.top, value.left)


def _build_window(values: Any, _: int) -> Window:
    stride, dilation = (next(values), next(values)), (next(values), next(values))
    rows, columns, top, left = (next(values) for _ in range(4))
    return Window(stride=stride, dilation=dilation, rows=rows, columns=columns, top=top, left=left)

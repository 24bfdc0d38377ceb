"""The payload of an instruction: its own fields as bytes, and back; see ``encode`` for the form."""

import struct
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import cache
from itertools import islice
from typing import Any, TypeAlias, cast

from ...ir.codec.schema import Column, Form, Shape, columns
from ...ir.isa.instructions import Access, Instruction, Space
from .instruction_table import InstructionLayout, layout_of

_ABSENT = 255
_SPACES = tuple(Space)
_SPACE_CODES = {space: code for code, space in enumerate(_SPACES)}
_PLAIN = {int: "", bool: "?", float: "d"}

Flatten: TypeAlias = Callable[[Any], Sequence[Any]]
Build: TypeAlias = Callable[[Iterator[Any], int], Any]


@cache
def codec_of(kind: type[Instruction]) -> "Codec":
    """Return the codec of a class of instructions."""
    return Codec(layout_of(kind))


class Codec:
    """Packs and unpacks the payload of one kind of instruction."""

    def __init__(self, layout: InstructionLayout) -> None:
        self.layout = layout
        self._flatten = [(field.name, _flattener(field.shape)) for field in layout.fields]
        self._build = [
            (field.name, _builder(field.shape), is_variable(field.shape)) for field in layout.fields
        ]
        self._variable = [field.name for field in layout.fields if is_variable(field.shape)]

    def pack(self, instruction: Instruction) -> bytes:
        """Return the payload."""
        counts = bytes(_count(getattr(instruction, name)) for name in self._variable)
        values: list[Any] = []
        for name, flatten in self._flatten:
            values += flatten(getattr(instruction, name))
        try:
            packed = _struct(self.layout, counts, "i").pack(*values)
        except struct.error:
            return b"\x01" + counts + _struct(self.layout, counts, "q").pack(*values)
        return b"\x00" + counts + packed

    def unpack(self, payload: bytes) -> dict[str, Any]:
        """Return the fields.

        Raises:
            ValueError: The payload has the wrong length or a choice that does not exist.
        """
        start = 1 + len(self._variable)
        if len(payload) < start or payload[0] > 1:
            raise ValueError("malformed payload")
        counts = payload[1:start]
        form = _struct(self.layout, counts, "q" if payload[0] else "i")
        if form.size != len(payload) - start:
            raise ValueError(f"payload of {len(payload)} bytes, must be {form.size + start}")
        values = iter(form.unpack_from(payload, start))
        count = iter(counts)
        return {
            name: build(values, next(count) if variable else 0)
            for name, build, variable in self._build
        }


def is_variable(shape: Shape) -> bool:
    """Whether instructions differ in how many values they store for a field."""
    return shape.form is Form.LEAF or (shape.form is Form.SEQUENCE and not shape.fixed)


def _counted(layout: InstructionLayout, counts: bytes) -> Iterator[tuple[Column, int]]:
    remaining = iter(counts)
    for field in layout.fields:
        yield field, next(remaining) if is_variable(field.shape) else 0


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
def _struct(layout: InstructionLayout, counts: bytes, whole: str) -> struct.Struct:
    parts: list[str] = []
    for field, count in _counted(layout, counts):
        if count == _ABSENT and not field.shape.optional:
            raise ValueError(f"{field.name} is absent")
        parts.append(_form(field.shape, count, whole))
    return struct.Struct(f"<{''.join(parts)}")


def _form(shape: Shape, count: int, whole: str) -> str:
    if shape.form is Form.LEAF:
        return "" if count == _ABSENT else "BH" + whole * (1 + count)
    if shape.form is not Form.SCALAR:
        return "".join(_form(part, 0, whole) for part in _parts(shape, count))
    return whole if shape.kind is int else _PLAIN.get(shape.kind, "B")


def _parts(shape: Shape, count: int) -> Sequence[Shape]:
    """Return the shapes of the values of a record or sequence."""
    if shape.form is Form.RECORD:
        return [column.shape for column in columns(shape.kind)]
    return shape.items if shape.fixed else shape.items * count


@cache
def _flattener(shape: Shape) -> Flatten:
    """Return the function from a field's value to what ``struct`` packs."""
    if shape.form is Form.LEAF:
        return _flatten_access
    if shape.form is Form.SEQUENCE:
        return tuple
    if shape.form is Form.RECORD:
        own = [(column.name, _flattener(column.shape)) for column in columns(shape.kind)]
        return lambda value: [
            item for name, flatten in own for item in flatten(getattr(value, name))
        ]
    if shape.kind in _PLAIN:
        return lambda value: (value,)
    codes = {choice: code for code, choice in enumerate(_choices(shape))}
    return lambda value: (codes[value],)


def _flatten_access(value: Access | None) -> Sequence[int]:
    if value is None:
        return ()
    return (_SPACE_CODES[value.space], value.npu, value.address, *value.strides)


@cache
def _builder(shape: Shape) -> Build:
    """Return the function from unpacked values and a field's count to its value."""
    if shape.form is Form.LEAF:
        return _build_access
    if shape.form is Form.SEQUENCE:
        fixed = len(shape.items)
        return lambda values, count: tuple(islice(values, fixed if shape.fixed else count))
    if shape.form is Form.RECORD:
        own = [(column.name, _builder(column.shape)) for column in columns(shape.kind)]
        return lambda values, _: shape.kind(**{name: build(values, 0) for name, build in own})
    if shape.kind in _PLAIN:
        return lambda values, _: next(values)
    choices = _choices(shape)
    return lambda values, _: choices[int(next(values))]


def _build_access(values: Iterator[Any], count: int) -> Access | None:
    if count == _ABSENT:
        return None
    space, npu, address = int(next(values)), next(values), next(values)
    return Access(_SPACES[space], npu, address, tuple(islice(values, count)))


def _choices(shape: Shape) -> tuple[object, ...]:
    return tuple(cast("type[Enum]", shape.kind))

"""Programs as bytes, and back.

::

    file    = "ACCB" version:u16 0:u16 length:u32 crc:u32 head records
    head    = JSON of ProgramHead, UTF-8, `length` bytes
    record  = opcode:u8 waits:u8 queue:u16 length:u32 op:i32 crc:u32   (16 bytes)
              (queue:u32 count:u32) * waits
              payload, `length` bytes
    payload = wide:u8, one count:u8 per variable field, values in the order of the fields

Records stand queue by queue, each queue in order. Integers are 32 bits, 64 in a ``wide`` record;
little endian throughout. An access is ``space:u8 npu:u16 address strides``; its count is that of
the strides, 255 for an access that is absent. Every ``crc`` is the CRC-32 of what it stands for:
the head, and a record without its own four bytes. Values and limits follow
``instruction_table``; the constants' data is not part of a program.
"""

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, cast

from ..ir.errors import InputError, ParseError, VerifyError
from ..ir.isa import Access, AnyInstruction, Instruction, Space, Wait, Window
from ..ir.json_codec import dump_json, parse_json
from ..ir.program import Program
from .instruction_table import FORMAT_VERSION, Field, Kind, Layout, layout_of, layouts
from .program_head import ProgramHead, head_of, join

MAGIC = b"ACCB"
_FILE = struct.Struct("<4sHHII")
_RECORD = struct.Struct("<BBHIi")
_CRC = struct.Struct("<I")
_ABSENT = 255
_SPACES = tuple(Space)
_RECORD_BYTES = _RECORD.size + _CRC.size


def encode(program: Program) -> bytes:
    """Return a program as bytes; equal programs give equal bytes.

    Raises:
        VerifyError: A value does not fit its field; names the instruction.
    """
    head = dump_json(head_of(program)).encode()
    parts = [
        _FILE.pack(MAGIC, FORMAT_VERSION, 0, len(head), zlib.crc32(head)),
        head,
    ]
    for number, queue in enumerate(program.queues):
        for position, instruction in enumerate(queue.instructions):
            try:
                parts += _record(number, instruction)
            except (struct.error, ValueError, OverflowError) as error:
                where = program.where(number, position)
                raise VerifyError(f"{where} cannot be encoded: {error}") from error
    return b"".join(parts)


def decode(content: bytes) -> Program:
    """Return the program that bytes encode.

    Raises:
        InputError: The bytes are no program, or damaged; says where.
    """
    reader = _Reader(content)
    head = reader.head()
    streams = [
        tuple(reader.record(number) for _ in range(queue.length))
        for number, queue in enumerate(head.queues)
    ]
    if reader.offset != len(content):
        raise reader.error("bytes after the last instruction")
    return join(head, streams)


def _record(queue: int, instruction: AnyInstruction) -> list[bytes]:
    """Return header, checksum and body of one instruction."""
    codec = _codec(type(instruction))
    payload = codec.pack(instruction)
    waits = instruction.waits
    header = _RECORD.pack(codec.layout.opcode, len(waits), queue, len(payload), instruction.op)
    body = b"".join([_PAIR.pack(wait.queue, wait.count) for wait in waits] + [payload])
    return [header, _CRC.pack(zlib.crc32(body, zlib.crc32(header))), body]


_PAIR = struct.Struct("<II")


class _Reader:
    """Takes a file apart from front to back."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.offset = 0

    def error(self, message: str, offset: int | None = None) -> InputError:
        """Return the error that says what is wrong at an offset."""
        place = self.offset if offset is None else offset
        return InputError(f"program: byte {place:#x}: {message}")

    def _take(self, size: int, what: str) -> bytes:
        piece = self._content[self.offset : self.offset + size]
        if len(piece) < size:
            raise self.error(f"the file ends inside {what}")
        self.offset += size
        return piece

    def head(self) -> ProgramHead:
        """Return the head.

        Raises:
            InputError: It is not a program of this version, or damaged.
        """
        magic, version, reserved, length, crc = _FILE.unpack(self._take(_FILE.size, "the header"))
        if magic != MAGIC:
            raise self.error("not a program", 0)
        if version != FORMAT_VERSION or reserved:
            raise self.error(f"version {version} where {FORMAT_VERSION} is supported", 4)
        start = self.offset
        text = self._take(length, "the head")
        if zlib.crc32(text) != crc:
            raise self.error("the head is damaged", start)
        try:
            return parse_json(text.decode(), ProgramHead)
        except (ParseError, UnicodeDecodeError) as error:
            raise self.error(f"head: {error}", start) from error

    def record(self, queue: int) -> AnyInstruction:
        """Return the next instruction, which belongs to a queue.

        Raises:
            InputError: It is damaged, or of another queue.
        """
        start = self.offset
        header = self._take(_RECORD_BYTES, "an instruction")
        opcode, waits, owner, length, op = _RECORD.unpack_from(header)
        body = self._take(waits * _PAIR.size + length, "an instruction")
        crc = zlib.crc32(body, zlib.crc32(header[: _RECORD.size]))
        if crc != _CRC.unpack_from(header, _RECORD.size)[0]:
            raise self.error("the instruction is damaged", start)
        kind = _by_opcode().get(opcode)
        if kind is None:
            raise self.error(f"no instruction has opcode {opcode:#x}", start)
        if owner != queue:
            raise self.error(f"queue {owner} where {queue} is due", start)
        split = waits * _PAIR.size
        conditions = tuple(Wait(*pair) for pair in _PAIR.iter_unpack(body[:split]))
        try:
            values = _codec(kind).unpack(body[split:])
        except (struct.error, ValueError, IndexError, KeyError) as error:
            raise self.error(f"{kind.__name__.lower()}: {error}", start) from error
        return cast("AnyInstruction", kind(waits=conditions, op=op, **values))


@cache
def _by_opcode() -> dict[int, type[Instruction]]:
    return {layout.opcode: layout.type for layout in layouts()}


@cache
def _codec(kind: type[Instruction]) -> "_Codec":
    return _Codec(layout_of(kind))


@dataclass(frozen=True, slots=True)
class _Piece:
    """One field in bytes.

    Attributes:
        flatten: From a field's value to what ``struct`` packs.
        build: From an iterator over unpacked values and the field's count to its value.
    """

    flatten: Callable[[Any], Sequence[Any]]
    build: Callable[[Iterator[Any], int], Any]


class _Codec:
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


_SPACE_CODES = {space: code for code, space in enumerate(_SPACES)}


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

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
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, cast

from ...ir.codec.json_codec import dump_json, parse_json
from ...ir.errors import InputError, ParseError, VerifyError
from ...ir.isa.instructions import AnyInstruction, Instruction, Unit, Wait
from ...ir.isa.program import Program, ProgramFrame, Queue
from .instruction_table import FORMAT_VERSION, layouts
from .payload import codec_of

MAGIC = b"ACCB"
_FILE = struct.Struct("<4sHHII")
_RECORD = struct.Struct("<BBHIi")
_CRC = struct.Struct("<I")
_RECORD_BYTES = _RECORD.size + _CRC.size


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueHead:
    """A queue without its instructions.

    Attributes:
        unit: Kind of engine.
        index: DMA channel, or the NPU it belongs to.
        length: Number of instructions.
    """

    unit: Unit
    index: int
    length: int


@dataclass(frozen=True, kw_only=True)
class ProgramHead(ProgramFrame):
    """A program without its instructions."""

    queues: tuple[QueueHead, ...]


def _frame(whole: ProgramFrame) -> dict[str, Any]:
    """Return what a program and its head have in common, by field."""
    return {item.name: getattr(whole, item.name) for item in fields(ProgramFrame)}


def head_of(program: Program) -> ProgramHead:
    """Return a program's head."""
    queues = tuple(
        QueueHead(unit=queue.unit, index=queue.index, length=len(queue.instructions))
        for queue in program.queues
    )
    return ProgramHead(**_frame(program), queues=queues)


def join(head: ProgramHead, streams: list[tuple[AnyInstruction, ...]]) -> Program:
    """Return the program of a head and the instructions of its queues."""
    queues = tuple(
        Queue(unit=queue.unit, index=queue.index, instructions=stream)
        for queue, stream in zip(head.queues, streams, strict=True)
    )
    return Program(**_frame(head), queues=queues)


def encode(program: Program) -> bytes:
    """Return a program as bytes; equal programs give equal bytes.

    Raises:
        VerifyError: A value does not fit its field; names the instruction.
    """
    try:
        head = dump_json(head_of(program)).encode()
    except ValueError as error:
        raise VerifyError(f"{program.name} cannot be encoded: {error}") from error
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
    codec = codec_of(type(instruction))
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
            values = codec_of(kind).unpack(body[split:])
        except (struct.error, ValueError, IndexError, KeyError) as error:
            raise self.error(f"{kind.__name__.lower()}: {error}", start) from error
        return cast("AnyInstruction", kind(waits=conditions, op=op, **values))


@cache
def _by_opcode() -> dict[int, type[Instruction]]:
    return {layout.opcode: layout.type for layout in layouts()}

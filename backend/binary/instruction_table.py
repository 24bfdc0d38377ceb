"""The layout of every instruction, derived from its class: shared by binary form and manual.

The order of fields is the order in the class. Opcodes are fixed numbers: a new instruction gets a
new one, and a changed field a new ``FORMAT_VERSION``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ...ir.codec.schema import Column, columns
from ...ir.isa import instructions as isa
from ...ir.isa.instructions import Instruction

FORMAT_VERSION = 3
"""Version of the binary and text forms."""

OPCODES: Mapping[type[Instruction], int] = {
    isa.Sync: 0x00,
    isa.Halt: 0x01,
    isa.Copy: 0x10,
    isa.Fill: 0x11,
    isa.Mac: 0x20,
    isa.Requant: 0x30,
    isa.Activate: 0x31,
    isa.QBinary: 0x32,
    isa.Binary: 0x33,
    isa.Lookup: 0x34,
    isa.Pool: 0x35,
    isa.Reduce: 0x36,
    isa.Quantize: 0x37,
    isa.Dequantize: 0x38,
    isa.Select: 0x39,
    isa.Convert: 0x3A,
    isa.Gather: 0x3B,
    isa.RequantPair: 0x3C,
    isa.RequantLookup: 0x3D,
}
"""The operation code of each instruction."""


@dataclass(frozen=True, slots=True)
class InstructionLayout:
    """One instruction.

    Attributes:
        type: Its class.
        mnemonic: Its name in text.
        opcode: Its number.
        fields: Its own fields (not ``waits`` and ``op``, which all have), in order.
    """

    type: type[Instruction]
    mnemonic: str
    opcode: int
    fields: tuple[Column, ...]


@cache
def layout_of(kind: type[Instruction]) -> InstructionLayout:
    """Return the layout of an instruction class."""
    common = {column.name for column in columns(Instruction)}
    own = tuple(column for column in columns(kind) if column.name not in common)
    return InstructionLayout(kind, kind.__name__.lower(), OPCODES[kind], own)


@cache
def layouts() -> tuple[InstructionLayout, ...]:
    """Return the layouts of all instructions, by opcode."""
    return tuple(layout_of(kind) for kind in OPCODES)

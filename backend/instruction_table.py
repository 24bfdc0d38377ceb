"""The layout of every instruction, derived from its class: shared by binary, text and manual.

A field's annotation decides its kind; the order of fields is the order in the class. Opcodes are
fixed numbers: a new instruction gets a new one, and a changed field a new ``FORMAT_VERSION``.
"""

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum, StrEnum
from functools import cache
from typing import Any

from ..ir import isa
from ..ir.isa import Access, Instruction, Window

FORMAT_VERSION = 1
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
}
"""The operation code of each instruction."""


class Kind(StrEnum):
    """How a field is written."""

    INTEGER = "integer"
    REAL = "real"
    FLAG = "flag"
    CHOICE = "choice"
    ACCESS = "access"
    WINDOW = "window"
    INTEGERS = "integers"
    REALS = "reals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of an instruction.

    Attributes:
        name: Its name.
        kind: How it is written.
        count: Number of values of a sequence; ``None`` where it varies.
        optional: Whether ``None`` is allowed (accesses only).
        choices: Values of a choice, in the order of their codes.
        default: Its default; ``MISSING`` where it must be given.
    """

    name: str
    kind: Kind
    count: int | None = None
    optional: bool = False
    choices: tuple[Enum, ...] = ()
    default: object = MISSING

    @property
    def is_variable(self) -> bool:
        """Whether instructions differ in how many values they store here."""
        return self.kind is Kind.ACCESS or (self.kind is Kind.INTEGERS and self.count is None)


@dataclass(frozen=True, slots=True)
class Layout:
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
    fields: tuple[Field, ...]


@cache
def layout_of(kind: type[Instruction]) -> Layout:
    """Return the layout of an instruction class."""
    hints = typing.get_type_hints(kind)
    common = {item.name for item in fields(Instruction)}
    own = tuple(
        _field(item.name, hints[item.name], item.default)
        for item in fields(kind)
        if item.name not in common
    )
    return Layout(kind, kind.__name__.lower(), OPCODES[kind], own)


@cache
def layouts() -> tuple[Layout, ...]:
    """Return the layouts of all instructions, by opcode."""
    return tuple(layout_of(kind) for kind in OPCODES)


def _field(name: str, hint: Any, default: object) -> Field:
    optional = False
    if typing.get_origin(hint) is types.UnionType:
        (hint,) = (item for item in typing.get_args(hint) if item is not types.NoneType)
        optional = True
    if typing.get_origin(hint) is tuple:
        item, *rest = typing.get_args(hint)
        kind = Kind.REALS if item is float else Kind.INTEGERS
        count = None if rest == [...] else 1 + len(rest)
        return Field(name=name, kind=kind, count=count, default=default)
    if issubclass(hint, Enum):
        choices = tuple(hint)
        return Field(name=name, kind=Kind.CHOICE, choices=choices, default=default)
    return Field(name=name, kind=_PLAIN[hint], optional=optional, default=default)


_PLAIN: Mapping[type, Kind] = {
    int: Kind.INTEGER,
    float: Kind.REAL,
    bool: Kind.FLAG,
    Access: Kind.ACCESS,
    Window: Kind.WINDOW,
}

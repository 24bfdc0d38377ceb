"""How values are spelled in assembly text, by their class.

Functions are built once per class, since a program has 10^5 instructions and more.
"""

import json
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeAlias

from ...ir.isa import Access

Spell: TypeAlias = Callable[[Any], str]


def spell(value: object) -> str:
    """Return the text of a value: ``7``, ``"text"``, ``word``, ``(a,b)``, ``{key=value}``."""
    return spell_of(type(value))(value)


@cache
def spell_of(kind: type) -> Spell:
    """Return the function that spells values of a class."""
    if kind is Access:
        return _access
    if is_dataclass(kind):
        return lambda value: f"{{{arguments(value)}}}"
    if issubclass(kind, Enum):
        return lambda value: str(value.value)
    if kind is tuple:
        return _tuple
    return _PLAIN[kind]


@cache
def spell_arguments(kind: type, skip: frozenset[str] = frozenset()) -> Spell:
    """Return the function that spells the fields of a dataclass as ``key=value key=value``.

    Fields at their default are left out.
    """
    own = [item for item in fields(kind) if item.compare and item.name not in skip]

    def write(value: object) -> str:
        parts: list[str] = []
        for item in own:
            content = getattr(value, item.name)
            if item.default is MISSING or content != item.default:
                parts.append(f"{item.name}={spell(content)}")
        return " ".join(parts)

    return write


def arguments(value: object) -> str:
    """Return the fields of a dataclass as ``key=value key=value``."""
    return spell_arguments(type(value))(value)


def _access(value: Access) -> str:
    npu = "" if value.npu == 0 and value.space.is_shared else value.npu
    strides = ",".join(map(str, value.strides))
    return f"{value.space.value}{npu}:{value.address:#x}[{strides}]"


def _tuple(value: tuple[Any, ...]) -> str:
    return f"({','.join([spell(item) for item in value])})"


_PLAIN: dict[type, Spell] = {
    bool: lambda value: "true" if value else "false",
    int: int.__repr__,
    float: float.__repr__,
    str: json.dumps,
    type(None): lambda value: "none",
}

"""Nodes of the syntax tree as values of an annotated type."""

import types
import typing
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from lark import Token

from ...ir.isa import Access
from .syntax import AccessNode, Argument, Node, Problem, RecordNode, TupleNode, integer, string

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slot:
    """A field of a dataclass as text may set it."""

    hint: Any
    required: bool


@cache
def slots_of(kind: type) -> dict[str, Slot]:
    """Return the fields of a dataclass by name."""
    hints = typing.get_type_hints(kind)
    return {item.name: Slot(hints[item.name], item.default is MISSING) for item in fields(kind)}


def build(kind: type[T], at: Token, arguments: Sequence[Argument], **given: object) -> T:
    """Return the dataclass that arguments describe.

    Args:
        kind: The dataclass.
        at: Where to point if something is missing.
        arguments: The fields.
        given: Fields that are known and cannot be arguments.

    Raises:
        Problem: A field is unknown, missing, given twice or of a wrong type.
    """
    slots, name = slots_of(kind), kind.__name__.lower()
    values: dict[str, Any] = dict(given)
    for argument in arguments:
        slot = slots.get(argument.key)
        if slot is None:
            hint = f"it has: {', '.join(slots)}"
            raise Problem(argument.at, f"{name} has no {argument.key}", hint=hint)
        if argument.key in values:
            raise Problem(argument.at, f"{argument.key} is given twice")
        values[argument.key] = convert(argument.value, slot.hint, argument.at)
    missing = [key for key, slot in slots.items() if slot.required and key not in values]
    if missing:
        raise Problem(at, f"{name} needs {', '.join(missing)}")
    return kind(**values)


def convert(node: Node, hint: Any, key: Token) -> Any:
    """Return the value of a node.

    Args:
        node: The node.
        hint: Annotation of the value.
        key: The key that it stands behind.

    Raises:
        Problem: It is not of that type.
    """
    origin = typing.get_origin(hint)
    if origin is types.UnionType:
        if isinstance(node, Token) and node == "none":
            return None
        (hint,) = (item for item in typing.get_args(hint) if item is not types.NoneType)
        origin = typing.get_origin(hint)
    if origin is tuple:
        return _tuple(node, typing.get_args(hint), key)
    if hint is Access:
        if isinstance(node, AccessNode):
            return node.access
    elif is_dataclass(hint):
        if isinstance(node, RecordNode) and isinstance(hint, type):
            return build(hint, node.at, node.arguments)
    elif isinstance(node, Token):
        return _scalar(node, hint, key)
    raise _wrong(node, hint, key)


def _tuple(node: Node, items: tuple[Any, ...], key: Token) -> tuple[Any, ...]:
    if not isinstance(node, TupleNode):
        raise Problem(_at(node), f"{key[:-1]} must be a list in parentheses")
    if len(items) == 2 and items[1] is ...:
        return tuple([convert(item, items[0], key) for item in node.items])
    if len(items) != len(node.items):
        raise Problem(node.at, f"{key[:-1]} must have {len(items)} values, has {len(node.items)}")
    return tuple(convert(item, hint, key) for item, hint in zip(node.items, items, strict=True))


def _scalar(token: Token, hint: Any, key: Token) -> Any:
    kind, text = token.type, str(token)
    if hint is int and kind == "INT":
        return integer(text)
    if hint is float and kind in ("FLOAT", "INT"):
        return float(text)
    if hint is bool and text in ("true", "false"):
        return text == "true"
    if hint is str and kind == "STRING":
        return string(text)
    if issubclass(hint, Enum) and kind == "WORD":
        for member in hint:
            if member.value == text:
                return member
        known = ", ".join(str(member.value) for member in hint)
        raise Problem(token, f"{key[:-1]} cannot be {text}", hint=f"allowed: {known}")
    raise _wrong(token, hint, key)


def _at(node: Node) -> Token:
    return node if isinstance(node, Token) else node.at


def _wrong(node: Node, hint: Any, key: Token) -> Problem:
    name = _NAMES.get(hint, f"a {hint.__name__.lower()}")
    return Problem(_at(node), f"{key[:-1]} must be {name}")


_NAMES = {
    int: "an integer",
    float: "a number",
    bool: "true or false",
    str: "a text in quotes",
    Access: "an access such as gb:0x40[8,1]",
}

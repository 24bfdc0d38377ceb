"""The syntax tree of assembly text; tokens carry line and column. The only door to Lark here."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, cast

from lark import Lark, Token, Transformer, UnexpectedInput

from ...ir.errors import ParseError
from ...ir.isa import Access, Space
from ...ir.text.errors import at_position, where


@dataclass(frozen=True, slots=True)
class TupleNode:
    """``(a, b)``."""

    at: Token
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """``key=value``."""

    at: Token
    key: str
    value: "Node"


@dataclass(frozen=True, slots=True)
class RecordNode:
    """``{key=value key=value}``."""

    at: Token
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class AccessNode:
    """``gb:0x40[8,1]``."""

    at: Token
    access: Access


@dataclass(frozen=True, slots=True)
class Condition:
    """``dma0>=12``; the queue by name or number."""

    queue: Token
    count: int


@dataclass(frozen=True, slots=True)
class Directive:
    """``.symbol "x" key=value ...``."""

    at: Token
    title: Token
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """An instruction with its arguments and waits."""

    at: Token
    arguments: tuple[Argument, ...]
    conditions: tuple[Condition, ...]


Node: TypeAlias = Token | TupleNode | RecordNode | AccessNode


class Problem(Exception):  # noqa: N818 - it becomes a ParseError
    """Something is wrong at a token; carries the message to show there."""

    def __init__(self, at: Token, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.at = at
        self.message = message
        self.hint = hint


def parse(text: str, source: str) -> list[Directive | Statement]:
    """Return the statements of a text.

    Raises:
        ParseError: It breaks the grammar; shows the line with a caret.
    """
    try:
        return cast("list[Directive | Statement]", _lark().parse(text))
    except UnexpectedInput as error:
        line, column, found = where(error, text)
        raise ParseError(at_position(text, source, line, column, f"unexpected {found}")) from None


def integer(token: str) -> int:
    """Return the value of an integer, decimal or with ``0x``."""
    return int(token, 16 if "x" in token else 10)


def string(token: str) -> str:
    """Return the value of a quoted text (JSON's escapes)."""
    return str(json.loads(token))


@cache
def _lark() -> Lark:
    return Lark.open("asm.lark", rel_to=__file__, parser="lalr", transformer=_Builder())


class _Builder(Transformer[Token, list[Directive | Statement]]):
    """Builds the tree bottom-up while the text is parsed; methods are named as the rules."""

    def start(self, children: list[Any]) -> list[Directive | Statement]:
        return children

    def directive(self, children: list[Any]) -> Directive:
        at, title, *arguments = children
        return Directive(at, title, tuple(arguments))

    def title(self, children: list[Token]) -> Token:
        return children[0]

    def instruction(self, children: list[Any]) -> Statement:
        at, *rest = children
        arguments = tuple(item for item in rest if isinstance(item, Argument))
        waits = [item for item in rest if not isinstance(item, Argument)]
        return Statement(at, arguments, tuple(item for wait in waits for item in wait))

    def argument(self, children: list[Any]) -> Argument:
        key, value = children
        return Argument(key, str(key)[:-1], value)

    def wait(self, children: list[Any]) -> list[Condition]:
        return children[1:]

    def condition(self, children: list[Token]) -> Condition:
        return Condition(children[0], integer(children[1]))

    def access(self, children: list[Any]) -> AccessNode:
        at, *strides = children
        place, address = str(at).split(":")
        space, npu = place.rstrip("0123456789"), place.lstrip("dramgbwp")
        values = tuple(integer(item) for item in strides if item is not None)
        return AccessNode(at, Access(Space(space), int(npu or 0), integer(address), values))

    def tuple(self, children: list[Any]) -> TupleNode:
        at, *items = children
        return TupleNode(at, tuple(item for item in items if item is not None))

    def record(self, children: list[Any]) -> RecordNode:
        at, *arguments = children
        return RecordNode(at, tuple(arguments))

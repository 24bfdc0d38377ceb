"""What the grammar reads: untyped syntax with positions, before types give it meaning."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lark import Token


class SyntaxProblem(Exception):  # noqa: N818 - becomes a ParseError once the source is known
    """Something is wrong at a token."""

    def __init__(self, at: Token, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.at = at
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class ListNode:
    """``[a, b]``."""

    at: Token
    items: Sequence["Syntax"]


@dataclass(frozen=True, slots=True)
class FieldNode:
    """``key = value``."""

    at: Token
    value: "Syntax"


@dataclass(frozen=True, slots=True)
class RecordNode:
    """``{key = value, ...}``, or the fields of a section."""

    at: Token
    fields: Sequence[FieldNode]


@dataclass(frozen=True, slots=True)
class TableNode:
    """``table (key, ...) { cells }``; cells row by row."""

    at: Token
    keys: Sequence[Token]
    cells: Sequence["Syntax"]


@dataclass(frozen=True, slots=True)
class CodeNode:
    """``code { tag {...} ... }``."""

    at: Token
    items: Sequence[RecordNode]


@dataclass(frozen=True, slots=True)
class TypeNode:
    """``s8<1x64, scale = 0.5, zero = 3>``; ``at`` is all up to the shape."""

    at: Token
    fields: Sequence[FieldNode]


@dataclass(frozen=True, slots=True)
class AccessNode:
    """``gb.0+64[8, 1]``; ``at`` is all up to the strides."""

    at: Token
    strides: ListNode


@dataclass(frozen=True, slots=True)
class OriginNode:
    """``from "Conv_12"``."""

    at: Token


@dataclass(frozen=True, slots=True)
class ValueNode:
    """A graph input or constant."""

    keyword: str
    at: Token
    type: TypeNode


@dataclass(frozen=True, slots=True)
class OpNode:
    """One operator; ``at`` is its first result."""

    at: Token
    results: Sequence[Token]
    kind: Token
    operands: Sequence[Token]
    attrs: RecordNode | None
    types: Sequence[TypeNode]
    origin: OriginNode | None


@dataclass(frozen=True, slots=True)
class LevelNode:
    """``gb [I, O]`` in a loop nest."""

    at: Token
    operands: ListNode


@dataclass(frozen=True, slots=True)
class LoopNode:
    """``for C 2``, or ``par K 16 on lanes``."""

    at: Token
    extent: Token
    fanout: Token | None


@dataclass(frozen=True, slots=True)
class GraphNode:
    """The section of the graph."""

    at: Token
    name: Token
    values: Sequence[ValueNode]
    ops: Sequence[OpNode]
    outputs: Sequence[Token]


@dataclass(frozen=True, slots=True)
class SectionNode:
    """Any other section: its keyword, its title where it has one, and its items."""

    at: Token
    title: Token | None
    items: Sequence["FieldNode | LevelNode | LoopNode"]


Syntax: TypeAlias = Token | ListNode | RecordNode | TableNode | CodeNode | TypeNode | AccessNode


def position(node: Syntax) -> Token:
    """Return the token at which a value begins."""
    return node if isinstance(node, Token) else node.at


def text_of(token: Token) -> str:
    """Return the text that a word, a string or the name of a tensor stands for.

    Raises:
        SyntaxProblem: A string has an escape that does not exist.
    """
    spelled = str(token).removeprefix("%") if token.type == "NAME" else str(token)
    if not spelled.startswith('"'):
        return spelled
    try:
        return str(json.loads(spelled))
    except ValueError:
        raise SyntaxProblem(token, f"{spelled} is not a valid string") from None

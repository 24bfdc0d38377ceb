"""Builds syntax bottom-up while the grammar reads; methods are named as its rules."""
# ruff: noqa: D102 - the rules of the grammar say what they read

import re
from typing import Any, TypeAlias, cast

from lark import Token, Transformer

from .syntax import (
    AccessNode,
    CodeNode,
    FieldNode,
    GraphNode,
    LevelNode,
    ListNode,
    LoopNode,
    OpNode,
    OriginNode,
    RecordNode,
    SectionNode,
    Syntax,
    TableNode,
    TypeNode,
    ValueNode,
)

Children: TypeAlias = list[Any]
"""What the parts of a rule were built into; Lark leaves it untyped."""

_NUMBER = re.compile(r"[^\s,\[\]]+")


class BuildSyntax(Transformer[Token, list[object]]):
    """Builds syntax bottom-up; methods are named as the rules of the grammar."""

    def start(self, children: Children) -> list[object]:
        return children

    def graph(self, children: Children) -> GraphNode:
        at, name, *items, outputs = children
        values = [item for item in items if isinstance(item, ValueNode)]
        ops = [item for item in items if isinstance(item, OpNode)]
        return GraphNode(at, name, values, ops, outputs or [])

    def input(self, children: Children) -> ValueNode:
        return ValueNode("input", *children)

    def const(self, children: Children) -> ValueNode:
        return ValueNode("const", *children)

    def op(self, children: Children) -> OpNode:
        results, kind, operands, attrs, types, origin = children
        return OpNode(results[0], results, kind, operands or [], attrs, types, origin)

    def origin(self, children: Children) -> OriginNode:
        return OriginNode(*children)

    def operands(self, children: Children) -> list[Token]:
        return cast("list[Token]", children)

    def operand(self, children: Children) -> Token:
        return cast("Token", children[0])

    def names(self, children: Children) -> list[Token]:
        return cast("list[Token]", children)

    def types(self, children: Children) -> list[TypeNode]:
        return cast("list[TypeNode]", children)

    def tensor_type(self, children: Children) -> TypeNode:
        return TypeNode(children[0], children[1:])

    def arch(self, children: Children) -> SectionNode:
        return SectionNode(children[0], children[1], children[2:])

    def program(self, children: Children) -> SectionNode:
        return SectionNode(children[0], children[1], children[2:])

    def mapping(self, children: Children) -> SectionNode:
        return SectionNode(children[0], children[1], children[2:])

    def graph_schedule(self, children: Children) -> SectionNode:
        return SectionNode(children[0], None, children[1:])

    def tile_schedule(self, children: Children) -> SectionNode:
        return SectionNode(children[0], None, children[1:])

    def level(self, children: Children) -> LevelNode:
        return LevelNode(*children)

    def loop(self, children: Children) -> LoopNode:
        return LoopNode(*children, fanout=None)

    def unrolled(self, children: Children) -> LoopNode:
        return LoopNode(*children)

    def key(self, children: Children) -> Token:
        return cast("Token", children[0])

    def field(self, children: Children) -> FieldNode:
        return FieldNode(*children)

    def access(self, children: Children) -> AccessNode:
        return AccessNode(*children)

    def sequence(self, children: Children) -> ListNode:
        if children[0].type == "NUMBERS":
            whole = children[0]
            bracket = Token("LSQB", "[", line=whole.line, column=whole.column)
            return ListNode(bracket, _numbers(whole))
        return ListNode(children[0], children[1:])

    def record(self, children: Children) -> RecordNode:
        return RecordNode(children[0], children[1:])

    def table(self, children: Children) -> TableNode:
        at, keys, cells = children
        return TableNode(at, keys, cells)

    def keys(self, children: Children) -> list[Token]:
        return cast("list[Token]", children)

    def cells(self, children: Children) -> list[Syntax]:
        return cast("list[Syntax]", children)

    def code(self, children: Children) -> CodeNode:
        return CodeNode(children[0], children[1:])

    def instruction(self, children: Children) -> RecordNode:
        tag, record = children
        return RecordNode(tag, record.fields)


def _numbers(whole: Token) -> list[Token]:
    """Return the numbers of a list that the lexer read as one word, each where it stands."""
    text = str(whole)
    if "\n" not in text:
        line, column = whole.line, whole.column or 0
        return [
            Token(_kind(item[0]), item[0], line=line, column=column + item.start())
            for item in _NUMBER.finditer(text)
        ]
    return [
        Token(_kind(item[0]), item[0], line=line, column=column)
        for item in _NUMBER.finditer(text)
        for line, column in [_place(whole, text, item.start())]
    ]


def _kind(number: str) -> str:
    """Return the name of the terminal that a number would be by itself."""
    if number.lstrip("-").isdecimal():
        return "INT"
    return "RANGE" if ":" in number else "FLOAT"


def _place(whole: Token, text: str, start: int) -> tuple[int, int]:
    """Return line and column of a character of a word that has several lines, from 1."""
    breaks = text.count("\n", 0, start)
    column = start - text.rfind("\n", 0, start) if breaks else (whole.column or 0) + start
    return (whole.line or 0) + breaks, column

"""Syntax to single values: texts, numbers, enumerations, types, ranges, accesses and waits.

Each function raises ``SyntaxProblem`` where the syntax is of another kind.
"""

import difflib
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache
from typing import Any

from lark import Token

from ...isa.instructions import Access, Space, Wait
from ...tiles.graph import Range
from ...types import DType, Quantization, TensorType
from .syntax import (
    AccessNode,
    ListNode,
    Syntax,
    SyntaxProblem,
    TypeNode,
    position,
    text_of,
)


def read_type(node: TypeNode) -> TensorType:
    """Return a tensor type.

    Raises:
        SyntaxProblem: There is no such element type, or the quantisation is incomplete.
    """
    head, _, extents = str(node.at).partition("<")
    if head not in tuple(DType):
        raise unknown(node.at, f"no element type {head!r}", DType)
    shape = tuple(map(int, extents.split("x"))) if extents else ()
    return TensorType(DType(head), shape, _read_quantization(node) if node.fields else None)


def read_attr(node: Syntax) -> Any:
    """Return a value whose type its spelling tells.

    Raises:
        SyntaxProblem: It is no number, boolean, text or list of these.
    """
    if isinstance(node, ListNode):
        return tuple(_read_single(item) for item in node.items)
    return _read_single(node)


def read_int(node: Syntax) -> int:
    """Return an integer.

    Raises:
        SyntaxProblem: It is none.
    """
    if isinstance(node, Token) and node.type == "INT":
        return int(node)
    raise expected(node, "an integer")


def read_enum(kind: type[Enum], node: Syntax) -> Any:
    """Return the member of an enumeration.

    Raises:
        SyntaxProblem: There is none of this spelling.
    """
    text = read_text(node)
    for member in kind:
        if member.value == text:
            return member
    raise unknown(position(node), f"no {kind.__name__} {text!r}", (str(m.value) for m in kind))


def read_text(node: Syntax) -> str:
    """Return a text, bare or in quotes."""
    if isinstance(node, Token) and node.type in ("WORD", "STRING"):
        return text_of(node)
    raise expected(node, "a word or a text in quotes")


def read_bool(node: Syntax) -> bool:
    """Return a boolean."""
    if isinstance(node, Token) and node in ("true", "false"):
        return node == "true"
    raise expected(node, "true or false")


def read_float(node: Syntax) -> float:
    """Return a float, also from an integer."""
    if isinstance(node, Token) and (
        node.type in ("INT", "FLOAT") or (node.type == "WORD" and node in ("inf", "nan"))
    ):
        return float(node)
    raise expected(node, "a number")


def read_range(node: Syntax) -> Range:
    """Return a range of indices."""
    if isinstance(node, Token) and node.type == "RANGE":
        return _range_of(str(node))
    raise expected(node, "a range such as 0:16")


def read_wait(node: Syntax) -> Wait:
    """Return a wait."""
    if isinstance(node, Token) and node.type == "WAIT":
        return Wait(*map(int, node.split(">=")))
    raise expected(node, "a wait such as 3>=17")


def read_access(node: Syntax) -> Access:
    """Return an access."""
    if not isinstance(node, AccessNode):
        raise expected(node, "an access such as gb.0+64[8, 1]")
    place, _, address = str(node.at).partition("+")
    space, _, npu = place.partition(".")
    if space not in tuple(Space):
        raise unknown(node.at, f"no space {space!r}", Space)
    strides = tuple(read_int(item) for item in node.strides.items)
    return Access(Space(space), int(npu), int(address), strides)


def read_type_value(node: Syntax) -> TensorType:
    """Return a tensor type."""
    if isinstance(node, TypeNode):
        return read_type(node)
    raise expected(node, "a type such as s8<1x64>")


def _read_single(node: Syntax) -> bool | int | float | str:
    if isinstance(node, Token):
        if node.type == "INT":
            return read_int(node)
        if node.type == "STRING":
            return text_of(node)
        if node in ("true", "false"):
            return node == "true"
        if node.type == "FLOAT" or node in ("inf", "nan"):
            return read_float(node)
    raise expected(node, "a number, true, false or a text in quotes")


def _read_quantization(node: TypeNode) -> Quantization:
    values = {str(item.at): item.value for item in node.fields}
    for item in node.fields:
        if str(item.at) not in ("scale", "zero", "axis"):
            raise unknown(item.at, f"a type has no {str(item.at)!r}", ("scale", "zero", "axis"))
    if "scale" not in values or "zero" not in values:
        raise SyntaxProblem(node.at, "a quantised type needs scale and zero")
    scales = tuple(read_float(item) for item in _items(values["scale"]))
    zeros = tuple(read_int(item) for item in _items(values["zero"]))
    if not isinstance(values["zero"], ListNode):
        zeros *= len(scales)
    axis = read_int(values["axis"]) if "axis" in values else None
    return Quantization(scales, zeros, axis)


def _items(node: Syntax) -> Sequence[Syntax]:
    return node.items if isinstance(node, ListNode) else (node,)


@cache
def _range_of(text: str) -> Range:
    return Range(*map(int, text.split(":")))


def expected(node: Syntax, what: str) -> SyntaxProblem:
    """Return the problem that something else stands where ``what`` is due."""
    return SyntaxProblem(position(node), f"expected {what}, found {str(position(node))!r}")


def unknown(at: Token, message: str, known: Iterable[str]) -> SyntaxProblem:
    """Return the problem that a name is not known, with the most similar one as a hint.

    Args:
        at: Where the name stands.
        message: What is wrong.
        known: Names that may stand there.
    """
    names = [str(name) for name in known]
    close = difflib.get_close_matches(str(at), names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(names)}"
    return SyntaxProblem(at, message, hint)

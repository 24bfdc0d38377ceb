"""Arithmetic over the names of parameters, such as ``gb.capacity / 32``.

A text is parsed into Python's syntax tree and only numbers, names, the operators of arithmetic and
a few functions are carried out; nothing of the text is ever run.
"""

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ....ir.errors import OptionError

Number: TypeAlias = int | float

_LARGEST = 2**53
_BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: lambda one, other: one + other,
    ast.Sub: lambda one, other: one - other,
    ast.Mult: lambda one, other: one * other,
    ast.Div: lambda one, other: one / other,
    ast.FloorDiv: lambda one, other: one // other,
    ast.Mod: lambda one, other: one % other,
}
_FUNCTIONS: Mapping[str, Callable[..., Number]] = {
    "min": min,
    "max": max,
    "sqrt": math.sqrt,
    "log2": math.log2,
    "ceil": math.ceil,
    "floor": math.floor,
}


@dataclass(frozen=True, slots=True)
class Expression:
    """A formula.

    Attributes:
        text: As it is written.
    """

    text: str

    def names(self) -> frozenset[str]:
        """Return the names that it reads.

        Raises:
            OptionError: It is no formula.
        """
        return frozenset(_names(_parsed(self.text), self.text))

    def value(self, known: Mapping[str, Number]) -> Number:
        """Return its value; a result without a fraction is an integer.

        Raises:
            OptionError: It is no formula, reads an unknown name, or has no finite value.
        """
        try:
            result = _value(_parsed(self.text), known, self.text)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise OptionError(f"{self.text!r} has no value: {error}") from error
        if not math.isfinite(result) or abs(result) > _LARGEST:
            raise OptionError(f"{self.text!r} is {result}, out of range")
        return int(result) if float(result).is_integer() else result


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise OptionError(f"{text!r} is no formula", hint='e.g. "gb.capacity / 32"') from error


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        parent = _dotted(node.value)
        return None if parent is None else f"{parent}.{node.attr}"
    return None


def _names(node: ast.expr, text: str) -> list[str]:
    name = _dotted(node)
    if name is not None:
        return [name]
    return [item for part in _parts(node, text) for item in _names(part, text)]


def _parts(node: ast.expr, text: str) -> list[ast.expr]:
    """Return the operands of a node; none of a number.

    Raises:
        OptionError: It is nothing that a formula may hold.
    """
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return []
        case ast.BinOp() if type(node.op) in _BINARY:
            return [node.left, node.right]
        case ast.UnaryOp(op=ast.USub()):
            return [node.operand]
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            return node.args
        case _:
            raise OptionError(
                f"{text!r}: cannot compute {ast.unparse(node)!r}",
                hint=f"numbers, names, + - * / // %, and {', '.join(_FUNCTIONS)}",
            )


def _value(node: ast.expr, known: Mapping[str, Number], text: str) -> Number:
    name = _dotted(node)
    if name is not None:
        if name not in known:
            raise OptionError(f"{text!r}: nothing is called {name!r}")
        return known[name]
    values = [_value(part, known, text) for part in _parts(node, text)]
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.BinOp():
            return _BINARY[type(node.op)](*values)
        case ast.Call(func=ast.Name(id=function)):
            return _FUNCTIONS[function](*values)
        case _:
            return -values[0]

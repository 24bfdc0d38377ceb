"""Options of a pass: its dataclass fields, with their types, as text and back."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from ..ir.codec.schema import Column, Form, columns
from ..ir.errors import OptionError
from .base import Pass

_PLAIN = re.compile(r'[^\s{},="]+')
_NONE = "none"


@dataclass(frozen=True, slots=True)
class OptionField:
    """One option of a pass.

    Attributes:
        name: Name of the field.
        kind: ``int``, ``float``, ``bool``, ``str`` or a ``StrEnum``.
        optional: Whether ``none`` is a value.
        default: Value where the text does not give one.
    """

    name: str
    kind: type
    optional: bool
    default: object

    @property
    def type_text(self) -> str:
        """The type as help shows it."""
        name = "|".join(self.kind) if issubclass(self.kind, StrEnum) else self.kind.__name__
        return f"{name}|{_NONE}" if self.optional else name

    def parse(self, text: str, *, quoted: bool = False) -> object:
        """Read a value.

        Args:
            text: The value, quotes removed.
            quoted: Whether it stood in quotes; then it is text, never ``none``.

        Raises:
            OptionError: It is of another type.
        """
        if self.optional and text == _NONE and not quoted:
            return None
        try:
            return _READERS.get(self.kind, self.kind)(text)
        except ValueError:
            raise OptionError(
                f"option {self.name!r} is {text!r}, expected {self.type_text}"
            ) from None

    def print(self, value: object) -> str:
        """Return the text that ``parse`` reads as the value."""
        if value is None:
            return _NONE
        if isinstance(value, bool):
            return "true" if value else "false"
        text = repr(value) if isinstance(value, float) else str(value)
        if text == _NONE or not _PLAIN.fullmatch(text):
            return json.dumps(text)
        return text


def _read_bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


def _read_int(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(text)
    return int(text)


_READERS: dict[type, Callable[[str], object]] = {bool: _read_bool, int: _read_int, float: float}


@cache
def option_fields(found: type[Pass]) -> tuple[OptionField, ...]:
    """Return the options of a pass in the order of its fields.

    Raises:
        TypeError: A field has no default or a type that has no text; a mistake of its author.
    """
    return tuple(_option(column, found.__name__) for column in columns(found))


def _option(column: Column, owner: str) -> OptionField:
    if column.is_required:
        raise TypeError(f"option {column.name!r} of {owner} has no default")
    shape = column.shape
    if shape.form is not Form.SCALAR or (
        shape.kind not in (int, float, bool, str) and not issubclass(shape.kind, StrEnum)
    ):
        raise TypeError(f"option {column.name!r} of {owner}: {shape.kind.__name__} has no text")
    return OptionField(column.name, shape.kind, shape.optional, column.default)

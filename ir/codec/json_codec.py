"""Frozen dataclasses as JSON text and back, checked against their schema."""

import dataclasses
import json
from collections.abc import Mapping
from enum import Enum
from typing import TypeVar, cast

from ..errors import ParseError
from .schema import Form, Shape, columns

T = TypeVar("T")


def dump_json(value: object) -> str:
    """Return a dataclass as indented JSON; keys stand in the order of the fields.

    Equal values give equal text. Mappings are sorted by key.

    Raises:
        ValueError: A float is not finite.
    """
    return json.dumps(_encode(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def parse_json(text: str, kind: type[T]) -> T:
    """Return the dataclass of type ``kind`` that JSON text describes.

    Raises:
        ParseError: The text is not JSON, or names the key whose value has the wrong type.
    """
    return cast("T", _decode_dataclass(_load(text), kind, ""))


def parse_key(text: str, key: str) -> object:
    """Return the raw value of one key at the top of JSON text; ``None`` where it is missing.

    Raises:
        ParseError: The text is not a JSON object.
    """
    return _object(_load(text), "").get(key)


def _load(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ParseError(f"{error.lineno}:{error.colno}: not JSON: {error.msg}") from None


def _encode(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            column.name: _encode(getattr(value, column.name)) for column in columns(type(value))
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_encode(item) for item in cast("tuple[object, ...]", value)]
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {key: _encode(item) for key, item in sorted(items)}
    return value


def _decode(raw: object, shape: Shape, path: str) -> object:
    if raw is None and shape.optional:
        return None
    match shape.form:
        case Form.SCALAR:
            return _decode_scalar(raw, shape.kind, path)
        case Form.LEAF | Form.RECORD:
            return _decode_dataclass(raw, shape.kind, path)
        case Form.CHOICE:
            return _decode_choice(raw, shape, path)
        case Form.MAPPING:
            items = _object(raw, path).items()
            return {key: _decode(item, shape.items[0], f"{path}.{key}") for key, item in items}
        case Form.SEQUENCE | Form.TABLE | Form.BLOCKS:
            return _decode_tuple(raw, shape, path)
        case Form.CODE:
            raise TypeError("instructions have no form in JSON")


def _decode_dataclass(raw: object, kind: type[object], path: str) -> object:
    table = _object(raw, path)
    known = {column.name: column for column in columns(kind)}
    for key in table:
        if key not in known:
            raise _wrong(path, f"unknown key {key!r}", f"known: {', '.join(known)}")
    for name, column in known.items():
        if name not in table and column.is_required:
            raise _wrong(path, f"{name} is missing")
    values = {name: _decode(table[name], known[name].shape, f"{path}.{name}") for name in table}
    return kind(**values)


def _decode_choice(raw: object, shape: Shape, path: str) -> object:
    kinds = [item.kind for item in shape.items]
    if type(raw) not in kinds:
        raise _wrong(path, f"{raw!r} must be {' or '.join(kind.__name__ for kind in kinds)}")
    return raw


def _decode_tuple(raw: object, shape: Shape, path: str) -> object:
    if not isinstance(raw, list):
        raise _wrong(path, f"{raw!r} must be a list")
    items = cast("list[object]", raw)
    shapes = shape.items if shape.fixed else shape.items * len(items)
    if len(items) != len(shapes):
        raise _wrong(path, f"{raw!r} must have {len(shapes)} values")
    pairs = enumerate(zip(items, shapes, strict=True))
    return tuple(_decode(item, inner, f"{path}[{index}]") for index, (item, inner) in pairs)


def _decode_scalar(raw: object, kind: type, path: str) -> object:
    if issubclass(kind, Enum):
        return _decode_enum(raw, kind, path)
    if kind is float and type(raw) is int:
        return float(raw)
    if type(raw) is not kind:
        raise _wrong(path, f"{raw!r} must be {kind.__name__}")
    return raw


def _decode_enum(raw: object, kind: type[Enum], path: str) -> object:
    try:
        return kind(raw)
    except ValueError:
        allowed = ", ".join(str(member.value) for member in kind)
        raise _wrong(path, f"{raw!r} must be one of {allowed}") from None


def _object(raw: object, path: str) -> Mapping[str, object]:
    if not isinstance(raw, dict):
        raise _wrong(path, f"{raw!r} must be an object")
    return cast("Mapping[str, object]", raw)


def _wrong(path: str, what: str, hint: str | None = None) -> ParseError:
    return ParseError(f"{path.removeprefix('.') or 'top'}: {what}", hint=hint)

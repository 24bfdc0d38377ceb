"""Frozen dataclasses as JSON text and back, checked against their type hints."""

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar, cast

from .errors import ParseError

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
    return cast("T", _decode(_load(text), kind, ""))


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
        names = (field.name for field in dataclasses.fields(value))
        return {name: _encode(getattr(value, name)) for name in names}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_encode(item) for item in cast("tuple[object, ...]", value)]
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {key: _encode(item) for key, item in sorted(items)}
    return value


def _decode(raw: object, kind: Any, path: str) -> object:
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _decode_union(raw, typing.get_args(kind), path)
    if origin is tuple:
        return _decode_tuple(raw, typing.get_args(kind)[0], path)
    if origin is Mapping:
        return _decode_mapping(raw, typing.get_args(kind)[1], path)
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(raw, cast("type[object]", kind), path)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _decode_enum(raw, kind, path)
    return _decode_scalar(raw, kind, path)


def _decode_dataclass(raw: object, kind: type[object], path: str) -> object:
    table = _object(raw, path)
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(cast("Any", kind))}
    for key in table:
        if key not in fields:
            raise _wrong(path, f"unknown key {key!r}", f"known: {', '.join(fields)}")
    for name, field in fields.items():
        if name not in table and field.default is dataclasses.MISSING:
            raise _wrong(path, f"{name} is missing")
    return kind(**{name: _decode(table[name], hints[name], f"{path}.{name}") for name in table})


def _decode_union(raw: object, kinds: tuple[Any, ...], path: str) -> object:
    if raw is None and type(None) in kinds:
        return None
    others = tuple(kind for kind in kinds if kind is not type(None))
    if len(others) == 1:
        return _decode(raw, others[0], path)
    exact = next((kind for kind in others if type(raw) is kind), None)
    if exact is None:
        raise _wrong(path, f"{raw!r} must be {' or '.join(kind.__name__ for kind in others)}")
    return raw


def _decode_tuple(raw: object, kind: Any, path: str) -> object:
    if not isinstance(raw, list):
        raise _wrong(path, f"{raw!r} must be a list")
    items = enumerate(cast("list[object]", raw))
    return tuple(_decode(item, kind, f"{path}[{index}]") for index, item in items)


def _decode_mapping(raw: object, kind: Any, path: str) -> object:
    return {key: _decode(item, kind, f"{path}.{key}") for key, item in _object(raw, path).items()}


def _decode_enum(raw: object, kind: type[Enum], path: str) -> object:
    try:
        return kind(raw)
    except ValueError:
        allowed = ", ".join(str(member.value) for member in kind)
        raise _wrong(path, f"{raw!r} must be one of {allowed}") from None


def _decode_scalar(raw: object, kind: Any, path: str) -> object:
    if kind is float and type(raw) is int:
        return float(raw)
    if type(raw) is not kind:
        raise _wrong(path, f"{raw!r} must be {kind.__name__}")
    return raw


def _object(raw: object, path: str) -> Mapping[str, object]:
    if not isinstance(raw, dict):
        raise _wrong(path, f"{raw!r} must be an object")
    return cast("Mapping[str, object]", raw)


def _wrong(path: str, what: str, hint: str | None = None) -> ParseError:
    return ParseError(f"{path.removeprefix('.') or 'top'}: {what}", hint=hint)

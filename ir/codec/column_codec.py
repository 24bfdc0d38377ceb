"""Frozen dataclasses as columns, one for each of their fields, and back: for what is kept by many.

    events: load 3 0, compute 7 4    ->    kind: load compute   subject: 3 7   start: 0 4

That takes a tenth of the time of JSON row by row, since whole columns are checked and made at once.
The bytes are compressed, and have a checksum. What each shape becomes:

====================  =============================================================
number, choice        a list of values
text, enumeration     ``words``, distinct ones, and ``at``: the number of each value
leaf                  the same; its words are those of a record
record                the columns of its fields
sequence, table       ``sizes``, and ``of``: all items behind each other
fixed sequence        a column for each position
mapping               ``sizes``, ``keys`` and ``of``
optional              ``none``: where there is no value, and ``of``: the others
====================  =============================================================
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import chain, islice
from typing import Any, TypeVar, cast

from ..errors import ParseError
from .schema import Form, Shape, columns

T = TypeVar("T")

_FASTEST = 1
"""Level of the compression."""


def dump_columns(value: object) -> bytes:
    """Return a dataclass as columns; equal values give equal bytes.

    Args:
        value: The dataclass.

    Raises:
        ValueError: A float is not finite.
    """
    packed = _pack_records([value], type(value))
    text = json.dumps(packed, separators=(",", ":"), allow_nan=False)
    return zlib.compress(text.encode(), _FASTEST)


def parse_columns(data: bytes, kind: type[T]) -> T:
    """Return the dataclass of type ``kind`` that columns describe.

    Args:
        data: What :func:`dump_columns` gave.
        kind: The type.

    Raises:
        ParseError: The bytes are damaged, or describe something else.
    """
    try:
        (value,) = _records(json.loads(zlib.decompress(data)), kind, 1)
    except (zlib.error, ValueError, TypeError, LookupError, RecursionError) as error:
        raise ParseError(f"no columns of {kind.__name__}: {error}") from None
    return cast("T", value)


# -- values to columns ---------------------------------------------------------------------------


def _pack(values: Sequence[Any], shape: Shape) -> object:
    if shape.optional:
        none = [number for number, value in enumerate(values) if value is None]
        return {"none": none, "of": _pack_all([v for v in values if v is not None], shape)}
    return _pack_all(values, shape)


def _pack_all(values: Sequence[Any], shape: Shape) -> object:
    match shape.form:
        case Form.SCALAR if issubclass(shape.kind, Enum | str):
            return _pack_words(values, shape)
        case Form.SCALAR | Form.CHOICE:
            return list(values)
        case Form.LEAF:
            return _pack_words(values, shape)
        case Form.RECORD:
            return _pack_records(values, shape.kind)
        case Form.SEQUENCE if shape.fixed:
            places = zip(*values, strict=True) if values else [()] * len(shape.items)
            return [_pack(place, item) for place, item in zip(places, shape.items, strict=True)]
        case Form.SEQUENCE | Form.TABLE | Form.BLOCKS:
            items = list(chain.from_iterable(values))
            return {"sizes": list(map(len, values)), "of": _pack(items, shape.items[0])}
        case Form.MAPPING:
            pairs = [pair for value in values for pair in sorted(value.items())]
            return {
                "sizes": list(map(len, values)),
                "keys": [key for key, _ in pairs],
                "of": _pack([item for _, item in pairs], shape.items[0]),
            }
        case Form.CODE:
            raise TypeError("instructions have no columns")


def _pack_words(values: Sequence[Any], shape: Shape) -> object:
    numbers: dict[Any, int] = {}
    at = [numbers.setdefault(value, len(numbers)) for value in values]
    distinct = list(numbers)
    is_leaf = shape.form is Form.LEAF
    return {"words": _pack_records(distinct, shape.kind) if is_leaf else distinct, "at": at}


def _pack_records(values: Sequence[object], kind: type) -> object:
    return {
        item.name: _pack([getattr(value, item.name) for value in values], item.shape)
        for item in columns(kind)
    }


# -- columns to values ---------------------------------------------------------------------------


def _values(packed: Any, shape: Shape, count: int) -> list[Any]:
    """Return the values of a column.

    Args:
        packed: The column.
        shape: Of each value.
        count: How many there are.

    Raises:
        ValueError: There are not so many.
        TypeError: Some have another type.
        LookupError: Something is missing.
    """
    if not shape.optional:
        return _all_values(packed, shape, count)
    none = frozenset(packed["none"])
    if not none.issubset(range(count)):
        raise LookupError("a value that is none is out of range")
    others = iter(_all_values(packed["of"], shape, count - len(none)))
    return [None if number in none else next(others) for number in range(count)]


def _all_values(packed: Any, shape: Shape, count: int) -> list[Any]:
    match shape.form:
        case Form.SCALAR if issubclass(shape.kind, Enum | str):
            return _spelled(packed, [shape.kind(word) for word in packed["words"]], count)
        case Form.SCALAR:
            return _numbers(packed, shape.kind, count)
        case Form.CHOICE:
            return _chosen(packed, shape, count)
        case Form.LEAF:
            distinct = 1 + max(packed["at"], default=-1)
            return _spelled(packed, _records(packed["words"], shape.kind, distinct), count)
        case Form.RECORD:
            return _records(packed, shape.kind, count)
        case Form.SEQUENCE if shape.fixed:
            pairs = zip(packed, shape.items, strict=True)
            return list(zip(*(_values(place, item, count) for place, item in pairs), strict=True))
        case Form.SEQUENCE | Form.TABLE | Form.BLOCKS:
            sizes = _numbers(packed["sizes"], int, count)
            items = iter(_values(packed["of"], shape.items[0], sum(sizes)))
            return [tuple(islice(items, size)) for size in sizes]
        case Form.MAPPING:
            sizes = _numbers(packed["sizes"], int, count)
            keys = _numbers(packed["keys"], str, sum(sizes))
            pairs = zip(keys, _values(packed["of"], shape.items[0], sum(sizes)), strict=True)
            return [dict(islice(pairs, size)) for size in sizes]
        case Form.CODE:
            raise TypeError("instructions have no columns")


def _spelled(packed: Any, words: Sequence[Any], count: int) -> list[Any]:
    at = _numbers(packed["at"], int, count)
    if min(at, default=0) < 0:
        raise LookupError("numbers of words are negative")
    return list(map(words.__getitem__, at))


def _numbers(packed: Any, kind: type, count: int) -> list[Any]:
    if len(packed) != count:
        raise ValueError(f"{len(packed)} values instead of {count}")
    if kind is float:
        packed = [float(value) if type(value) is int else value for value in packed]
    if not {kind}.issuperset(map(type, packed)):
        raise TypeError(f"values are not {kind.__name__}")
    return packed


def _chosen(packed: Any, shape: Shape, count: int) -> list[Any]:
    kinds = {item.kind for item in shape.items}
    if len(packed) != count or not kinds.issuperset(map(type, packed)):
        raise TypeError(f"no {count} values of {' or '.join(kind.__name__ for kind in kinds)}")
    return packed


def _records(packed: Mapping[str, Any], kind: type, count: int) -> list[Any]:
    found = columns(kind)
    names = [item.name for item in found]
    if list(packed) != names:
        raise LookupError(f"fields of {kind.__name__} are {' '.join(packed)}")
    if not names:
        return [kind() for _ in range(count)]
    fields = [_values(packed[item.name], item.shape, count) for item in found]
    return [kind(**dict(zip(names, row, strict=True))) for row in zip(*fields, strict=True)]

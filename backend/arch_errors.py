"""Messages for what is wrong in an architecture file: file, key, value, what is allowed."""

import difflib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..ir.codec.schema import columns
from ..ir.errors import ArchitectureError

TABLES: Mapping[str, str] = {
    "levels": "level",
    "fanouts": "fanout",
    "groups": "group",
    "npus": "npu",
}
"""What a file calls the fields that are tables of several."""


def problem(file: str, key: str, value: object, what: str, allowed: Iterable[str] = ()) -> str:
    """Return one line that names file, key, value, what is wrong, and what is allowed.

    Args:
        file: Name of the file.
        key: Where in it.
        value: What it says there.
        what: What is wrong.
        allowed: What it may say.
    """
    names = tuple(allowed)
    known = f"; allowed: {', '.join(names)}" if names else ""
    return f"{file}: {key} = {_show(value)}: {what}{known}"


def suggestion(word: str, known: Iterable[str]) -> str | None:
    """Return ``did you mean 'x'?`` for the known word that is closest; ``None`` if none is."""
    close = difflib.get_close_matches(word, tuple(known), n=1)
    return f"did you mean {close[0]!r}?" if close else None


def from_validation(
    file: str, kind: type, value: object, error: ValidationError, *, key: str = ""
) -> ArchitectureError:
    """Return the error that tells every problem which validation found.

    Args:
        file: Name of the file, as the user gave it.
        kind: The class that was to be built.
        value: What it was to be built from.
        error: What validation found.
        key: Where the value stands in the file.
    """
    found = error.errors(include_url=False, include_context=False)
    details = [item for item in found if not _follows(item, found)]
    lines = [_line(file, kind, value, detail, key) for detail in details]
    hints = [hint for detail in details if (hint := _hint(kind, detail)) is not None]
    return ArchitectureError("\n".join(lines), hint=hints[0] if hints else None)


def _follows(detail: ErrorDetails, others: Sequence[ErrorDetails]) -> bool:
    """Whether a table is wrong only since something in it is."""
    place = detail["loc"]
    return any(len(item["loc"]) > len(place) == _common(item["loc"], place) for item in others)


def _common(one: Sequence[int | str], other: Sequence[int | str]) -> int:
    pairs = zip(one, other, strict=False)
    return len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _line(file: str, kind: type, value: object, detail: ErrorDetails, key: str) -> str:
    path = _path(value, detail["loc"], key)
    if detail["type"] == "missing":
        return f"{file}: {path} is missing"
    if detail["type"] == "unexpected_keyword_argument":
        known = _known_keys(kind, detail["loc"])
        return problem(file, path, detail["input"], "unknown key", known)
    message = re.sub(r"^\w+ should", "must", detail["msg"]).replace("array", "list")
    return problem(file, path, detail["input"], message)


def _hint(kind: type, detail: ErrorDetails) -> str | None:
    key = str(detail["loc"][-1]) if detail["loc"] else ""
    if detail["type"] == "unexpected_keyword_argument":
        return suggestion(key, _known_keys(kind, detail["loc"]))
    if detail["type"] == "tuple_type" and key in TABLES:
        return f"a table of several is written [[{TABLES[key]}]]"
    return None


def _known_keys(kind: type, location: Sequence[int | str]) -> tuple[str, ...]:
    fields = {column.name: column.shape.kind for column in columns(kind)}
    table = kind if len(location) == 1 else fields[str(location[0])]
    return tuple(column.name for column in columns(table))


def _path(value: object, location: Sequence[int | str], start: str) -> str:
    """Return ``level.gb.capacity`` for ``("levels", 1, "capacity")``."""
    parts: list[str] = [start]
    here: object = value
    for step in location:
        if isinstance(here, list):
            row = cast("list[object]", here)[int(step)]
            name = _name_of(row)
            parts.append(f"[{step}]" if name is None else f".{name}")
            here = row
        elif isinstance(here, dict):
            here = cast("Mapping[str, object]", here).get(str(step))
            parts.append(f".{TABLES.get(str(step), step)}")
    return "".join(parts).removeprefix(".")


def _name_of(row: object) -> str | None:
    """Return the name of a table or of a (name, value) pair."""
    name = cast("Mapping[str, object]", row).get("name") if isinstance(row, dict) else None
    if isinstance(row, tuple):
        name = cast("tuple[object, ...]", row)[0]
    return name if isinstance(name, str) else None


def _show(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

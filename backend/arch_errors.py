"""Messages for what is wrong in an architecture file: file, key, value, what is allowed."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..ir.errors import ArchitectureError
from .arch_schema import TABLES, ArchTable


def problem(file: str, key: str, value: object, what: str, allowed: Iterable[str] = ()) -> str:
    """Return one line that names file, key, value, what is wrong, and what is allowed."""
    names = tuple(allowed)
    known = f"; allowed: {', '.join(names)}" if names else ""
    return f"{file}: {key} = {_show(value)}: {what}{known}"


def suggestion(word: str, known: Iterable[str]) -> str | None:
    """Return ``did you mean 'x'?`` for the known word that is closest; ``None`` if none is."""
    close = difflib.get_close_matches(word, tuple(known), n=1)
    return f"did you mean {close[0]!r}?" if close else None


def from_validation(
    file: str, tables: Mapping[str, object], error: ValidationError
) -> ArchitectureError:
    """Return the error that tells every problem which validation found.

    Args:
        file: Name of the file, as the user gave it.
        tables: What the file says.
        error: What validation found.
    """
    details = error.errors(include_url=False, include_context=False)
    lines = [_line(file, tables, detail) for detail in details]
    hints = [hint for detail in details if (hint := _hint(detail)) is not None]
    return ArchitectureError("\n".join(lines), hint=hints[0] if hints else None)


def _line(file: str, tables: Mapping[str, object], detail: ErrorDetails) -> str:
    key = _path(tables, detail["loc"])
    if detail["type"] == "missing":
        return f"{file}: {key} is missing"
    if detail["type"] == "extra_forbidden":
        return problem(file, key, detail["input"], "unknown key", _known_keys(detail["loc"]))
    return problem(file, key, detail["input"], re.sub(r"^\w+ should", "must", detail["msg"]))


def _hint(detail: ErrorDetails) -> str | None:
    key = str(detail["loc"][-1])
    if detail["type"] == "extra_forbidden":
        return suggestion(key, _known_keys(detail["loc"]))
    if detail["type"] == "list_type" and key in TABLES:
        return f"a table of several is written [[{key}]]"
    return None


def _known_keys(location: Sequence[int | str]) -> tuple[str, ...]:
    table = ArchTable if len(location) == 1 else TABLES[str(location[0])]
    return tuple(table.model_fields)


def _path(tables: Mapping[str, object], location: Sequence[int | str]) -> str:
    """Return ``level.gb.capacity`` for ``("level", 1, "capacity")``."""
    parts: list[str] = []
    here: object = tables
    for step in location:
        if isinstance(step, int) and isinstance(here, list):
            here = cast("list[object]", here)[step]
            name = (
                cast("Mapping[str, object]", here).get("name") if isinstance(here, dict) else None
            )
            parts.append(f".{name}" if isinstance(name, str) else f"[{step}]")
        else:
            here = (
                cast("Mapping[str, object]", here).get(str(step))
                if isinstance(here, dict)
                else None
            )
            parts.append(f".{step}")
    return "".join(parts).removeprefix(".")


def _show(value: object) -> str:
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

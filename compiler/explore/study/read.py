"""Read a study file; messages name file, key, value and what would help."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from ....backend.arch_errors import from_validation, problem, suggestion
from ....backend.load import find_source, tables_of
from ....ir.errors import ArchitectureError, InputError, OptionError
from .parameters import StudySpace, read_space
from .schema import StudyFile
from .size import size_of

_RANGE_KEYS = frozenset({"from", "to", "step", "factor"})
_KEYS = ("base", *(item.name for item in fields(StudyFile)))


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study file, understood.

    Attributes:
        path: Where it is; what it names is looked for beside it.
        text: What it says.
        tables: The same as values.
        space: The points that may be looked at.
        bases: Tables of the base files, in their order.
        sram: Bytes of all memories on chip at most [byte].
    """

    path: Path
    text: str
    tables: StudyFile
    space: StudySpace
    bases: tuple[Mapping[str, Any], ...]
    sram: int | None


def read_study(path: Path) -> Study:
    """Return a study.

    Raises:
        InputError: The file cannot be read or is wrong; names file, key and value.
    """
    text = _text(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path.name}: not TOML: {error}") from None
    tables = _tables(path.name, raw)
    try:
        sources = [find_source(name, search=(path.parent, Path())) for name in tables.bases]
        bases = tuple(tables_of(source.text, source.path.name) for source in sources)
    except ArchitectureError as error:
        raise InputError(f"{path.name}: base: {error.message}", hint=error.hint) from error
    space = read_space(path.name, tables.parameters, tables.bases, bases)
    sram = _sram(path.name, tables.constraints.sram)
    return Study(path=path, text=text, tables=tables, space=space, bases=bases, sram=sram)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _tables(file: str, raw: Mapping[str, Any]) -> StudyFile:
    for key, value in raw.items():
        if key not in _KEYS:
            raise InputError(
                problem(file, key, value, "unknown key", sorted(_KEYS)),
                hint=suggestion(key, _KEYS),
            )
    if ("base" in raw) == ("bases" in raw):
        raise InputError(f"{file}: give either base or bases", hint='base = "simba.toml"')
    changed = {key: value for key, value in raw.items() if key != "base"}
    if "base" in raw:
        changed["bases"] = [raw["base"]]
    changed["parameters"] = _flat(raw.get("parameters", {}))
    try:
        return TypeAdapter(StudyFile).validate_json(json.dumps(changed, default=str))
    except ValidationError as error:
        found = from_validation(file, StudyFile, changed, error)
        raise InputError(found.message, hint=found.hint) from None


def _flat(value: object, prefix: str = "") -> dict[str, Any]:
    """Return nested tables as one with dotted keys; a range is a value."""
    if not isinstance(value, dict) or set(cast("Mapping[str, Any]", value)) & _RANGE_KEYS:
        return {prefix: value}
    rows = cast("Mapping[str, object]", value).items()
    parts = [_flat(item, f"{prefix}.{key}" if prefix else key) for key, item in rows]
    return {key: item for part in parts for key, item in part.items()}


def _sram(file: str, text: str | None) -> int | None:
    if text is None:
        return None
    size = size_of(text)
    if size is None:
        what = problem(file, "constraints.sram", text, "must be a size")
        raise OptionError(what, hint='e.g. "2 MiB"')
    return size

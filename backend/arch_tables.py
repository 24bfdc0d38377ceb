"""The TOML tables of an architecture file, and the value that they stand for.

Keys, types, ranges and defaults are those of the classes in ``ir/arch.py``; their units stand there
and in ``docs/architectures.md``. Only this differs in a file:

- ``levels``, ``fanouts``, ``groups`` and ``npus`` are tables ``[[level]]``, ``[[fanout]]``,
  ``[[group]]`` and ``[[npu]]``; ``[npus] count = 4`` stands for four equal NPUs;
- ``sizes`` of an NPU is a table: ``{ mac = 8 }``;
- an absent ``capacity`` is unbounded, and ``ports = "npu"`` says that there is no number;
- a ``description`` is for people.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from ..ir.arch import STRICT, Architecture, Count
from ..ir.codec.schema import columns
from ..ir.errors import ArchitectureError
from .arch_errors import TABLES, from_validation, problem, suggestion

T = TypeVar("T")
Table: TypeAlias = Mapping[str, Any]

_FIELD_OF = {table: field for field, table in TABLES.items()}
_KEYS = (
    "description",
    "npus",
    *(TABLES.get(column.name, column.name) for column in columns(Architecture)),
)


@dataclass(frozen=True)
class _EqualNpus:
    """``[npus]``."""

    __pydantic_config__ = STRICT

    count: Count = 1


def read_tables(file: str, tables: Table) -> Architecture:
    """Return the architecture that tables describe, not yet verified.

    Args:
        file: Name of the file, for messages.
        tables: What the file says.

    Raises:
        ArchitectureError: Tells every problem with file, key and value.
    """
    for key, value in tables.items():
        if key not in _KEYS:
            what = problem(file, key, value, "unknown key", sorted(_KEYS))
            raise ArchitectureError(what, hint=suggestion(key, _KEYS))
    if "npus" in tables and "npu" in tables:
        raise ArchitectureError(
            f"{file}: npus and npu exclude each other",
            hint="[npus] count = 4 for equal NPUs, or one [[npu]] table for each",
        )
    fields = {
        _FIELD_OF.get(key, key): _rows(value) if key in _FIELD_OF else value
        for key, value in tables.items()
        if key not in ("description", "npus")
    }
    if "npus" in tables:
        count = _validated(file, _EqualNpus, tables["npus"], "npus").count
        fields["npus"] = [{"name": f"npu{index}"} for index in range(count)]
    return _validated(file, Architecture, fields)


def dump_architecture(arch: Architecture) -> str:
    """Return TOML text with every key; :func:`.load.parse_architecture` reads it back.

    Comments and the description of the file that the value came from are not part of it.
    """
    fields: dict[str, Any] = _adapter(Architecture).dump_python(arch, mode="json")
    top = {name: value for name, value in fields.items() if not isinstance(value, list | dict)}
    parts = [_keys(top)]
    for name, value in fields.items():
        if isinstance(value, dict):
            parts.append(f"[{name}]\n{_keys(cast('Table', value))}")
        elif isinstance(value, list):
            rows = cast("list[Table]", value)
            parts += [f"[[{TABLES[name]}]]\n{_keys(_written(row))}" for row in rows]
    return "\n".join(parts)


def file_schema() -> Mapping[str, Any]:
    """Return the JSON schema by which architectures are read, in the words of the classes."""
    return _adapter(Architecture).json_schema()


@cache
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    """Return what reads and writes a class; making one takes longer than using it."""
    return TypeAdapter(kind)


def _validated(file: str, kind: type[T], value: object, key: str = "") -> T:
    try:
        return _adapter(kind).validate_json(json.dumps(value, default=str))
    except ValidationError as error:
        raise from_validation(file, kind, value, error, key=key) from None


def _rows(value: object) -> object:
    """Return the rows of a table in the words of the class."""
    if not isinstance(value, list):
        return value
    rows = cast("list[object]", value)
    return [_row(cast("Table", row)) if isinstance(row, dict) else row for row in rows]


def _row(row: Table) -> Table:
    fields = dict(row)
    if "holds" in fields:
        fields.setdefault("capacity", None)
    if fields.get("ports") == "npu":
        del fields["ports"]
    if isinstance(fields.get("sizes"), dict):
        fields["sizes"] = list(fields["sizes"].items())
    return fields


def _written(row: Table) -> Table:
    """Return the inverse of ``_row``."""
    return {**row, "sizes": dict(row["sizes"])} if "sizes" in row else row


def _keys(keys: Table) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in keys.items() if value is not None)


def _value(value: object) -> str:
    if isinstance(value, dict):
        pairs = cast("Mapping[str, object]", value).items()
        return f"{{ {', '.join(f'{key} = {_value(item)}' for key, item in pairs)} }}"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)

"""The reference of architecture files, written from the schema by which they are read.

``python -m accnn.backend.arch_manual > docs/architecture-file.md`` brings the page up to date.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ..ir.arch import (
    Architecture,
    Dma,
    Dram,
    Fanout,
    FanoutGroup,
    MemoryLevel,
    MeshNetwork,
    Npu,
    VectorUnit,
)
from .arch_errors import TABLES
from .arch_tables import file_schema
from .manual import meanings, prose

_INTRODUCTION = """\
# Architecture file

<!-- Written by `python -m accnn.backend.arch_manual`; edit `ir/arch.py`, which it is made of. -->

Every key of a TOML file that describes an accelerator, from the schema by which files are read.
[Describe an accelerator](architectures.md) explains them by task. Unknown keys, other types and
values out of range are errors that name file, key and value.
"""

_TABLES: tuple[tuple[str, type], ...] = (
    ("The machine: keys before the first table", Architecture),
    ("`[[level]]`", MemoryLevel),
    ("`[[fanout]]`", Fanout),
    ("`[[group]]`", FanoutGroup),
    ("`[[npu]]`", Npu),
    ("`[vector]`", VectorUnit),
    ("`[dma]`", Dma),
    ("`[network]`", MeshNetwork),
    ("`[dram]`", Dram),
)
_REMARKS: Mapping[tuple[type, str], str] = {
    (MemoryLevel, "ports"): ' In a file: `"npu"` for ports of each NPU.',
    (Npu, "sizes"): " In a file: a table, `{ row = 8 }`.",
    (Architecture, "npus"): " In a file also `[npus]` with `count`, for equal ones.",
}
_ABSENT_MEANS_NONE = frozenset({(MemoryLevel, "capacity")})

Schema = Mapping[str, Any]
"""A JSON schema; pydantic's, read here only."""


def architecture_manual() -> str:
    """Return the page as Markdown."""
    schema = file_schema()
    parts = [_INTRODUCTION]
    for title, kind in _TABLES:
        summary = prose(kind.__doc__).partition("\n")[0]
        own = schema if kind is Architecture else schema["$defs"][kind.__name__]
        head = "| key | value | default | meaning |\n|---|---|---|---|"
        rows = "\n".join(_rows(kind, own, schema["$defs"]))
        parts.append(f"## {title}\n\n{summary}\n\n{head}\n{rows}\n")
    return "\n".join(parts)


def _rows(kind: type, own: Schema, named: Schema) -> Iterator[str]:
    texts = meanings(prose(kind.__doc__).partition("Attributes:\n")[2])
    for name, field in own["properties"].items():
        key = f"[[{TABLES[name]}]]" if kind is Architecture and name in TABLES else name
        meaning = texts.get(name, "").replace("`None`", "absent") + _REMARKS.get((kind, name), "")
        optional = name not in own.get("required", ()) or (kind, name) in _ABSENT_MEANS_NONE
        default = _default(field) if optional else "required"
        yield f"| `{key}` | {_value(field, named)} | {default} | {meaning} |"
    if kind is Architecture:
        yield "| `description` | text | empty | One line, for `--list-archs`. |"


def _value(field: Schema, named: Schema) -> str:
    """Return what a key may be, in words."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        found = named[name]
        choices = " ".join(f'`"{value}"`' for value in found.get("enum", ()))
        return choices or "a table"
    if "anyOf" in field:
        return _value(next(item for item in field["anyOf"] if item.get("type") != "null"), named)
    if field["type"] == "array":
        return _array(field, named)
    return f"{_WORDS[field['type']]}{_limits(field)}"


_WORDS = {"integer": "integer", "number": "number", "string": "text", "boolean": "flag"}


def _array(field: Schema, named: Schema) -> str:
    items = field.get("items")
    if items is None or "prefixItems" in items:
        return "a table" if field.get("title") == "Sizes" else "list of `[column, row]`"
    word = _value(items, named)
    if word == "a table":
        least = field.get("minItems", 0)
        return f"tables, {least} or more"
    return f"list of {word}"


def _limits(field: Schema) -> str:
    if "minimum" not in field:
        return ""
    return f", {_number(field['minimum'])} to {_number(field['maximum'])}"


def _number(value: float) -> str:
    exponent = int(value).bit_length() - 1
    if value == 2**exponent and exponent > 20:
        return f"2^{exponent}"
    return f"{value:g}"


def _default(field: Schema) -> str:
    value = field.get("default")
    if value is None:
        return "unbounded" if "bandwidth" in field.get("title", "").lower() else "absent"
    if isinstance(value, list | dict):
        return _spelled(cast("Sequence[object] | Mapping[str, object]", value))
    return f"`{json.dumps(value)}`"


def _spelled(value: Sequence[object] | Mapping[str, object]) -> str:
    """Return a default of several values; those of tables stand at their own keys."""
    if isinstance(value, Mapping):
        return "their defaults"
    if all(isinstance(item, str) for item in value):
        return f"`{json.dumps(value)}`" if value else "none"
    return "one `npu0`"


if __name__ == "__main__":
    sys.stdout.write(architecture_manual())

"""Where ``part.key`` lies in the tables of an architecture file."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, cast

from ....backend.arch_tables import Table
from ....ir.arch import Architecture, Dma, Fanout, MemoryLevel, VectorUnit

MAPPER = "options.mapper"

_LISTS: Mapping[str, type] = {"level": MemoryLevel, "fanout": Fanout}
_PARTS: Mapping[str, type] = {"vector": VectorUnit, "dma": Dma}
_SCALARS = ("precision", "accumulator_bits", "mac_energy", "clock_hz")
_FIXED = frozenset({"name", "below"})


def is_option(key: str) -> bool:
    """Whether a parameter chooses a mapper, and no architecture."""
    return key == MAPPER


def known_places(tables: Table) -> tuple[str, ...]:
    """Return every key of an architecture that a parameter may set."""
    return tuple(_places(tables))


def _places(tables: Table) -> Iterator[str]:
    for table, kind in _LISTS.items():
        for row in cast("list[Table]", tables.get(table, [])):
            yield from (f"{row['name']}.{key}" for key in _keys(kind))
    for part, kind in _PARTS.items():
        yield from (f"{part}.{key}" for key in _keys(kind))
    yield "npus.count"
    yield from _SCALARS


def _keys(kind: type) -> list[str]:
    names = [item.name for item in fields(kind)]  # pyright: ignore[reportArgumentType]
    return [name for name in names if name not in _FIXED]


def is_place(tables: Table, key: str) -> bool:
    """Whether a key lies in an architecture."""
    return key in known_places(tables)


def get_value(tables: Table, key: str) -> object:
    """Return what the file says at a key, or its default; ``None`` where there is neither."""
    part, _, name = key.rpartition(".")
    if not part:
        return tables.get(name, getattr(Architecture, name, None))
    row = _row(tables, part)
    return None if row is None else row.get(name)


def with_value(tables: Table, key: str, value: object) -> Table:
    """Return tables with another value at a key.

    Args:
        tables: Of an architecture file.
        key: A known place.
        value: What is to stand there.
    """
    part, _, name = key.rpartition(".")
    if not part:
        return {**tables, name: value}
    if part in (*_PARTS, "npus"):
        others = {item: old for item, old in tables.items() if item != "npu" or part != "npus"}
        return {**others, part: {**cast("Table", tables.get(part, {})), name: value}}
    return {
        table: _changed(cast("list[Table]", rows), part, name, value) if table in _LISTS else rows
        for table, rows in tables.items()
    }


def _changed(rows: list[Table], part: str, name: str, value: object) -> list[dict[str, Any]]:
    return [{**row, name: value} if row["name"] == part else {**row} for row in rows]


def _row(tables: Table, part: str) -> Table | None:
    if part in (*_PARTS, "npus"):
        return cast("Table", tables.get(part, {}))
    for table in _LISTS:
        for row in cast("list[Table]", tables.get(table, [])):
            if row["name"] == part:
                return row
    return None

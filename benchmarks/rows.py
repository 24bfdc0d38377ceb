"""The rows of a benchmark as CSV, one dataclass a line."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

_READERS: dict[str, Callable[[str], object]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: text == str(True),
}
"""By name of a field's type."""


def read_rows(path: Path, kind: type[T]) -> list[T]:
    """Return the rows of an earlier run; none where there is no file.

    Args:
        path: The file.
        kind: Class of the rows: fields are texts, numbers and booleans.
    """
    if not path.exists():
        return []
    readers = {
        item.name: _READERS[getattr(item.type, "__name__", str(item.type))]
        for item in fields(kind)  # pyright: ignore[reportArgumentType]
    }
    with path.open(encoding="utf-8", newline="") as file:
        return [
            kind(**{name: reader(line[name]) for name, reader in readers.items()})
            for line in csv.DictReader(file)
        ]


def write_rows(path: Path, kind: type[Any], rows: Sequence[Any]) -> None:
    """Write rows, after a header, in the place of what was there.

    Args:
        path: The file.
        kind: Class of the rows.
        rows: The rows.
    """
    _write(path, kind, rows, "w")


def append_rows(path: Path, kind: type[Any], rows: Sequence[Any]) -> None:
    """Add rows, after a header where the file is new.

    Args:
        path: The file.
        kind: Class of the rows.
        rows: The rows.
    """
    _write(path, kind, rows, "a")


def _write(path: Path, kind: type[Any], rows: Sequence[Any], mode: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = mode == "w" or not path.exists()
    with path.open(mode, encoding="utf-8", newline="") as file:
        names = [item.name for item in fields(kind)]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(asdict(row) for row in rows)

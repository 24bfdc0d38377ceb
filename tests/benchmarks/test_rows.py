"""Rows of benchmarks are read back as they were written."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.rows import append_rows, read_rows, write_rows


@dataclass(frozen=True)
class Row:
    name: str
    cycles: int
    seconds: float
    verified: bool


ROWS = [Row("a, b", 3, 0.5, verified=True), Row("", -1, 1e-9, verified=False)]


def test_reads_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.csv"
    write_rows(path, Row, ROWS)

    assert read_rows(path, Row) == ROWS


def test_appending_writes_one_header(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    for row in ROWS:
        append_rows(path, Row, [row])

    assert read_rows(path, Row) == ROWS
    assert path.read_bytes().count(b"name,cycles") == 1


def test_writing_replaces(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    write_rows(path, Row, ROWS)
    write_rows(path, Row, ROWS[:1])

    assert read_rows(path, Row) == ROWS[:1]


def test_no_file_has_no_rows(tmp_path: Path) -> None:
    assert read_rows(tmp_path / "rows.csv", Row) == []


def test_a_column_that_is_missing_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("name,cycles\na,1\n")

    with pytest.raises(KeyError, match="seconds"):
        read_rows(path, Row)

"""Tables that benchmarks write into documents."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def check_the_table_stands_in_the_document(
    benchmark: ModuleType,
    row: Any,
    line: str,
    times: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Run a benchmark whose rows are all the same, and look at what it wrote.

    Args:
        benchmark: The benchmark.
        row: What each of its programs is said to cost.
        line: That of the table, where all are verified.
        times: How many rows there are.
        tmp_path: Where the document lies.
        monkeypatch: Of the test.
    """
    document, marks = tmp_path / "fusion.md", benchmark.MARKS
    document.write_text(f"before\n<!-- {marks} -->\n<!-- end of {marks} -->\nafter\n")
    monkeypatch.setattr(benchmark, "DOCS", document)
    monkeypatch.setattr(benchmark, "measured", lambda *_: row)

    code = benchmark.main(["--docs"])

    assert code == (0 if row.is_verified else 1)
    line = line if row.is_verified else line.replace("yes", "**no**")
    assert document.read_text().count(line) == times
    assert document.read_text().startswith("before\n")

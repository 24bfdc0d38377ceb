"""To change a thing, touch the files that ``docs/house.md`` names: each row is tried out.

The sources are changed as they are imported, each change in a process of its own.
"""

import json
import os
import re
import subprocess
import sys
from functools import cache

import pytest

from tests.end_to_end.changes.catalogue import CHANGES
from tests.end_to_end.changes.change import ROOT, Change, Edit


@cache
def said() -> dict[tuple[str, bool], str | None]:
    """Return what every proof says, with the change made and without."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.end_to_end.changes.run"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {(line["row"], line["is_made"]): line["said"] for line in lines}


def table() -> dict[str, list[str]]:
    """Return the files that each row of the table names, by what is added."""
    text = (ROOT / "docs/house.md").read_text()
    section = text.partition("## To change a thing, touch these files")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (an? [^|]+) \| ([^|]+) \|", section, re.MULTILINE)
    return {what: sorted(re.findall(r"`([^`]+/[^`]*)`", files)) for what, files in rows}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.row)
def test_the_files_of_the_table_are_enough(change: Change) -> None:
    assert said()[change.row, True] is None


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.row)
def test_the_proof_does_not_hold_without_the_change(change: Change) -> None:
    assert said()[change.row, False] is not None


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.row)
def test_the_table_names_the_files(change: Change) -> None:
    assert table()[change.row] == change.files


def test_an_edit_that_does_not_fit_is_refused() -> None:
    change = Change("x", (Edit("ir/arch.py", "no such text", ""),), proof=lambda: None)

    with pytest.raises(ValueError, match="stands 0 times"):
        change.texts()


def test_a_change_comes_before_the_first_import() -> None:
    with pytest.raises(RuntimeError, match="imported already"):
        CHANGES[0].make()

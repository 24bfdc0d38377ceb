"""The table of whole programs over the mesh says where one lies outside of its bounds."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import noc_programs
from benchmarks.noc_programs import Row, main, table

ROW = Row(
    network="n",
    arch="simba",
    lower_bound=10,
    analytical=20,
    cycles=30,
    serial=40,
    commands_uj=1500.0,
    flat_uj=2000.0,
    analytical_seconds=0.1,
    network_seconds=0.2,
    verified=True,
)


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (ROW, 0),
        (replace(ROW, cycles=9), 1),
        (replace(ROW, cycles=41), 1),
        (replace(ROW, verified=False), 1),
    ],
)
def test_what_is_wrong_or_out_of_bounds_fails(
    row: Row, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noc_programs, "measured", lambda *_: row)

    assert main(["--network", "n", "--output", str(tmp_path / "rows.csv")]) == code


def test_a_line_for_each_program() -> None:
    assert table([ROW])[2:] == [
        "| n | simba | 10 | 20 | 30 | 1.50 | 40 | 1.50 mJ | 2.00 mJ | 0.1 | 0.2 |"
    ]

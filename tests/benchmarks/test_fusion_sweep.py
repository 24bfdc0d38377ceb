"""The sweep over sizes of the scratchpad: rows that are kept, a picture, the smallest that does."""

from dataclasses import replace
from pathlib import Path

import pytest

from accnn.models.zoo.build import build
from benchmarks import fusion_sweep
from benchmarks.fusion_sweep import Row, main, smallest, with_scratchpad
from benchmarks.rows import read_rows

ROW = Row(network="n", scratchpad=1, fuse="off", bytes=300, compulsory=100, cpu_seconds=0.0)


@pytest.mark.slow
def test_a_row_for_each_size_and_way_and_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        fusion_sweep, "build", lambda name: build(name, image_size=64, width=0.0625, classes=10)
    )
    table, picture = tmp_path / "rows.csv", tmp_path / "figures" / "sweep.png"
    words = ["--network", "alexnet", "--output", str(table)]

    assert main([*words, "--size", "8192"]) == 0
    first = read_rows(table, Row)
    assert main([*words, "--size", "8192", "65536", "--resume", "--plot", str(picture)]) == 0

    rows = read_rows(table, Row)
    assert rows[:2] == first
    assert [(row.scratchpad, row.fuse) for row in rows] == [
        (8192, "off"),
        (8192, "groups"),
        (65536, "off"),
        (65536, "groups"),
    ]
    assert all(row.bytes >= row.compulsory > 0 for row in rows)
    assert rows[1].bytes <= rows[0].bytes
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_smallest_scratchpad_that_will_do() -> None:
    much, enough = replace(ROW, scratchpad=2, bytes=103), replace(ROW, scratchpad=4, bytes=102)
    infeasible = replace(ROW, bytes=0, compulsory=0)

    assert smallest([infeasible, ROW, much]) is None
    assert smallest([infeasible, ROW, much, enough, replace(enough, scratchpad=8)]) is enough


def test_only_the_scratchpad_changes() -> None:
    small, large = with_scratchpad(4096), with_scratchpad(1 << 22)

    assert (small.scratchpad_level.capacity, large.scratchpad_level.capacity) == (4096, 1 << 22)
    assert replace(large, levels=small.levels) == small

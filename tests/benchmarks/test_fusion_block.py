"""A transformer block with and without groups: run, and written into the document."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import fusion_block
from benchmarks.fusion import ARCHS
from benchmarks.fusion_block import SIZES, Row, measured

from .tables import check_the_table_stands_in_the_document

ROW = Row(
    tokens=6,
    scratchpad=4096,
    arch="simba",
    moved=(1234567, 1000),
    cycles=(2000, 3),
    is_verified=True,
)
LINE = "| 6 | 4 KiB | simba | 1,234,567 | 1,000 | 2,000 | 3 | yes |\n"


@pytest.mark.slow
def test_a_block_moves_less_with_groups_and_is_verified() -> None:
    row = measured(48, 16384, "edge-1m")

    assert row.is_verified
    assert 0 < 2 * row.moved[1] < row.moved[0]
    assert 0 < row.cycles[1] < row.cycles[0]


@pytest.mark.parametrize("is_verified", [True, False])
def test_the_table_stands_in_the_document(
    is_verified: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = replace(ROW, is_verified=is_verified)
    times = len(SIZES) * len(ARCHS)

    check_the_table_stands_in_the_document(fusion_block, row, LINE, times, tmp_path, monkeypatch)

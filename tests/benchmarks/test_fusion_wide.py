"""Filters of wide images with and without groups: run, and written into the document."""

from dataclasses import replace
from pathlib import Path

import pytest

from accnn.passes.mapping.problem import Objective
from benchmarks import fusion_wide
from benchmarks.fusion_wide import COLUMNS, OBJECTIVES, Row, measured

from .tables import check_the_table_stands_in_the_document

ROW = Row(
    columns=6,
    objective=Objective.EDP,
    off=(1234567, 2000, 3.4e6),
    groups=(1000, 3, 1.6e6),
    is_verified=True,
)
LINE = "| 6 | edp | 1,234,567 | 1,000 | 2,000 | 3 | 3 | 2 | yes |\n"


@pytest.mark.slow
def test_where_energy_counts_groups_take_less_of_it_and_are_verified() -> None:
    for objective in (Objective.EDP, Objective.ENERGY):
        row = measured(max(COLUMNS), objective)

        assert row.is_verified
        assert row.groups[0] < 0.2 * row.off[0]
        assert row.groups[2] < 0.6 * row.off[2]


@pytest.mark.parametrize("is_verified", [True, False])
def test_the_table_stands_in_the_document(
    is_verified: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = replace(ROW, is_verified=is_verified)
    times = len(COLUMNS) * len(OBJECTIVES)

    check_the_table_stands_in_the_document(fusion_wide, row, LINE, times, tmp_path, monkeypatch)

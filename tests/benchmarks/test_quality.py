"""Programs have not become worse; and what would be worse is named."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import quality
from benchmarks.quality import CASES, Case, Row, lost, main
from benchmarks.rows import write_rows

ROW = Row(
    network="n",
    size=8,
    arch="a",
    width=0.5,
    mapper="m",
    tiles="static",
    verified=True,
    cycles=1000,
    offchip_bytes=2000,
    energy_nj=3000,
)


SMALL = Row(
    network="alexnet",
    size=64,
    arch="flexer-arch5",
    width=0.03125,
    mapper="output-stationary",
    tiles="flexer",
    verified=True,
    cycles=8080,
    offchip_bytes=216376,
    energy_nj=22912,
)
"""A program that takes less time than those of the benchmark, and what it was when written."""


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CASES)))
def test_no_program_is_worse_than_before(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "CASES", CASES[number : number + 1])

    assert main([]) == 0


def test_a_small_program_is_not_worse_than_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = tmp_path / "quality.csv"
    write_rows(known, Row, [SMALL])
    monkeypatch.setattr(quality, "CASES", (SMALL.case,))

    assert main(["--known", str(known)]) == 0


@pytest.mark.parametrize("figure", ["cycles", "offchip_bytes", "energy_nj"])
def test_more_than_one_per_cent_more_is_lost(figure: str) -> None:
    worse = replace(ROW, **{figure: round(1.02 * getattr(ROW, figure))})

    (loss,) = lost([ROW], [worse])

    assert figure in loss
    assert "+2.0%" in loss
    assert list(lost([ROW], [ROW])) == []
    assert list(lost([worse], [ROW])) == []


def test_what_is_wrong_or_unknown_is_lost() -> None:
    assert "not verified" in next(lost([ROW], [replace(ROW, verified=False)]))
    assert "--update" in next(lost([], [ROW]))


def test_figures_are_taken_as_the_new_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = tmp_path / "quality.csv"
    write_rows(known, Row, [replace(ROW, cycles=1)])
    monkeypatch.setattr(quality, "CASES", (ROW.case,))
    monkeypatch.setattr(quality, "measured", lambda case: {ROW.case: ROW}[case])

    assert main(["--known", str(known)]) == 1
    assert main(["--known", str(known), "--update"]) == 0
    assert main(["--known", str(known)]) == 0
    assert isinstance(ROW.case, Case)

"""The attack on all bounds: every target holds for a case or two, and liars are found out."""

from dataclasses import replace
from pathlib import Path

import pytest

from accnn.passes.mapping.recipes import cosa
from tests.attack import targets
from tests.attack.__main__ import main
from tests.attack.run import attack, attacks
from tests.attack.targets import TARGETS
from tests.passes.analysis import test_bounds_attacked as nests


def brief(name: str, batch: int):
    return replace(TARGETS[name], batch=batch)


LONG = {"packing"}
"""Targets of which one case takes seconds."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in LONG else ())
        for name in TARGETS
        if name != "certificate"
    ],
)
def test_nothing_beats_a_target(name: str):
    found = attack(name, brief(name, 2), seed=0)

    assert found.cases >= 1
    assert found.failure is None


def test_a_bound_of_two_per_cent_too_much_is_kept_with_its_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    honest = nests.cycles_lower_bound
    monkeypatch.setattr(nests, "cycles_lower_bound", lambda *given: 1.02 * honest(*given))

    assert main(["--time", "0", "--only", "nest", "--seed", "3", "--out", str(tmp_path)]) == 1

    (kept,) = tmp_path.iterdir()
    assert kept.name == "nest-3.txt"
    assert kept.read_text().startswith(
        "python -m tests.attack --only nest --seed 3 --again\n\nTraceback"
    )
    assert "case=" in kept.read_text()
    assert "1 beaten" in capsys.readouterr().out


def test_packers_that_deny_what_fits_are_noticed(monkeypatch: pytest.MonkeyPatch):
    def denies(blocks, budget, *, nodes):
        return None, True

    monkeypatch.setattr(targets, "_PACKERS", (denies,))

    found = attack("packing", brief("packing", 3), seed=0)

    assert found.failure is not None
    assert "denies denies what fits" in found.failure


def test_packers_that_lay_blocks_on_each_other_are_noticed(monkeypatch: pytest.MonkeyPatch):
    def piles(blocks, budget, *, nodes):
        return (0,) * len(blocks), True

    monkeypatch.setattr(targets, "_PACKERS", (piles,))

    assert attack("packing", brief("packing", 30), seed=0).failure is not None


def test_mappings_that_only_seem_optimal_are_noticed(monkeypatch: pytest.MonkeyPatch):
    honest = cosa.Cosa.map

    def lying(mapper, problem):
        found = honest(mapper, problem)
        return replace(found, objective=1.05 * found.objective)

    monkeypatch.setattr(cosa.Cosa, "map", lying)

    assert attack("mapping", brief("mapping", 6), seed=0).failure is not None


def test_a_seed_draws_the_same_again_and_seeds_count_up(monkeypatch: pytest.MonkeyPatch):
    drawn: list[object] = []
    target = replace(TARGETS["packing"], check=lambda *case: drawn.append(case), batch=5)

    first, second = (
        [batch.seed for batch in attacks({"packing": target}, 0.02, 7)] for _ in range(2)
    )

    assert first[0] == second[0] == 7
    assert first == list(range(7, 7 + len(first)))
    alone: list[object] = []
    for _ in range(2):
        drawn.clear()
        attack("packing", target, 7)
        alone.append(list(drawn))
    assert alone[0] == alone[1]
    drawn.clear()
    attack("packing", target, 8)
    assert drawn != alone[0]

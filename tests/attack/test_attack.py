"""The attack runs all tests that attack, with other examples in every round, and keeps failures."""

from pathlib import Path

import pytest

from .run import main, targets
from .settings import ROUND, attacked, round_number

TARGET = """
from hypothesis import given, strategies as st
from tests.attack.settings import attacked

@attacked(200)
@given(st.integers(0, 10**6))
def test_nothing_is_below_the_bound(value):
    print(value)
    assert value >= {bound}
"""


@pytest.fixture
def target(tmp_path: Path):
    def write(bound: int) -> Path:
        path = tmp_path / "test_something_attacked.py"
        path.write_text(TARGET.format(bound=bound))
        return path

    return write


def test_what_is_beaten_is_kept_with_the_command_that_repeats_it(target, tmp_path, capsys):
    file = target(5)

    assert main(["--seed", "7", "--seconds", "0", "--out", str(tmp_path / "out"), str(file)]) == 1

    kept = (tmp_path / "out" / "round-7.txt").read_text()
    assert "assert 0 >= 5" in kept
    assert "repeat it: python -m tests.attack --seed 7 --seconds 0" in capsys.readouterr().out


def test_what_holds_is_no_failure(target, tmp_path, capsys):
    file = target(0)

    assert main(["--seconds", "0", "--out", str(tmp_path / "out"), str(file)]) == 0

    assert not (tmp_path / "out").exists()
    assert capsys.readouterr().out.endswith("1 rounds, 0 with something beaten\n")


def test_examples_are_the_same_in_the_suite_and_others_in_a_round(monkeypatch):
    monkeypatch.delenv(ROUND, raising=False)
    assert (round_number(), attacked(3).derandomize) == (None, True)

    monkeypatch.setenv(ROUND, "12")
    assert (round_number(), attacked(3).derandomize) == (12, False)


def test_every_optimiser_is_attacked():
    names = " ".join(map(str, targets()))

    rooms = (
        "analysis",
        "certificate",
        "cosma/search",
        "packing",
        "flexer",
        "timing",
        "tests/compiler",
    )
    assert [room for room in rooms if f"{room}/test_" not in names] == []

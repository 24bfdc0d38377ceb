"""The tool that runs many random compilations."""

from pathlib import Path

import onnx
import pytest

from accnn.ir.errors import InfeasibleError, VerifyError
from accnn.ir.report import OutputCheck, Verification, VerificationStatus

from . import draws
from .fuzz import main

RIGHT = Verification(status=VerificationStatus.VERIFIED)
WRONG = Verification(
    status=VerificationStatus.FAILED,
    outputs=(OutputCheck(name="y", elements=4, mismatches=3, max_abs_diff=1.0, tolerance=0.0),),
)


def run(monkeypatch, folder: Path, found: Verification | Exception) -> int:
    """Run two compilations of which the second ends as told."""
    answers = iter([RIGHT, found])

    def verified(*_: object) -> Verification:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(draws, "verified", verified)
    return main(["--count", "2", "--seed", "3", "--out", str(folder)])


@pytest.mark.parametrize(
    ("found", "message"),
    [(WRONG, "failed: y: 3"), (VerifyError("tile 4"), "tile 4"), (KeyError("w"), "KeyError: 'w'")],
)
def test_a_failure_is_kept(monkeypatch, tmp_path: Path, capsys, found, message: str):
    assert run(monkeypatch, tmp_path, found) == 1

    (folder,) = tmp_path.iterdir()
    assert folder.name == "3-1"
    assert message in (folder / "outcome").read_text()
    assert (folder / "command").read_text().startswith("acc-compile network.onnx --arch ")
    onnx.checker.check_model(onnx.load(folder / "network.onnx"))
    assert str(folder) in capsys.readouterr().out


@pytest.mark.parametrize("found", [RIGHT, InfeasibleError("no tile fits")])
def test_what_is_right_or_does_not_fit_is_no_failure(monkeypatch, tmp_path: Path, capsys, found):
    assert run(monkeypatch, tmp_path, found) == 0

    assert list(tmp_path.iterdir()) == []
    assert "2 of 2: " in capsys.readouterr().out


def test_a_compilation_that_does_not_end_is_given_up_and_kept(monkeypatch, tmp_path: Path, capsys):
    def verified(*_: object) -> Verification:
        while True:
            pass

    monkeypatch.setattr(draws, "verified", verified)
    asked = ["--count", "1", "--seed", "3", "--patience", "0.2", "--out", str(tmp_path)]

    assert main(asked) == 1
    outcome = (tmp_path / "3-0" / "outcome").read_text()
    assert "slow" in outcome
    assert "in verified" in outcome
    assert "1 slow" in capsys.readouterr().out


def test_a_number_draws_the_same_again():
    one, two = (draws.Draw(3, 1) for _ in range(2))

    assert one.model.SerializeToString() == two.model.SerializeToString()
    assert (one.arch, one.options) == (two.arch, two.options)
    assert draws.Draw(3, 2).command != one.command


def test_a_series_ends_when_its_time_is_over(monkeypatch, tmp_path: Path, capsys):
    asked: list[Path] = []
    monkeypatch.setattr(draws, "verified", lambda path, *_: asked.append(path) or RIGHT)

    assert main(["--time", "0.2", "--count", "0", "--out", str(tmp_path)]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith(f"{len(asked)}: {len(asked)} right") and asked

    assert main(["--time", "0", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("0: 0 right")

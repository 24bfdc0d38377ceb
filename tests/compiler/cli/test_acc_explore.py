from pathlib import Path

import pytest
from typer.testing import CliRunner

from accnn.compiler.cli.acc_explore import app
from tests.exploring import LAYERS_STUDY


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "layers.csv").write_text("R,S,P,Q,C,K\n1,1,4,4,8,8\n")
    path = tmp_path / "study.toml"
    path.write_text(LAYERS_STUDY)
    return path


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_run_status_resume_report(study: Path, tmp_path: Path):
    done = run(study, "--processes", 1, "--csv", tmp_path / "points.csv")

    assert done.exit_code == 0, done.output
    assert "best: point 0, gb.capacity = 64 KiB" in done.output
    assert (tmp_path / "study.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "points.csv").read_text().count("\n") == 3
    assert "tasks: 2, 2 ok, 0 waiting" in run("status", study).output
    again = run("resume", study, "--processes", 1)
    assert "0 tasks failed before and are tried again" in again.output
    assert run("report", study, "--html", tmp_path / "other.html").exit_code == 0
    assert (tmp_path / "other.html").read_bytes() == (tmp_path / "study.html").read_bytes()


def test_a_bayesian_search_keeps_its_trials_beside_the_results(study: Path):
    import optuna

    study.write_text(LAYERS_STUDY + '[search]\nmethod = "bayesian"\npoints = 3\nbatch = 2\n')

    assert run(study, "--processes", 1).exit_code == 0

    url = f"sqlite:///{study.with_suffix('.db')}"
    kept = optuna.load_study(study_name="two machines", storage=url)
    assert len(kept.trials) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("status", "{study}"), "was not begun"),
        (("resume", "{study}"), "there is nothing to resume"),
        (("{study}", "other.toml"), "give one study file"),
        (("{study}", "--processes", "0"), "processes is 0"),
        (("{study}", "--executor", "slurm"), "there is no such executor"),
        (("{study}", "--results", "nothing://x"), "--results nothing://x"),
    ],
)
def test_what_is_wrong_is_told(study: Path, words: tuple[str, ...], message: str):
    done = run(*(word.format(study=study) for word in words))

    assert done.exit_code == 2
    assert message in done.output

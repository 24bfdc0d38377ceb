"""Runs every ``.ir`` file below through ``acc-opt`` and compares with ``.expect`` beside it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from accnn.compiler.cli.acc_opt import app

HERE = Path(__file__).parent
FILES = sorted(HERE.rglob("*.ir"))


def outcome(file: Path) -> str:
    """Return the output, headed by the exit code and stderr where the run failed."""
    result = CliRunner().invoke(app, [file.name])
    if result.exit_code == 0:
        return result.stdout
    assert result.stdout == ""
    return f"exit code {result.exit_code}\n{result.stderr}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(HERE)))
def test_text_file(
    file: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden = file.with_suffix(".expect")
    monkeypatch.chdir(file.parent)
    actual = outcome(file)
    if request.config.getoption("--update-golden"):
        golden.write_text(actual, encoding="utf-8")
    if not golden.exists():
        pytest.fail(f"{golden.name} is missing; --update-golden would write:\n{actual}")

    assert actual == golden.read_text(encoding="utf-8")


def test_every_golden_belongs_to_a_file() -> None:
    assert [path for path in HERE.rglob("*.expect") if path.with_suffix(".ir") not in FILES] == []


def test_errors_fail_and_others_do_not() -> None:
    for file in FILES:
        failed = file.with_suffix(".expect").read_text().startswith("exit code ")

        assert failed == (file.parent.name == "errors"), file

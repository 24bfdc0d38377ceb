"""The script that measures the compiler runs it as users do, and tells by its exit code."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import compiler
from benchmarks.compiler import Row, main, run_once
from benchmarks.rows import read_rows

ROW = Row(network="n", arch="a", run="cold", cpu_seconds=1, wall_seconds=1, megabytes=1, code=0)


def test_help_takes_some_time_and_memory(tmp_path: Path) -> None:
    row = run_once("n", "a", "help", ["--help"], tmp_path)

    assert row.code == 0
    assert row.cpu_seconds > 0
    assert 5 < row.megabytes < 2000


def test_a_run_that_fails_is_a_failure(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    row = run_once("n", "a", "cold", [str(tmp_path / "none.onnx"), "--arch", "simba"], tmp_path)

    assert row.code == 2
    assert "none.onnx" in capfd.readouterr().err


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (3, 1)])
def test_rows_are_written(
    code: int,
    expected: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [ROW, replace(ROW, run="warm", code=code)]
    monkeypatch.setattr(compiler, "measure", lambda *_: iter(rows))
    path = tmp_path / "rows.csv"

    assert main(["--output", str(path)]) == expected

    assert read_rows(path, Row) == rows
    assert "| n | a | warm | 1.00 | 1.00 | 1 |" in capsys.readouterr().out


def test_cold_comes_before_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, str]] = []

    def run(network: str, arch: str, run: str, words: list[str], answers: Path) -> Row:
        asked.append((run, answers.name, words[-1] if run == "help" else words[2]))
        return ROW

    monkeypatch.setattr(compiler, "run_once", run)

    assert len(list(compiler.measure(["squeezenet"], ["edge-1m"], 32, 1))) == 3
    name = "squeezenet-edge-1m"
    assert asked == [
        ("cold", name, "edge-1m"),
        ("warm", name, "edge-1m"),
        ("help", name, "--help"),
    ]

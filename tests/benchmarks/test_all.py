"""All benchmarks in their small form, and the history of their figures."""

import json
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.all import __main__ as everything
from benchmarks.all import run as running
from benchmarks.all.commands import SMALL, WITHOUT
from benchmarks.all.page import series
from benchmarks.papers.claim import Command
from benchmarks.quality import Row
from benchmarks.rows import write_rows

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_every_benchmark_is_run_or_it_is_said_why_not():
    there = {
        f"benchmarks.{path.stem}"
        for path in FOLDER.glob("*.py")
        if '__name__ == "__main__"' in path.read_text()
    }
    run = {item.module for item in SMALL}

    assert run | set(WITHOUT) == there
    assert not run & set(WITHOUT)


def test_small_forms_are_ones_that_benchmarks_read():
    """Of those whose arguments can be read without running them."""
    modules = {item: import_module(item.module) for item in SMALL}
    readers = {item: getattr(module, "_parser", None) for item, module in modules.items()}
    read = [
        reader().parse_args(shlex.split(item.quick))
        for item, reader in readers.items()
        if reader is not None
    ]

    assert len(read) > 10


def test_runs_are_added_to_the_history(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    cycles = iter([1000.0, 1100.0])

    def measured(command: Command, folder: Path) -> running.Measurement:
        assert folder.is_dir()
        return running.Measurement(
            command=command.line(quick=True),
            seconds=2.5,
            exit_code=0,
            figures={"net <a>: cycles": next(cycles)},
            printed="| <b> |",
        )

    monkeypatch.setattr(everything, "measure", measured)
    asked = ["--history", str(tmp_path), "--only", "benchmarks.quality"]

    assert everything.main(asked) == 0
    first = (tmp_path / "history.jsonl").read_text()
    assert everything.main(asked) == 0

    history = (tmp_path / "history.jsonl").read_text()
    assert history.startswith(first)
    runs = everything.read(tmp_path / "history.jsonl")
    assert series(runs)["net <a>: cycles"] == [1000.0, 1100.0]
    assert series(runs)["seconds of python -m benchmarks.quality"] == [2.5, 2.5]
    assert "printed" not in history
    latest = json.loads((tmp_path / "latest.json").read_text())
    assert latest["measured"][0]["printed"] == "| <b> |"
    text = (tmp_path / "index.html").read_text()
    assert "+10.00%" in text and "net &lt;a&gt;: cycles" in text and "| &lt;b&gt; |" in text
    assert "python -m benchmarks.quality" in capsys.readouterr().err


def test_a_benchmark_that_fails_makes_the_run_fail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    failed = running.Measurement(command="c", seconds=1.0, exit_code=3, figures={}, printed="")
    monkeypatch.setattr(everything, "measure", lambda *_: failed)

    assert everything.main(["--history", str(tmp_path), "--only", "benchmarks.quality"]) == 1
    assert "class=bad" in (tmp_path / "index.html").read_text()


def test_nothing_is_run_without_a_folder_or_to_list(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        everything.main([])
    assert everything.main(["--list"]) == 0
    out = capsys.readouterr().out
    assert "python -m benchmarks.zoo --small" in out
    assert "not run: benchmarks.races" in out


def test_a_command_is_measured_by_running_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "fails.py").write_text("import sys\nprint(sys.argv[1:])\nsys.exit(4)\n")
    monkeypatch.setattr(running, "ROOT", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    found = running.measure(Command(module="fails", quick="--few"), tmp_path)

    assert (found.exit_code, found.printed) == (4, "['--few']\n")
    assert found.command == "python -m fails --few"
    assert found.seconds >= 0.0 and sys.executable


def test_costs_of_programs_are_figures(tmp_path: Path):
    row = Row(
        network="n",
        size=8,
        arch="a",
        width=1.0,
        mapper="m",
        tiles="static",
        verified=True,
        cycles=10,
        offchip_bytes=20,
        energy_nj=30,
    )
    write_rows(tmp_path / "quality.csv", Row, [row])

    found = running.figures(Command(module="benchmarks.quality"), "", tmp_path)

    assert found["n 8 a m static: cycles"] == 10.0
    assert sorted(found.values()) == [10.0, 20.0, 30.0]

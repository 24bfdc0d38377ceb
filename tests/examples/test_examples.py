"""The examples run, at small sizes."""

import re
import runpy
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

import accnn

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *arguments: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_a_network_is_compiled_and_its_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    zoo = import_module("accnn.models.zoo.build")
    small = partial(zoo.build, width=0.03125, classes=40)
    quick = partial(accnn.CompileOptions, mapper="output-stationary", processes=1)
    monkeypatch.setattr(zoo, "build", small)
    monkeypatch.setattr(accnn, "CompileOptions", quick)

    run("compile_resnet.py", "alexnet", "64", "edge-1m", monkeypatch=monkeypatch)
    run("run_program.py", "alexnet.acc/program.acc", monkeypatch=monkeypatch)

    shown = capsys.readouterr().out
    assert "verified: 0 of 40 elements differ" in shown
    assert "slowest operator: " in shown
    assert "dram [W, I, O]" in shown
    assert shown.count("bytes off chip") == 4


def test_passes_run_on_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    run("single_pass.py", monkeypatch=monkeypatch)

    shown = capsys.readouterr().out
    assert "%unused" not in shown
    assert re.search("%a: (cosa|output-stationary)", shown)


def test_every_example_is_tested():
    text = Path(__file__).read_text()

    assert [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in text] == []

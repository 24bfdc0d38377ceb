"""What the pages on scripts and explanations show of files and Python is so."""

import importlib
import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
from typer.testing import CliRunner, Result

from accnn.compiler.options import CompileOptions
from tests.compiler.cli.nets import tiny

DOCS = Path(__file__).parents[1] / "docs"


def shown(page: str, language: str) -> str:
    text = (DOCS / page).read_text()
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return block


def run(line: str) -> Result:
    name, *words = shlex.split(line)
    app = importlib.import_module(f"accnn.compiler.cli.{name.replace('-', '_')}").app
    return CliRunner().invoke(app, words)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(tiny(), "net.onnx")
    onnx.save(tiny(size=12), "other.onnx")


def test_the_options_of_a_run_are_printed_as_the_page_shows() -> None:
    (line,) = re.findall(r"^    (acc-.* --dump-config)$", (DOCS / "scripting.md").read_text(), re.M)

    done = run(line)

    assert done.exit_code == 0, done.output
    assert shown("scripting.md", "toml").partition("\n")[2] == done.stdout.partition("\n")[2]


def test_the_python_of_the_page_says_what_helps(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(compile(shown("explaining.md", "python"), "explaining.md", "exec"), names)

    options = CompileOptions(mapper="output-stationary", scheduler="in-order")

    helps = names["what_helps"]("net.onnx", "edge-fp32", "conv", options)

    assert f"What helps most is {helps} " in capsys.readouterr().out


def test_the_python_of_the_page_reads_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {}
    exec(compile(shown("scripting.md", "python"), "scripting.md", "exec", dont_inherit=True), names)

    def start(words: list[str], **_options: bool) -> SimpleNamespace:
        return SimpleNamespace(stdout=run(shlex.join(words)).stdout)

    monkeypatch.setattr("subprocess.run", start)

    assert (
        names["cycles"]("net.onnx", "simba")
        == (json.loads(Path("net.acc/report.json").read_text())["totals"]["cycles_simulated"])
    )

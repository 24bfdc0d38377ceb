"""Several networks and machines in one call."""

import json
from pathlib import Path

import onnx
import pytest
from typer.testing import CliRunner, Result

from accnn.compiler.cli import acc_compile
from tests.compiler.cli.nets import tiny

FAST = ("--mapper", "output-stationary", "--scheduler", "in-order", "--no-cache")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    onnx.save(tiny(), "a.onnx")
    onnx.save(tiny(size=12), "b.onnx")
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(acc_compile.app, [*words, *FAST])


def test_each_pair_has_a_folder_and_a_row() -> None:
    done = run("a.onnx", "b.onnx", "--arch", "edge-fp32", "--arch", "simba", "-o", "all")

    assert done.exit_code == 0, done.output
    folders = ["a.edge-fp32.acc", "a.simba.acc", "b.edge-fp32.acc", "b.simba.acc"]
    assert sorted(path.name for path in Path("all").iterdir()) == folders
    rows = [line.split() for line in done.stdout.splitlines() if ".onnx" in line]
    assert [(row[0], row[1], row[2]) for row in rows] == [
        (f"{name[0]}.onnx", name[2:-4], "verified") for name in folders
    ]
    for row, name in zip(rows, folders, strict=True):
        report = json.loads((Path("all") / name / "report.json").read_text())
        assert row[3] == f"{report['totals']['cycles_simulated']:,}"


def test_what_fails_is_an_answer_among_others() -> None:
    done = run("a.onnx", "--arch", "eyeriss", "--arch", "edge-fp32", "--json")

    assert done.exit_code == 2
    refused, compiled = json.loads(done.stdout)
    assert (refused["arch"], refused["exit_code"], refused["report"]) == ("eyeriss", 2, None)
    assert "accumulators have 16 bits" in refused["error"]
    assert "a.onnx on eyeriss: error: eyeriss: accumulators" in done.stderr
    assert (compiled["exit_code"], compiled["error"], compiled["folder"]) == (
        0,
        "",
        "a.edge-fp32.acc",
    )
    report = json.loads(Path("a.edge-fp32.acc/report.json").read_text())
    assert compiled["report"]["totals"] == report["totals"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--explain", "conv"], "--explain needs one network and one machine"),
        (["-o", "a.onnx"], "cannot write a.onnx: it exists and is not a folder"),
    ],
)
def test_what_suits_one_compilation_only_is_refused(words: list[str], message: str) -> None:
    done = run("a.onnx", "b.onnx", "--arch", "edge-fp32", *words)

    assert done.exit_code == 2
    assert message in done.stderr


def test_several_in_a_file_of_options() -> None:
    words = ("--arch", "edge-fp32", "--arch", "simba", "--dump-config")
    text = run("a.onnx", "b.onnx", *words).stdout
    assert 'model = ["a.onnx", "b.onnx"]\narch = ["edge-fp32", "simba"]\n' in text
    Path("run.toml").write_text(text)

    again = CliRunner().invoke(acc_compile.app, ["--config", "run.toml", "--dump-config"])

    assert again.stdout == text

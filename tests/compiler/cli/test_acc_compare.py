"""The command line of acc-compare."""

import json
from pathlib import Path

import onnx
import pytest
from typer.testing import CliRunner, Result

from accnn.compiler.cli import acc_compare, acc_compile
from tests.compiler.cli.nets import tiny


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of a network, on two machines."""
    folder = tmp_path_factory.mktemp("runs")
    onnx.save(tiny(), folder / "tiny.onnx")
    for name, arch in (("a", "edge-fp32"), ("b", "simba")):
        words = [str(folder / "tiny.onnx"), "--arch", arch, "--mapper", "output-stationary"]
        done = CliRunner().invoke(acc_compile.app, [*words, "-o", str(folder / name)])
        assert done.exit_code == 0, done.output
    return folder


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(acc_compare.app, [str(word) for word in arguments])


def test_totals_and_operators_are_shown(runs: Path) -> None:
    done = run(runs / "a", runs / "b")

    assert done.exit_code == 0
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert lines[:2] == ["A: tiny.onnx on edge-fp32.toml", "B: tiny.onnx on simba.toml"]
    first = [line.split()[0] for line in lines if line]
    assert first[2] == "operator"
    assert first[4] == "all"
    assert "conv" in first[5:]


def test_json_is_what_the_reports_say(runs: Path) -> None:
    found = json.loads(run(runs / "a/report.json", runs / "b", "--json").stdout)

    totals = [json.loads((runs / name / "report.json").read_text())["totals"] for name in "ab"]
    cycles = [item["cycles_simulated"] for item in totals]
    assert found["cycles"] == {
        "first": cycles[0],
        "second": cycles[1],
        "ratio": cycles[1] / cycles[0],
    }
    assert found["same_model"]
    assert found["second"] == {"model": "tiny.onnx", "arch": "simba.toml"}


def test_a_page_is_written_beside_the_table(runs: Path, tmp_path: Path) -> None:
    page = tmp_path / "both.html"

    done = run(runs / "a", runs / "b", "--html", page)

    assert done.exit_code == 0
    assert done.stdout == run(runs / "a", runs / "b").stdout
    text = page.read_text()
    assert "tiny.onnx on edge-fp32.toml" in text and "tiny.onnx on simba.toml" in text
    assert [item.name for item in tmp_path.iterdir()] == ["both.html"]


def test_a_page_that_cannot_be_written_is_a_message(runs: Path, tmp_path: Path) -> None:
    done = run(runs / "a", runs / "b", "--html", tmp_path / "no" / "both.html")

    assert done.exit_code != 0
    assert "Traceback" not in done.output and "both.html" in done.output
    assert not list(tmp_path.iterdir())


def test_what_differs_less_is_counted(runs: Path) -> None:
    assert "more, which differ less" in run(runs / "a", runs / "b", "--operators", "0").stdout
    assert "more" not in run(runs / "a", runs / "b").stdout


def test_a_run_equals_itself(runs: Path) -> None:
    found = json.loads(run(runs / "a", runs / "a", "--json").stdout)

    assert {row["cycles"]["ratio"] for row in found["operators"]} == {1.0}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing", "a"), "cannot read nothing: No such file"),
        (("empty", "a"), "cannot read empty/report.json: No such file"),
        (("bad.json", "a"), "bad.json: no report of this accnn: 1:1: not JSON"),
        (("old.json", "a"), "old.json: no report of this accnn: report has schema version 1"),
        (("bytes.json", "a"), "bytes.json: no report of this accnn: 'utf-8' codec"),
        (("a", "a", "--operators", "-1"), "--operators -1: must be 0 or more"),
    ],
)
def test_bad_input_ends_with_2(
    runs: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(runs)
    Path("empty").mkdir(exist_ok=True)
    Path("bad.json").write_text("no")
    Path("old.json").write_text('{"schema_version": 1}')
    Path("bytes.json").write_bytes(b"\xff")

    done = run(*words)

    assert (done.exit_code, done.stdout) == (2, "")
    assert f"acc-compare: error: {message}" in done.stderr

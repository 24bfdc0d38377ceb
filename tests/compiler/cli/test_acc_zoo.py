"""The command line of acc-zoo."""

import json

import onnx
import pytest
from typer.testing import CliRunner

from accnn.compiler.cli.acc_zoo import app
from accnn.models.zoo import names


@pytest.fixture
def zoo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, arguments)


def test_writes_a_model(zoo, tmp_path):
    result = zoo("squeezenet", "-o", "net.onnx", "--image-size", "32", "--batch", "2")

    assert result.exit_code == 0, result.output
    assert "net.onnx: squeezenet, input 2x3x32x32, seed 0" in result.output
    onnx.checker.check_model(onnx.load(tmp_path / "net.onnx"))
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]


def test_the_default_file_is_named_after_the_network(zoo, tmp_path):
    zoo("squeezenet", "--image-size", "32")

    assert (tmp_path / "squeezenet.onnx").is_file()


def test_a_file_of_somebody_else_is_kept(zoo, tmp_path):
    (tmp_path / "squeezenet.onnx").write_text("mine")

    result = zoo("squeezenet", "--image-size", "32")

    assert result.exit_code == 2
    assert "will not overwrite squeezenet.onnx: acc-zoo did not write it" in result.stderr
    assert (tmp_path / "squeezenet.onnx").read_text() == "mine"


def test_a_network_of_the_zoo_is_written_again(zoo, tmp_path):
    zoo("squeezenet", "--image-size", "32")
    before = (tmp_path / "squeezenet.onnx").read_bytes()

    result = zoo("squeezenet", "--image-size", "32", "--seed", "1")

    assert result.exit_code == 0
    assert (tmp_path / "squeezenet.onnx").read_bytes() != before


def test_same_seed_gives_same_file(zoo, tmp_path):
    for name in ("a", "b"):
        zoo("squeezenet", "-o", f"{name}.onnx", "--image-size", "32", "--seed", "4")

    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_help_names_defaults_and_exit_codes(zoo):
    shown = zoo("--help").output

    assert "NAME.onnx if not given" in shown
    assert "Exit codes: 0 all is well" in shown


def test_lists_every_network(zoo):
    result = zoo("--list")

    assert result.exit_code == 0
    assert all(name in result.output for name in names())
    assert "25,557,032" in result.output


@pytest.mark.parametrize(
    "width",
    [60, *(pytest.param(width, marks=pytest.mark.slow) for width in (80, 120))],
)
def test_nothing_of_the_list_is_cut_off(zoo, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))

    shown = zoo("--list").output

    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width
    for line in ("25,557,032", "4.089 G", "mobilenetv3_small"):
        assert line in shown


def test_the_list_as_json(zoo):
    result = zoo("--list", "--json")

    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["name"] for row in rows] == list(names())
    assert {row["name"]: row["parameters"] for row in rows}["resnet50"] == 25557032


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lenet"], "no network named 'lenet'"),
        (["--seed", "1"], "no network given"),
        (["squeezenet", "--json"], "--json shows the networks of --list"),
        (["alexnet", "--image-size", "32"], "too small"),
        (["resnet18", "--batch", "0"], "batch is 0; it must be at least 1"),
        (["resnet18", "--image-size", "999999"], "are too large"),
        (["resnet18", "--seed", "-1"], "seed is -1; it must be 0 or more"),
        (["squeezenet", "-o", "missing/net.onnx"], "missing is not a folder"),
        (["squeezenet", "-o", "."], "it is a folder"),
    ],
)
def test_bad_input_exits_with_2_and_writes_nothing(zoo, tmp_path, arguments, message):
    result = zoo(*arguments)

    assert result.exit_code == 2
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []

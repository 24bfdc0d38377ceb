"""Options as a TOML file: what is dumped is read back, what is wrong is named."""

import tomllib
from pathlib import Path

import onnx
import pytest
from typer.testing import CliRunner, Result

from accnn.compiler.cli import acc_compile
from tests.compiler.cli.nets import tiny


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(tiny(), "tiny.onnx")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(acc_compile.app, list(arguments))


def dump(*arguments: str) -> str:
    done = run(*arguments, "--dump-config")
    assert done.exit_code == 0, done.output
    return done.stdout


PIPELINE = (
    "eliminate-dead,form-integers,schedule-in-order,map-operators,schedule-tiles,count-traffic"
)
ALL = (
    *("--objective", "energy", "--tiles", "flexer", "--scratchpad", "64K", "-o", 'a "b".acc'),
    *("--shape", "x=1,3,8,8", "--shape", "n=1", "--constant", "k=5", "--no-races", "--seed", "3"),
    *(
        "--calibration-method",
        "percentile",
        "--percentile",
        "99.5",
        "--set",
        "map-operators.mapper=random",
        "--no-cache",
    ),
    *("--processes", "2", "--until", "lower", "--verify", "off"),
)


@pytest.mark.parametrize("arguments", [(), ALL, ("--pipeline", PIPELINE)])
def test_what_is_dumped_is_read_back(arguments: tuple[str, ...]) -> None:
    text = dump("tiny.onnx", "--arch", "simba", *arguments)
    Path("run.toml").write_text(text)

    assert dump("--config", "run.toml") == text
    assert not list(Path().glob("*.acc"))
    if arguments == ALL:
        values = tomllib.loads(text)
        assert values["shape"] == ["x=1,3,8,8", "n=1"]
        assert values["output"] == 'a "b".acc'
        assert (values["races"], values["seed"], values["percentile"]) == (False, 3, 99.5)


def test_a_pipeline_of_a_file_is_dumped_as_text() -> None:
    Path("mine.txt").write_text("// mine\n" + PIPELINE.replace(",", ",\n") + "\n")

    text = dump("tiny.onnx", "-a", "simba", "--pipeline", "mine.txt")

    assert text.startswith(f"# passes: {PIPELINE}\n")
    assert tomllib.loads(text)["pipeline"] == PIPELINE.replace(",", ",\n")


def test_the_command_line_counts_more() -> None:
    Path("run.toml").write_text(dump("tiny.onnx", "-a", "simba", "--seed", "3", "--no-races"))

    words = ("-a", "edge-1m", "--races", "--set", "map-operators.mapper=random")
    values = tomllib.loads(dump("--config", "run.toml", *words))

    assert (values["arch"], values["seed"], values["races"]) == ("edge-1m", 3, True)
    assert values["set"] == ["map-operators.mapper=random"]


def test_a_run_from_a_file_is_the_run_of_its_options() -> None:
    Path("run.toml").write_text(dump("tiny.onnx", "-a", "simba", "--fuse", "off"))

    direct = run("tiny.onnx", "-a", "simba", "--fuse", "off", "--json")

    assert run("--config", "run.toml", "--json").stdout == direct.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fuze = 'off'", "run.toml: no option 'fuze'\n  hint: did you mean fuse?"),
        ("config = 'x'", "run.toml: no option 'config'"),
        ("json = true", "run.toml: no option 'json'"),
        (
            "fuse = 'of'",
            "run.toml: fuse is \"of\": 'of' is not one of 'off', 'epilogues', 'groups'",
        ),
        ("seed = 'x'", 'run.toml: seed is "x": it is no integer'),
        ("seed = 1.5", "run.toml: seed is 1.5: it is no integer"),
        ("seed = true", "run.toml: seed is true, must be a text or a number"),
        ("races = 'no'", 'run.toml: races is "no", must be true or false'),
        ("set = 'a.b=1'", 'run.toml: set is "a.b=1", must be a list of texts'),
        ("set = [1]", "run.toml: set is [1], must be a list of texts"),
        ("[mapper]\nx = 1", 'run.toml: mapper is {"x": 1}, must be a text or a number'),
        ("seed = ", "run.toml: not TOML: "),
        ("seed = 1\nseed = 2", "run.toml: not TOML: "),
        ("mapper = 'coza'", "no mapper named 'coza'\n  hint: did you mean cosa"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(text: str, message: str) -> None:
    Path("run.toml").write_text(text)

    done = run("tiny.onnx", "-a", "simba", "--config", "run.toml", "--dump-config")

    assert done.exit_code == 2
    assert f"acc-compile: error: {message}" in done.stderr
    assert done.stdout == ""


def test_files_that_cannot_be_read() -> None:
    Path("run.toml").write_bytes(b"a = '\xff'")

    assert "run.toml: not UTF-8 text" in run("--config", "run.toml").stderr
    assert "cannot read no.toml: No such file" in run("--config", "no.toml").stderr

"""The command that makes a result again."""

import shlex
from dataclasses import replace
from pathlib import Path

from typer.testing import CliRunner

from accnn.compiler.cli.acc_compile import app
from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.compiler.report.html.provenance import command, facts
from tests.compiler.report.html.conftest import Made


def test_it_names_every_choice(static: Made):
    options = CompileOptions(
        verify=VerifyMode.OFF,
        races=True,
        seed=7,
        shapes={"x": (1, 3, 8, 8), "y": (2,)},
        until="map-operators",
    )
    words = shlex.split(command(replace(static.report, options=options.flat(), seed=7)))

    assert words[:4] == ["acc-compile", "net.onnx", "--arch", "simba.toml"]
    for flag, value in (("--verify", "off"), ("--seed", "7"), ("--until", "map-operators")):
        assert words[words.index(flag) + 1] == value
    assert [words[at + 1] for at, word in enumerate(words) if word == "--shape"] == [
        "x=1,3,8,8",
        "y=2",
    ]
    assert "--races" in words
    without = replace(static.report, options=CompileOptions(races=False).flat())
    assert "--no-races" in shlex.split(command(without))


def test_settings_of_passes_are_given_one_by_one(static: Made):
    settings = ("schedule-cosma.rounds=0", "map-operators.mapper=output stationary")
    options = CompileOptions(settings=settings).flat()
    words = shlex.split(command(replace(static.report, options=options)))

    assert [words[at + 1] for at, word in enumerate(words) if word == "--set"] == [*settings]
    plain = replace(static.report, options=CompileOptions().flat())
    assert "--set" not in shlex.split(command(plain))


def test_acc_compile_knows_every_flag(static: Made):
    usage = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout
    every = CompileOptions(
        scratchpad=65536,
        until="lower",
        calibration=Path("data.npz"),
        accuracy=Path("examples.npz"),
        inputs=Path("x.npz"),
        shapes={"x": (1, 3)},
        constants={"axes": (0, 1)},
        settings=("schedule-cosma.rounds=0",),
    )
    options = {**every.flat(), "pipeline": "lower"}
    words = shlex.split(command(replace(static.report, options=options)))

    assert [word for word in words if word.startswith("--") and word not in usage] == []


def test_names_with_blanks_are_quoted(static: Made):
    model = replace(static.report.model, name="my net; rm.onnx")

    assert "'my net; rm.onnx'" in command(replace(static.report, model=model))


def test_versions_and_digests_are_told(static: Made):
    names = [fact.name for fact in facts(static.report)]

    assert {"accnn", "Python", "numpy", "onnxruntime", "seed"} <= set(names)
    assert static.report.model.sha256 in facts(static.report)[0].value

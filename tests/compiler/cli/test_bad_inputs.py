"""What users read after bad input: every message, word by word, with its exit code.

``pytest tests/compiler/cli/test_bad_inputs.py --update-golden`` writes ``bad_inputs.txt`` anew.
"""

import importlib
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from typer.testing import CliRunner

from accnn.backend.load import find_source
from tests.compiler.cli.nets import tiny

GOLDEN = Path(__file__).parent / "bad_inputs.txt"
NET = "acc-compile net.onnx --arch edge-fp32 --no-cache"
LAYER = "acc-map --arch simba --layer 'P=8 C=16 K=8'"

COMMANDS = (
    # the command line
    "acc-compile none.onnx --arch simba",
    "acc-compile . --arch simba",
    "acc-compile net.onnx",
    "acc-compile net.onnx --arch simbaa",
    "acc-compile net.onnx --arch none.toml",
    f"{NET} --bogus",
    f"{NET} --mapper coza",
    f"{NET} --scheduler cosmo",
    f"{NET} --tiles flexxer",
    f"{NET} --fuse everything",
    f"{NET} --objective speed",
    f"{NET} --verify yes",
    f"{NET} --seed -1",
    f"{NET} --max-seconds -1",
    f"{NET} --until map-operator",
    f"{NET} --seed one",
    f"{NET} --processes 0",
    f"{NET} --scratchpad 64Q",
    f"{NET} --scratchpad 0",
    f"{NET} --scratchpad 100",
    f"{NET} --until everything",
    f"{NET} --set cosma.rounds=0",
    f"{NET} --set map-operators.maper=cosa",
    f"{NET} --set rounds",
    f"{NET} --pipeline fold-layuot",
    f"{NET} --pipeline fold-layout --mapper salsa",
    f"{NET} --races --verify off",
    f"{NET} --inputs labels.npz --verify off",
    f"{NET} --percentile 99",
    f"{NET} --calibration none.npz --calibration-method percentile --percentile 200",
    f"{NET} --shape x=1,3",
    f"{NET} --shape x",
    f"{NET} --shape z=1",
    f"{NET} --constant z=1",
    f"{NET} --constant x",
    f"{NET} --inputs none.npz",
    f"{NET} --inputs notes.txt",
    f"{NET} --inputs names.npz",
    f"{NET} --inputs shape.npz",
    f"{NET} --inputs type.npz",
    f"{NET} -o notes.txt",
    f"{NET} -o full",
    f"{NET} -o none/out",
    f"{NET} --explain cnov --mapper output-stationary",
    f"{NET} --config none.toml",
    f"{NET} --config notes.txt",
    "acc-compile net.onnx --arch simba --calibration none.npz",
    "acc-compile net.onnx --arch simba --calibration nan.npz",
    "acc-compile net.onnx --arch simba --inputs nan.npz",
    # architecture files
    "acc-compile net.onnx --arch notes.txt",
    "acc-compile net.onnx --arch key.toml",
    "acc-compile net.onnx --arch negative.toml",
    "acc-compile net.onnx --arch level.toml",
    "acc-compile net.onnx --arch eyeriss",
    # networks
    "acc-compile notes.txt --arch simba",
    "acc-compile empty.onnx --arch simba",
    "acc-compile cut.onnx --arch simba",
    "acc-compile dynamic.onnx --arch simba",
    "acc-compile unknown.onnx --arch simba",
    # programs, texts, layers
    "acc-run none.acc -i in.npz -o out.npz",
    "acc-run notes.txt -i in.npz -o out.npz",
    "acc-opt none.ir",
    "acc-opt notes.txt",
    "acc-opt notes.txt -p fold-layuot",
    "acc-map --arch simba",
    f"{LAYER} --mapper coza",
    f"{LAYER} --scheduler greedy",
    f"{LAYER} --csv none/out.csv",
    "acc-map --arch simba --layer 'P=8 X=1'",
    "acc-zoo resnet51",
    "acc-zoo alexnet --image-size 32",
    "acc-compare none net.onnx",
    "acc-cache clear --older-than -1",
)


def dynamic() -> ModelProto:
    return tiny(batch="n")


def unknown() -> ModelProto:
    return tiny(kind="Bogus")


def changed(old: str, new: str) -> str:
    text = find_source("edge-fp32").text
    assert old in text
    return text.replace(old, new, 1)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder that holds what the commands name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    models: dict[str, Callable[[], ModelProto]] = {
        "net": tiny,
        "dynamic": dynamic,
        "unknown": unknown,
    }
    for name, make in models.items():
        onnx.save(make(), f"{name}.onnx")
    Path("cut.onnx").write_bytes(Path("net.onnx").read_bytes()[:-50])
    Path("empty.onnx").write_bytes(b"")
    Path("notes.txt").write_text("buy milk\n")
    Path("full").mkdir()
    Path("full/mine.txt").write_text("mine")
    good = np.zeros((1, 3, 8, 8), np.float32)
    for name, array in {
        "nan": np.full_like(good, np.nan),
        "shape": good[:, :1],
        "type": good.astype(np.int8),
    }.items():
        np.savez(f"{name}.npz", x=array)
    np.savez("names.npz", y=good)
    np.savez("labels.npz", x=good)
    Path("key.toml").write_text(changed("capacity", "capacitty"))
    Path("negative.toml").write_text(changed("capacity = ", "capacity = -"))
    Path("level.toml").write_text(changed('scratchpad = "gb"', 'scratchpad = "bg"'))


def answer(line: str) -> str:
    """Return a command, its exit code and what it says."""
    name, *words = shlex.split(line)
    app = importlib.import_module(f"accnn.compiler.cli.{name.replace('-', '_')}").app
    done = CliRunner().invoke(app, words, prog_name=name)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    said = done.stderr.replace(str(Path.cwd()), "HERE")
    return f"$ {line}\n{said.strip()}\n[exit code {done.exit_code}]\n"


def test_every_message_is_as_written(request: pytest.FixtureRequest) -> None:
    found = "\n".join(map(answer, COMMANDS))
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(found, encoding="utf-8")

    assert found == GOLDEN.read_text(encoding="utf-8")


def test_every_input_is_refused_with_one_message() -> None:
    blocks = GOLDEN.read_text(encoding="utf-8").split("\n$ ")

    assert len(blocks) == len(COMMANDS) >= 60
    for block in blocks:
        assert block.rstrip().endswith("[exit code 2]"), block
        assert "Traceback" not in block
        assert "error: " in block.lower(), block

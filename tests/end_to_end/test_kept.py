"""What fuzzing once found, made as small as possible, is right.

A folder of ``kept/`` is what ``make fuzz`` writes: the reduced network as ``network.onnx``, with
``machine.toml`` and ``options.json``. To keep a failure as a test, copy its folder there.
"""

import json
from pathlib import Path

import onnx
import pytest

from accnn.backend.load import parse_architecture
from accnn.compiler.options import CompileOptions

from .draws import Verdict, outcome_of

KEPT = Path(__file__).with_name("kept")
CASES = sorted(item.name for item in KEPT.iterdir())
LONG = {"78000-670"}
"""Takes ten seconds; ``passes/analysis/test_compulsory.py`` has its bound in small."""
CHOICES = ("mapper", "objective", "scheduler", "fuse", "tiles", "scratchpad", "seed", "verify")


def test_there_are_some() -> None:
    assert CASES


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in CASES],
)
def test_what_once_failed_is_right(name: str) -> None:
    folder = KEPT / name
    machine = parse_architecture((folder / "machine.toml").read_text(), file="machine.toml")
    found = json.loads((folder / "options.json").read_text())
    chosen = {key: found[key] for key in CHOICES if key in found}
    options = CompileOptions(**chosen, samples=1, cache=None, processes=1)

    outcome = outcome_of(onnx.load(folder / "network.onnx"), machine, options)

    assert outcome.verdict is Verdict.RIGHT, outcome.message

"""The script that compares schedulers on the emitted program runs, and tells by its exit code."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "cosma_end_to_end.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Return the script as a module; the root of the checkout is not on the path."""
    spec = importlib.util.spec_from_file_location("benchmark_of_cosma_end_to_end", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_no_scheduler_moves_fewer_bytes(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    code = script.main(
        ["--network", "squeezenet1_1", "--image-size", "48", "--output", str(tmp_path)]
    )

    shown = capsys.readouterr().out
    assert code == 0, shown
    assert shown.count("verified |") == 6
    assert (tmp_path / "cosma_end_to_end.csv").read_text().count("\n") == 7


def test_what_is_wrong_is_told(script: ModuleType):
    row = script.Row(
        network="n",
        arch="a",
        scheduler="cosma",
        planned=5,
        simulated=5,
        least=1,
        cycles=1,
        verdict="verified",
    )
    better = replace(row, scheduler="in-order", planned=4, simulated=4)
    worse = replace(row, scheduler="mpmf-greedy", planned=6, simulated=7, verdict="failed")

    assert list(script.complain([row, row])) == []
    assert list(script.complain([better, row, worse])) == [
        "n on a, in-order: moves 1 byte less than cosma",
        "n on a, mpmf-greedy: failed",
        "n on a, mpmf-greedy: 6 byte planned, 7 moved",
    ]

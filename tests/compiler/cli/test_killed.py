"""``acc-compile`` killed at random moments: results are whole or not there, the next run works."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import onnx
import pytest

from accnn.ir.report import from_json
from tests.compiler.cli.nets import tiny

COMMAND = "from accnn.compiler.cli.start import acc_compile; acc_compile()"
NETWORK = "killed.onnx"


def words(seed: int) -> list[str]:
    options = ["--arch", "edge-1m", "--seed", str(seed), "-o", "killed.acc"]
    return [sys.executable, "-c", COMMAND, NETWORK, *options]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a result that hold no seconds."""
    names = {path.name for path in folder.iterdir()}
    assert names >= {"module.ir", "program.acc", "report.json", "report.html"}
    assert from_json((folder / "report.json").read_text()).model.name == NETWORK
    return {name: (folder / name).read_bytes() for name in ("module.ir", "program.acc")}


@pytest.mark.slow
def test_killed_fifty_times_it_leaves_the_old_results_or_the_new_ones(tmp_path: Path):
    onnx.save(tiny(), tmp_path / NETWORK)
    environment = {**os.environ, "ACCNN_CACHE": str(tmp_path / "cache")}

    def run(seed: int, environment: dict[str, str]) -> float:
        begun = time.monotonic()
        done = subprocess.run(
            words(seed), cwd=tmp_path, env=environment, check=False, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()
        return time.monotonic() - begun

    results = tmp_path / "killed.acc"
    expected: list[dict[str, bytes]] = []
    for seed in (0, 1):
        seconds = run(seed, environment)
        expected.append(contents(results))
    assert expected[0] != expected[1]

    draw, kills = random.Random(11), 0
    for number in range(100):
        changed = {**environment, "ACCNN_CACHE": str(tmp_path / f"cache{number % 7}")}
        moment = seconds * draw.uniform(0.0, 1.3)
        kills += is_killed(words(number % 2), tmp_path, changed, moment)
        assert contents(results) in expected
        if kills == 50:
            break

    assert kills == 50
    for number in range(7):
        run(number % 2, {**environment, "ACCNN_CACHE": str(tmp_path / f"cache{number}")})
        assert contents(results) == expected[number % 2]
    left = {path.name for path in tmp_path.iterdir() if not path.name.startswith("cache")}
    assert left == {NETWORK, "killed.acc"}


def is_killed(
    command: list[str], folder: Path, environment: dict[str, str], seconds: float
) -> bool:
    """Return whether a command had to be killed when its time was over."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        return process.wait() == -signal.SIGKILL

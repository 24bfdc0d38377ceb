"""The command, killed at random moments with its processes at work, and resumed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from accnn.compiler.explore.results.database import open_database

STUDY = """
name = "killed"
base = "simba"
networks = ["layers.csv"]
objective = "edp"

[parameters]
gb.capacity = { from = "32 KiB", to = "512 KiB", factor = 2 }
pe.size = [4, 8, 16, 32]

[mapping]
mapper = "output-stationary"
"""
COMMAND = "from accnn.compiler.cli.start import acc_explore; acc_explore()"


def command(study: Path, results: Path) -> list[str]:
    words = [str(study), "--results", str(results), "--processes", "1"]
    return [sys.executable, "-c", COMMAND, *words]


@pytest.mark.slow
def test_the_command_killed_twenty_times_leaves_the_same_content(tmp_path: Path):
    rows = "".join(f"1,1,{size},{size},16,8\n" for size in range(2, 8))
    (tmp_path / "layers.csv").write_text(f"R,S,P,Q,C,K\n{rows}")
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    whole = tmp_path / "whole.db"
    begun = time.monotonic()
    environment = {**os.environ, "ACCNN_CACHE": str(tmp_path / "answers")}
    subprocess.run(command(study, whole), check=True, capture_output=True, env=environment)
    seconds = time.monotonic() - begun
    expected = open_database(f"sqlite:///{whole}").content()
    draw, kills, number = random.Random(7), 0, 0

    while kills < 20:
        file = tmp_path / f"{number}.db"
        environment = {**os.environ, "ACCNN_CACHE": str(tmp_path / f"answers{number}")}
        for _ in range(5):
            moment = seconds * draw.uniform(0.1, 0.9)
            kills += is_killed(command(study, file), environment, moment)
        subprocess.run(command(study, file), check=True, capture_output=True, env=environment)
        assert open_database(f"sqlite:///{file}").content() == expected
        number += 1
        assert number < 20


def is_killed(words: list[str], environment: dict[str, str], seconds: float) -> bool:
    """Return whether a command had to be killed when its time was over."""
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait() == -signal.SIGKILL

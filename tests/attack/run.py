"""Look for something better than what was proven, with other examples in every round.

A round is all tests that attack bounds and optima: of nests, certificates, plans, tile schedules
and programs. What an attacker knows is the problem, never the formulation that proved the bound.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .settings import ROUND

ROOT = Path(__file__).parents[2]
NAMES = ("test_*_attacked.py", "test_work_bound.py", "packing/test_*.py")
"""Files whose tests attack."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 where a bound or an optimum was beaten, else 0."""
    wanted = _read(arguments)
    started, number, beaten = time.monotonic(), wanted.seed, 0
    while number == wanted.seed or time.monotonic() - started < wanted.seconds:
        done = attack(number, wanted.files or targets())
        last = done.stdout.rstrip().rsplit("\n", 1)[-1].strip("= ")
        print(f"round {number}: {last}", flush=True)
        if done.returncode:
            beaten += 1
            print(f"  {_kept(wanted.out, number, done.stdout)}\n  repeat it: {command(number)}")
        number += 1
    print(f"{number - wanted.seed} rounds, {beaten} with something beaten")
    return int(beaten > 0)


def targets() -> list[Path]:
    """Return the files of tests that attack."""
    return sorted(path for name in NAMES for path in (ROOT / "tests").rglob(name))


def attack(number: int, files: Sequence[Path]) -> "subprocess.CompletedProcess[str]":
    """Run one round.

    Args:
        number: Of the round; its seed.
        files: Tests that attack.
    """
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    words += ["-m", "slow or not slow", f"--hypothesis-seed={number}", *map(str, files)]
    environment = {**os.environ, ROUND: str(number)}
    return subprocess.run(
        words, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )


def command(number: int) -> str:
    """Return the command that runs one round again.

    Args:
        number: Of the round.
    """
    return f"python -m tests.attack --seed {number} --seconds 0"


def _kept(folder: Path, number: int, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"round-{number}.txt"
    path.write_text(text)
    return path


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.attack", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no round after these")
    parser.add_argument("--seed", type=int, default=0, help="number of the first round")
    parser.add_argument("--out", type=Path, default=Path("attack"), help="where failures are kept")
    parser.add_argument("files", nargs="*", type=Path, help="tests; all that attack by default")
    return parser.parse_args(arguments)

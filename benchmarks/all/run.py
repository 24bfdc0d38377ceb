"""One run of all benchmarks: seconds, exit codes, figures, and what was printed."""

import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..papers.claim import Command
from ..papers.registry import CLAIMS
from ..papers.runs import ROOT
from ..quality import FIGURES, KNOWN, Row
from ..rows import read_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What became of one command.

    Attributes:
        command: What a user types.
        seconds: From start to end [s].
        exit_code: 0 where all that it claims holds.
        figures: Numbers that are followed over time, by name.
        printed: Its standard output.
    """

    command: str
    seconds: float
    exit_code: int
    figures: Mapping[str, float]
    printed: str

    def short(self) -> dict[str, object]:
        """Return it without what was printed."""
        return {key: value for key, value in asdict(self).items() if key != "printed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """All commands, run once.

    Attributes:
        begun: When, in UTC: ``2026-01-31T12:00:00+00:00``.
        revision: Commit of the sources, with a ``+`` where files are changed; empty without Git.
        measured: One entry for each command.
    """

    begun: str
    revision: str
    measured: Sequence[Measurement]


def measure(command: Command, folder: Path) -> Measurement:
    """Run the small form of a benchmark.

    Args:
        command: The benchmark.
        folder: Where it may keep rows; what lies there is not measured anew by some.
    """
    words = [*shlex.split(command.quick), *_place(command, folder)]
    started = time.monotonic()
    line = [sys.executable, "-m", command.module, *words]
    done = subprocess.run(line, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return Measurement(
        command=command.line(quick=True),
        seconds=round(time.monotonic() - started, 1),
        exit_code=done.returncode,
        figures=figures(command, done.stdout, folder),
        printed=done.stdout,
    )


def _place(command: Command, folder: Path) -> list[str]:
    """Return the arguments that keep rows of a run apart from those of others."""
    if command.module == "benchmarks.quality":
        return ["--now", str(folder / KNOWN.name)]
    source = (ROOT / f"{command.module.replace('.', '/')}.py").read_text(encoding="utf-8")
    return ["--output", str(folder)] if '"--output", type=Path' in source else []


def figures(command: Command, printed: str, folder: Path) -> dict[str, float]:
    """Return what a command found: figures of the papers' claims, or costs of programs.

    Args:
        command: The benchmark.
        printed: What it printed.
        folder: Where it kept rows.
    """
    found: dict[str, float] = {}
    for claim in CLAIMS:
        if claim.command == command and claim.find is not None:
            value = claim.find.find(printed)
            if value is not None:
                found[f"{claim.paper} {claim.item}: {claim.says}"] = value
    if command.module == "benchmarks.quality":
        for row in read_rows(folder / KNOWN.name, Row):
            name = f"{row.network} {row.size} {row.arch} {row.mapper} {row.tiles}"
            found |= {f"{name}: {item}": float(getattr(row, item)) for item in FIGURES}
    return found


def now() -> str:
    """Return the time of the clock, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def revision() -> str:
    """Return the commit of the sources; empty where that is not known."""
    line = ["git", "describe", "--always", "--dirty=+"]
    try:
        done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()

"""Every benchmark in its small form: one JSON of all figures, and a page with their history.

    python -m benchmarks.all --list
    python -m benchmarks.all --history FOLDER
    python -m benchmarks.all --history FOLDER --only benchmarks.quality benchmarks.zoo

The folder gets ``latest.json`` (figures, seconds, exit codes, and what was printed), one more line
in ``history.jsonl`` (the same without what was printed; earlier lines stay as they are), and
``index.html``. Seconds are shown and never judged. The exit code is 1 where a benchmark's is not 0.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ..papers.claim import Command
from .commands import SMALL, WITHOUT
from .page import page
from .run import Measurement, Run, measure, now, revision


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, or list, what the command line asks for; return the exit code."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    commands = [item for item in SMALL if not chosen.only or item.module in chosen.only]
    if chosen.list:
        sys.stdout.writelines(f"{item.line(quick=True)}\n" for item in commands)
        sys.stdout.writelines(f"not run: {name}, which {why}\n" for name, why in WITHOUT.items())
        return 0
    if chosen.history is None:
        parser.error("--history FOLDER says where figures are kept")
    run = Run(begun=now(), revision=revision(), measured=_measured(commands))
    keep(run, chosen.history)
    return int(any(item.exit_code for item in run.measured))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.all", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    modules = sorted({item.module for item in SMALL})
    parser.add_argument("--history", type=Path, metavar="FOLDER", help="where figures are kept")
    parser.add_argument("--only", nargs="+", choices=modules, metavar="MODULE", help="run these")
    parser.add_argument("--list", action="store_true", help="run nothing")
    return parser


def _measured(commands: Sequence[Command]) -> list[Measurement]:
    found: list[Measurement] = []
    for position, command in enumerate(commands, start=1):
        sys.stderr.write(f"{position} of {len(commands)}: {command.line(quick=True)}\n")
        with tempfile.TemporaryDirectory() as folder:
            found.append(measure(command, Path(folder)))
        sys.stderr.write(f"  {found[-1].seconds:g} s, exit code {found[-1].exit_code}\n")
    return found


def keep(run: Run, folder: Path) -> None:
    """Write the JSON of a run, a line of the history, and the page.

    Args:
        run: The run.
        folder: Where they go.
    """
    folder.mkdir(parents=True, exist_ok=True)
    whole = json.dumps(asdict(run), indent=2)
    (folder / "latest.json").write_text(whole + "\n", encoding="utf-8")
    short = {**asdict(run), "measured": [item.short() for item in run.measured]}
    history = folder / "history.jsonl"
    with history.open("a", encoding="utf-8") as file:
        file.write(json.dumps(short) + "\n")
    (folder / "index.html").write_text(page(run, read(history)), encoding="utf-8")


def read(history: Path) -> list[Mapping[str, object]]:
    """Return the runs of a history, the oldest first.

    Args:
        history: File of JSON lines.
    """
    return [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    sys.exit(main())

"""Every figure and table of the papers: what they say, and what we measure.

    python -m benchmarks.papers --list          # runs nothing
    python -m benchmarks.papers --quick         # small parts, ten minutes on two cores
    python -m benchmarks.papers                 # some hours; start it again to go on
    python -m benchmarks.papers --paper SALSA COSMA

What commands print is kept in ``benchmarks/results/papers``, in files named by command and code;
what is there is not run again. The table goes to ``papers.md`` there, and ``docs/papers.md`` is
written from the registry. The exit code is 1 where a command fails, or its figure cannot be found.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .claim import Claim, Command, Paper
from .page import measured, page
from .registry import CLAIMS
from .runs import ROOT, Runs

RESULTS = ROOT / "benchmarks" / "results" / "papers"
DOCUMENT = ROOT / "docs" / "papers.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or list, what the command line asks for; return the exit code."""
    chosen = _parser().parse_args(arguments)
    claims = [claim for claim in CLAIMS if claim.paper in chosen.paper]
    if chosen.list:
        sys.stdout.write(measured(claims, {}))
        return 0
    runs = Runs(chosen.output, chosen.quick)
    texts = _outputs(claims, runs, chosen.jobs or (2 if chosen.quick else 1))
    found = {claim: _figure(claim, texts) for claim in claims}
    text = measured(claims, found)
    sys.stdout.write(text)
    chosen.output.mkdir(parents=True, exist_ok=True)
    (chosen.output / "papers.md").write_text(text, encoding="utf-8")
    if chosen.docs:
        DOCUMENT.write_text(page(CLAIMS), encoding="utf-8")
    lost = [claim for claim in claims if claim.find is not None and found[claim] is None]
    for claim in lost:
        sys.stderr.write(f"{claim.paper} {claim.item}: no figure for {claim.says!r}\n")
    return int(bool(lost))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.papers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--list", action="store_true", help="run nothing")
    parser.add_argument("--quick", action="store_true", help="small parts of everything")
    parser.add_argument(
        "--jobs",
        type=int,
        default=0,
        help="commands at once; seconds are only fair with one [1, with --quick 2]",
    )
    parser.add_argument(
        "--paper", nargs="+", type=Paper, choices=list(Paper), default=list(Paper), metavar="PAPER"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of results")
    parser.add_argument(
        "--docs",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="write docs/papers.md [yes]",
    )
    return parser


def _outputs(claims: Iterable[Claim], runs: Runs, jobs: int) -> Mapping[Command, str]:
    """Run each command once, and return what they printed; those that fail are left out.

    Args:
        claims: Whose commands.
        runs: What is known, and how to run.
        jobs: Commands at once.
    """
    found = (claim.command for claim in claims if claim.find is not None)
    commands = list(dict.fromkeys(command for command in found if command is not None))

    def run(numbered: tuple[int, Command]) -> str | None:
        position, command = numbered
        line = command.line(quick=runs.quick)
        sys.stderr.write(f"{position} of {len(commands)}: {line}\n")
        try:
            return runs.run(command)
        except subprocess.CalledProcessError as error:
            sys.stderr.write(f"{error}\n")
            return None

    with ThreadPoolExecutor(jobs) as pool:
        texts = pool.map(run, enumerate(commands, start=1))
        pairs = zip(commands, texts, strict=True)
        return {command: text for command, text in pairs if text is not None}


def _figure(claim: Claim, texts: Mapping[Command, str]) -> float | None:
    """Return what a claim's command found."""
    if claim.find is None or claim.command is None or claim.command not in texts:
        return None
    return claim.find.find(texts[claim.command])


if __name__ == "__main__":
    sys.exit(main())

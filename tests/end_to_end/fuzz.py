"""Compile many random networks in random ways, and keep what is needed to repeat each failure.

Run it with ``make fuzz COUNT=1000 SEED=7``, ``make fuzz TIME=600``, or
``python -m tests.end_to_end.fuzz --help``.
"""

import argparse
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from .draws import Draw, Outcome, Verdict


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 where a program is wrong, or a compilation breaks off or does not end, else 0."""
    wanted = _read(arguments)
    if wanted.only is not None:
        outcome = _draw(wanted, wanted.only).run()
        print(outcome.verdict, outcome.message)
        return int(outcome.is_failure)
    counts: Counter[Verdict] = Counter()
    started = time.monotonic()
    for number in count(wanted.first):
        if _is_over(wanted, number - wanted.first, time.monotonic() - started):
            break
        draw = _draw(wanted, number)
        outcome = _outcome(draw, wanted.patience)
        counts[outcome.verdict] += 1
        if outcome.is_failure:
            _keep(draw, outcome, wanted.out)
        _tell(counts, wanted, time.monotonic() - started)
    _tell(counts, wanted, time.monotonic() - started, is_last=True)
    return int(not counts.keys() <= {Verdict.RIGHT, Verdict.INFEASIBLE})


def _draw(wanted: argparse.Namespace, number: int) -> Draw:
    return Draw(wanted.seed, number, wanted.steps, wanted.own, wanted.any)


class _OutOfPatienceError(BaseException):
    """A compilation took too long; no handler of errors on its way may take it for one of them."""


def _outcome(draw: Draw, patience: float) -> Outcome:
    """Run a compilation, and give it up after some seconds of its own, whatever else runs."""

    def give_up(*_: object) -> None:
        raise _OutOfPatienceError

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, patience)
    try:
        return draw.run()
    except _OutOfPatienceError:
        where = traceback.format_exc()
        return Outcome(Verdict.SLOW, f"it took more than {patience:g} s of CPU; then:\n{where}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _keep(draw: Draw, outcome: Outcome, out: Path) -> None:
    """Write a failure down, and a smaller network that ends in the same way."""
    folder = draw.write(out, outcome)  # first, because making it smaller may take minutes
    if outcome.verdict is Verdict.SLOW:
        print(f"\n{outcome.verdict}: {folder}\n  {draw.command}")
        return
    smaller = draw.reduced(outcome)
    nodes, left = len(draw.model.graph.node), len(smaller.graph.node)
    folder = draw.write(out, outcome, smaller)
    print(f"\n{outcome.verdict}: {folder}, {left} of {nodes} nodes\n  {draw.command}")


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="how many compilations")
    parser.add_argument("--time", type=float, help="instead: for how long [s]")
    parser.add_argument("--seed", type=int, default=0, help="of the series")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--only", type=int, help="repeat one by its number, tell its outcome")
    parser.add_argument("--steps", type=int, default=6, help="of a network, at most")
    parser.add_argument("--own", type=float, default=0.5, help="share of machines of their own")
    parser.add_argument("--any", type=float, default=0.5, help="share of any operators")
    parser.add_argument("--patience", type=float, default=600.0, help="for each, CPU time [s]")
    parser.add_argument("--out", type=Path, default=Path("fuzz"), help="where failures are kept")
    return parser.parse_args(arguments)


def _is_over(wanted: argparse.Namespace, done: int, seconds: float) -> bool:
    return done >= wanted.count if wanted.time is None else seconds >= wanted.time


def _tell(
    counts: Counter[Verdict], wanted: argparse.Namespace, seconds: float, *, is_last: bool = False
) -> None:
    done = sum(counts.values())
    is_shown = sys.stdout.isatty()
    if is_shown or is_last or done % 100 == 0:
        found = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
        total = f" of {wanted.count}" if wanted.time is None else ""
        end = "\r" if is_shown and not is_last else "\n"
        print(f"{done}{total}: {found} ({seconds:.0f} s)", end=end, flush=True)


if __name__ == "__main__":
    sys.exit(main())

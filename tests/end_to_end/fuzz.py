"""Compile many random networks in random ways, and keep what is needed to repeat each failure.

Run it with ``make fuzz COUNT=1000 SEED=7``, ``make fuzz TIME=600``, or
``python -m tests.end_to_end.fuzz --help``.
"""

import argparse
import itertools
import math
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .draws import Draw, Verdict


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 where a program is wrong or a compilation breaks off, else 0."""
    wanted = _read(arguments)
    if wanted.only is not None:
        outcome = Draw(wanted.seed, wanted.only, wanted.steps).run()
        print(outcome.verdict, outcome.message)
        return int(outcome.is_failure)
    counts: Counter[Verdict] = Counter()
    started = time.monotonic()
    for number in itertools.count(wanted.first):
        if counts.total() == wanted.count or time.monotonic() - started > wanted.seconds:
            break
        draw = Draw(wanted.seed, number, wanted.steps)
        outcome = draw.run()
        counts[outcome.verdict] += 1
        if outcome.is_failure:
            print(f"\n{outcome.verdict}: {draw.write(wanted.out, outcome)}\n  {draw.command}")
        _show(counts, wanted.count, time.monotonic() - started)
    print(f"\n{_summary(counts)}")
    return int(bool(counts[Verdict.WRONG] or counts[Verdict.ERROR]))


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, help="how many compilations: 1000 without --seconds")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin none after these")
    parser.add_argument("--seed", type=int, default=0, help="of the series")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--only", type=int, help="repeat one by its number, tell its outcome")
    parser.add_argument("--steps", type=int, default=6, help="of a network, at most")
    parser.add_argument("--out", type=Path, default=Path("fuzz"), help="where failures are kept")
    wanted = parser.parse_args(arguments)
    if wanted.count is None and wanted.seconds == math.inf:
        wanted.count = 1000
    return wanted


def _show(counts: Counter[Verdict], total: int | None, seconds: float) -> None:
    end = "\r" if sys.stdout.isatty() else "\n"
    done = counts.total()
    if end == "\r" or done % 100 == 0 or done == total:
        of = "" if total is None else f" of {total}"
        print(f"{done}{of}: {_summary(counts)} ({seconds:.0f} s)", end=end, flush=True)


def _summary(counts: Counter[Verdict]) -> str:
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)


if __name__ == "__main__":
    sys.exit(main())

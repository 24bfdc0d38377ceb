"""Compile many random networks in random ways, and keep what is needed to repeat each failure.

Run it with ``make fuzz COUNT=1000 SEED=7``, or ``python -m tests.end_to_end.fuzz --help``.
"""

import argparse
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
    for number in range(wanted.first, wanted.first + wanted.count):
        draw = Draw(wanted.seed, number, wanted.steps)
        outcome = draw.run()
        counts[outcome.verdict] += 1
        if outcome.is_failure:
            print(f"\n{outcome.verdict}: {draw.write(wanted.out, outcome)}\n  {draw.command}")
        _tell(counts, wanted.count, time.monotonic() - started)
    print()
    return int(bool(counts[Verdict.WRONG] or counts[Verdict.ERROR]))


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="how many compilations")
    parser.add_argument("--seed", type=int, default=0, help="of the series")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--only", type=int, help="repeat one by its number, tell its outcome")
    parser.add_argument("--steps", type=int, default=6, help="of a network, at most")
    parser.add_argument("--out", type=Path, default=Path("fuzz"), help="where failures are kept")
    return parser.parse_args(arguments)


def _tell(counts: Counter[Verdict], total: int, seconds: float) -> None:
    found = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
    end = "\r" if sys.stdout.isatty() else "\n"
    done = sum(counts.values())
    if end == "\r" or done % 100 == 0 or done == total:
        print(f"{done} of {total}: {found} ({seconds:.0f} s)", end=end, flush=True)


if __name__ == "__main__":
    sys.exit(main())

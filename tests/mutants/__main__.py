"""Mutate the source and see which tests notice: one line of JSON for every mutant.

python -m tests.mutants --sample 200 --seed 0 [--room NAME] [--under PATH] [--out FILE] [--jobs N]
python -m tests.mutants --again FILE
python -m tests.mutants --at ir/tiles/sums.py:40 [--tests tests/ir/tiles/test_sums.py]
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.covered import COVERED, mutants_under, sample, text
from tests.mutants.mutants import Mutant, mutants_of
from tests.mutants.run import AT_MOST, Questions, Verdict, verdicts
from tests.mutants.trial import prepare


def main(arguments: list[str]) -> None:
    """Run a sample and sum it up, room by room."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=200, help="mutants (200)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (0)")
    parser.add_argument("--room", nargs="+", choices=COVERED, help="draw from these rooms alone")
    parser.add_argument("--under", help="draw from this file or folder alone")
    parser.add_argument("--again", type=Path, help="instead: those that survive in such a file")
    parser.add_argument("--at", nargs="+", metavar="FILE:LINE", help="instead: all of these lines")
    parser.add_argument("--tests", nargs="+", default=[], help="ask these files of tests alone")
    parser.add_argument("--out", type=Path, help="file of JSON lines (standard output)")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at once (2)")
    parser.add_argument("--times", type=Path, help="folder that keeps what tests take and call")
    parser.add_argument(
        "--most", type=float, default=AT_MOST, help="what tests of one mutant take [s] (45)"
    )
    parser.add_argument("--far", action="store_true", help="ask tests of what imports it, too")
    options = parser.parse_args(arguments)
    mutants = _chosen(options)
    prepare()
    found: list[Verdict] = []
    with (
        options.out.open("w") if options.out else nullcontext(sys.stdout) as out,
        nullcontext(options.times) if options.times else TemporaryDirectory() as times,
    ):
        Path(times).mkdir(exist_ok=True)
        questions = Questions(Path(times), options.tests, options.most, options.far)
        for verdict in verdicts(mutants, options.jobs, questions):
            found.append(verdict)
            print(json.dumps(verdict.row()), file=out, flush=True)
    for line in summary(found):
        _tell(line)


def _chosen(options: argparse.Namespace) -> list[Mutant]:
    if options.again:
        return survivors(options.again)
    if options.at:
        return [mutant for place in options.at for mutant in at_line(place)]
    rooms = options.room or COVERED
    folders = [[options.under]] if options.under else [COVERED[room] for room in rooms]
    return sample(map(mutants_under, folders), options.sample, options.seed)


def at_line(place: str) -> list[Mutant]:
    """Return the mutants of a line, given as ``file:line``.

    Args:
        place: The line.
    """
    file, _, line = place.rpartition(":")
    return [mutant for mutant in mutants_of(file, text(file)) if mutant.line == int(line)]


def survivors(path: Path) -> list[Mutant]:
    """Return the mutants of a file of JSON lines that survived, as far as they still are."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    found: list[Mutant] = []
    for row in (row for row in rows if row["killed_by"] is None):
        wanted = [row[name] for name in _NAMES]
        mutants = mutants_of(row["file"], text(row["file"]))
        found += [item for item in mutants if [getattr(item, name) for name in _NAMES] == wanted]
    return found


_NAMES = ("line", "operator", "before", "after")
"""What tells mutants of a file apart."""


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def summary(found: Sequence[Verdict]) -> list[str]:
    """Return lines that say how many mutants of every room are killed."""
    all_of = Counter(item.room for item in found)
    killed = Counter(item.room for item in found if item.killed_by is not None)
    rows = [f"{room}: {killed[room]} of {count} killed" for room, count in all_of.items()]
    return [*rows, f"together: {killed.total()} of {all_of.total()} killed"]


if __name__ == "__main__":
    main(sys.argv[1:])

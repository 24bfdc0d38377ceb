"""Look for something better than what is called optimal, and for what lies below a bound.

Run it with ``make attack TIME=3600``, or ``python -m tests.attack --help``.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.attack.run import Batch, attack, attacks
from tests.attack.targets import TARGETS


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 where something was beaten, else 0."""
    wanted = _read(arguments)
    targets = {name: TARGETS[name] for name in wanted.only or TARGETS}
    if wanted.again:
        found = [attack(name, target, wanted.seed) for name, target in targets.items()]
    else:
        found: list[Batch] = []
        for batch in attacks(targets, wanted.time, wanted.seed):
            found.append(batch)
            if batch.failure is not None:
                print(f"beaten: {_keep(wanted.out, batch)}", flush=True)
    for batch in found if wanted.again else ():
        print(batch.failure or f"{batch.target}: nothing beaten in {batch.cases} cases")
    for line in summary(found):
        print(line)
    return int(any(batch.failure is not None for batch in found))


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--time", type=float, default=3600.0, help="how long [s] (3600)")
    parser.add_argument("--seed", type=int, default=0, help="the first; counted up (0)")
    parser.add_argument("--only", choices=TARGETS, action="append", help="attack this alone")
    parser.add_argument("--again", action="store_true", help="only the batch of --seed")
    parser.add_argument("--out", type=Path, default=Path("attack"), help="where failures are kept")
    return parser.parse_args(arguments)


def _keep(folder: Path, batch: Batch) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{batch.target}-{batch.seed}.txt"
    command = f"python -m tests.attack --only {batch.target} --seed {batch.seed} --again"
    path.write_text(f"{command}\n\n{batch.failure}")
    return path


def summary(found: Sequence[Batch]) -> list[str]:
    """Return a line for each target: seeds, cases, time, and how many batches beat it.

    Args:
        found: All batches.
    """
    lines: list[str] = []
    for name in dict.fromkeys(batch.target for batch in found):
        mine = [batch for batch in found if batch.target == name]
        seeds = f"seeds {mine[0].seed} to {mine[-1].seed}"
        cases, seconds = sum(item.cases for item in mine), sum(item.seconds for item in mine)
        beaten = sum(batch.failure is not None for batch in mine)
        lines.append(f"{name}: {seeds}, {cases} cases, {seconds:.0f} s, {beaten} beaten")
    beaten = sum(batch.failure is not None for batch in found)
    return [*lines, f"together: {sum(item.cases for item in found)} cases, {beaten} beaten"]


if __name__ == "__main__":
    sys.exit(main())

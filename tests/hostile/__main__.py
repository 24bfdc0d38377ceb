"""Damage files of every kind and read them: nothing but a message may come of it.

    make hostile COUNT=5000
    python -m tests.hostile --count 700 --seed 3 --only toml

Every file is read in a process that other files are read in, too; one that ends by a signal, or
takes more than 10 s or 2 GiB, is a failure, as is an error that is no ``AccnnError``. Failures are
kept in ``hostile/``.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.hostile.run import NAMES, Failure, attempts


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 where something failed, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--count", type=int, default=5000, help="files (5000)")
    parser.add_argument("--seed", type=int, default=0, help="of all draws (0)")
    parser.add_argument("--only", choices=NAMES, action="append", help="this kind alone")
    parser.add_argument("--out", type=Path, default=Path("hostile"), help="where failures are kept")
    wanted = parser.parse_args(arguments)
    names = wanted.only or NAMES
    failed = 0
    for name in names:
        found = attempts(name, wanted.seed, -(-wanted.count // len(names)))
        failures = [item for item in found if isinstance(item, Failure)]
        counts = {text: sum(item == text for item in found) for text in ("read", "refused")}
        print(f"{name}: {counts['read']} read, {counts['refused']} refused, {len(failures)} failed")
        for item in failures:
            item.keep(wanted.out)
            print(f"  {item.name}: {item.what.splitlines()[-1]}")
        failed += len(failures)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

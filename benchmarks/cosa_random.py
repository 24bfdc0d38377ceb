"""The long random search that `benchmarks.cosa` is compared with: a minute of CPU time a layer.

    python -m benchmarks.cosa_random                 # about an hour; start it again to go on

Draws that fill the array, each with every order that matters (the mapper ``random-pruned``), on
``simba``, for latency, distinct layers once, small ones first. A row is appended to
``benchmarks/results/cosa-random-simba.csv`` as soon as a layer is done, and layers that have a row
are left out, so that an interrupted run loses one layer at most. The budget is evaluations, not
seconds: 12 million took a minute on one idle core.
"""

import argparse
import csv
import sys
from collections.abc import Mapping
from pathlib import Path

from accnn.backend.load import load_architecture
from accnn.compiler.layers.read import read_layers
from accnn.ir.workload import Workload
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.drawn import RandomPruned

HERE = Path(__file__).parent
LAYERS = HERE / "data" / "cosa_layers.csv"
FOUND = HERE / "results" / "cosa-random-simba.csv"
COLUMNS = ("workload", "evaluations", "cycles", "cpu_seconds")


def known(path: Path = FOUND) -> Mapping[str, float]:
    """Return the latency that the search has found, by workload [cycle]."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {row["workload"]: float(row["cycles"]) for row in csv.DictReader(file)}


def main() -> int:
    """Search for every layer that has no row yet."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--evaluations", type=int, default=12_000_000)
    arguments = parser.parse_args()
    arch = load_architecture("simba.toml")
    done = known()
    if not FOUND.exists():
        FOUND.parent.mkdir(exist_ok=True)
        FOUND.write_text(",".join(COLUMNS) + "\n")
    distinct = {item.workload for item in read_layers(LAYERS)}
    workloads = sorted(distinct, key=lambda item: (item.macs, str(item)))
    waiting: list[Workload] = [item for item in workloads if str(item) not in done]
    for position, workload in enumerate(waiting, start=1):
        problem = MappingProblem(workload=workload, arch=arch, evaluations=arguments.evaluations)
        result = RandomPruned().map(problem)
        seconds = f"{result.cpu_seconds:.1f}"
        with FOUND.open("a", newline="") as file:
            row = (str(workload), arguments.evaluations, round(result.objective, 3), seconds)
            csv.writer(file, lineterminator="\n").writerow(row)
        sys.stderr.write(f"{position} of {len(waiting)}: {workload}, {seconds} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""SALSA against what its paper compares it with: LOMA, Timeloop, and time (Figs. 3 and 5).

    python -m benchmarks.salsa_baselines
    python -m benchmarks.salsa_baselines --network alexnet resnet34

All on ``eyeriss`` with the unrolling of the machine's dataflow, energy as the objective. *LOMA 7*
looks at all orders of seven loops and allocates memory greedily, as published; *LOMA 7, exact*
allocates as SALSA does here. *Timeloop* is the mapper ``timeloop-hybrid``, whose nests are even;
*SALSA, even* starts all tiles of a level at the same loop, too. Energies are geometric means over
distinct layers of what each takes over SALSA's; seconds are CPU seconds over SALSA's, summed.

Figure 3: seconds over the number of loop prime factors for AlexNet's second layer, whose smallest
factors are joined until so many are left.

References:
    Jung, Symons, Mei, Verhelst, Benini: SALSA. AICAS 2023, sections IV-A and V-B.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from accnn.backend.load import load_architecture
from accnn.compiler.layers.read import Layer, read_layers
from accnn.ir.arch import Architecture
from accnn.passes.mapping.recipes.timeloop_hybrid import TimeloopHybrid
from accnn.passes.mapping.search.orders.engine import SearchOptions, prepare
from accnn.passes.mapping.search.orders.loops import count_orders, loop_prime_factors
from accnn.passes.mapping.search.orders.machine import UnrolledProblem

from .salsa import ANNEAL, EXHAUST, LAYERS, geomean, problem_of, timed

NETWORKS = ("alexnet", "resnet34", "resnet50", "darknet19", "mobilenetv2")
LIMIT = 7
MOST_ORDERS = 5_000_000
"""Orders that Figure 3 still looks at."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search found.

    Attributes:
        energy: Of its nest [pJ].
        seconds: CPU time [s].
    """

    energy: float
    seconds: float


def _salsa(problem: UnrolledProblem) -> Outcome:
    found = timed(problem, SearchOptions())
    return Outcome(found.found.value, found.seconds)


def _even(problem: UnrolledProblem) -> Outcome:
    return _salsa(replace(problem, problem=replace(problem.problem, even=True)))


def _loma(problem: UnrolledProblem, *, greedy: bool) -> Outcome:
    found = timed(replace(problem, greedy=greedy), replace(EXHAUST, limit=LIMIT))
    return Outcome(found.found.value, found.seconds)


def _timeloop(problem: UnrolledProblem, *, victory: int = 500) -> Outcome:
    """Return what Timeloop's search finds with threads that end after so many in vain."""
    mapper = TimeloopHybrid(victory=victory)
    found = mapper.map(replace(problem.problem, spatial=problem.spatial))
    return Outcome(found.objective, found.cpu_seconds)


SEARCHES: dict[str, Callable[[UnrolledProblem], Outcome]] = {
    "SALSA": _salsa,
    f"LOMA {LIMIT}": lambda problem: _loma(problem, greedy=True),
    f"LOMA {LIMIT}, exact": lambda problem: _loma(problem, greedy=False),
    "SALSA, even": _even,
    "Timeloop": _timeloop,
    "Timeloop, 10 in vain": lambda problem: _timeloop(problem, victory=10),
    "Timeloop, 1 in vain": lambda problem: _timeloop(problem, victory=1),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.salsa_baselines", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--network", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--layers", type=int, help="how many of each network [all]")
    chosen = parser.parse_args(arguments)
    arch = load_architecture("eyeriss")
    prepare()
    layers = list(_layers(chosen.network, chosen.layers))
    _write(_comparison(layers, arch))
    _write(_by_factors(arch))
    return 0


def _write(lines: Sequence[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n\n")
    sys.stdout.flush()


def _layers(networks: Sequence[str], most: int | None) -> Iterator[Layer]:
    every = read_layers(LAYERS)
    for network in networks:
        yield from [item for item in every if item.name.startswith(f"{network}/")][:most]


def _comparison(layers: Sequence[Layer], arch: Architecture) -> list[str]:
    rows = [
        (layer, [search(problem_of(layer.workload, arch)) for search in SEARCHES.values()])
        for layer in layers
    ]
    others = list(SEARCHES)[1:]
    lines = [
        "## Figure 5: over SALSA's energy and seconds",
        "",
        "| network | layers | SALSA s | "
        + " | ".join(f"{name} | {name}: s" for name in others)
        + " |",
        "|---|" + "---:|" * (2 + 2 * len(others)),
    ]
    names = list(dict.fromkeys(layer.name.partition("/")[0] for layer in layers))
    for name in [*names, "all"]:
        own = [found for layer, found in rows if name in ("all", layer.name.partition("/")[0])]
        seconds = sum(found[0].seconds for found in own)
        cells = [
            f"{geomean(found[at].energy / found[0].energy for found in own):.4f} "
            f"| {sum(found[at].seconds for found in own) / seconds:.2f}"
            for at in range(1, len(SEARCHES))
        ]
        lines.append(f"| {name} | {len(own)} | {seconds:.2f} | {' | '.join(cells)} |")
    return lines


def _by_factors(arch: Architecture) -> list[str]:
    layer = next(item for item in read_layers(LAYERS) if item.name == "alexnet/conv2")
    problem = problem_of(layer.workload, arch)
    fewest = sum(extent > 1 for extent in problem.temporal.values())
    most = len(loop_prime_factors(problem.temporal))
    lines = [
        "## Figure 3: seconds over the number of loop prime factors",
        "",
        "| factors | orders | all orders s | annealing s |",
        "|---:|---:|---:|---:|",
    ]
    for limit in range(fewest, most + 1):
        orders = count_orders(loop_prime_factors(problem.temporal, limit))
        every = math.nan
        if orders <= MOST_ORDERS:
            every = timed(problem, replace(EXHAUST, limit=limit)).seconds
        anneal = timed(problem, replace(ANNEAL, limit=limit)).seconds
        shown = "-" if math.isnan(every) else f"{every:.4f}"
        lines.append(f"| {limit} | {orders} | {shown} | {anneal:.4f} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())

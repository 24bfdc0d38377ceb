"""SALSA's evaluation: five networks on an Eyeriss-like machine, LOMA, ZigZag's figures, plots.

    python -m benchmarks.salsa
    python -m benchmarks.salsa --network resnet34 --limits 5,6,7
    python -m benchmarks.salsa --part zigzag

Parts: ``networks`` (energy per layer, LOMA's over ours, evaluations per second), ``zigzag`` (the
same layers, unrolling and counting as runs of ZigZag), ``optimum`` (how often the exhaustive
optimum is reached), ``allocation`` (what LOMA's greedy rule costs), ``figures`` (Figs. 4 and 6 of
the paper). Tables are printed and written to ``benchmarks/results``, figures to ``docs/figures``;
seconds are CPU seconds of one core, compilation left out. The exit code is 1 if a figure of
ZigZag, a reference, the optimum, or 20,000 evaluations a second are not reached.
"""

import argparse
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from accnn.backend.load import load_architecture
from accnn.compiler.layers.read import Layer, read_layers
from accnn.ir.arch import Architecture
from accnn.ir.workload import Workload
from accnn.passes.mapping.mapper import MappingResult
from accnn.passes.mapping.problem import MappingProblem, Objective, Rules
from accnn.passes.mapping.registry import find_mapper
from accnn.passes.mapping.search.orders.allocation import allocate_in
from accnn.passes.mapping.search.orders.engine import (
    BestOrder,
    OrderEngine,
    SearchOptions,
    anneal_once,
    prepare,
    search,
)
from accnn.passes.mapping.search.orders.loops import count_orders, loop_prime_factors
from accnn.passes.mapping.search.orders.machine import UnrolledProblem
from accnn.passes.mapping.search.orders.orders import OrderSpace
from accnn.passes.mapping.search.orders.spatial import dataflow_unrolling

from .salsa_plots import draw_distribution, draw_tradeoff
from .salsa_tau import seconds_per_order
from .zigzag_data import Run, read_best, read_runs

HERE = Path(__file__).parent
LAYERS = HERE / "data" / "salsa_layers.csv"
RESULTS = HERE / "results"
FIGURES = HERE.parent / "docs" / "figures"
PARTS = ("networks", "zigzag", "optimum", "allocation", "figures")
ANNEAL = SearchOptions(engine=OrderEngine.ANNEALING)
LONG = SearchOptions(
    engine=OrderEngine.ANNEALING, iterations=25_000, decay=0.9999, restarts=4, descents=512, seed=1
)
MOST_EXHAUSTED = 1_000_000
TRADED = ("mobilenetv2/block1_project", "resnet50/conv5_reduce0")
EXHAUST = SearchOptions(engine=OrderEngine.EXHAUSTIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A result and the CPU time that it took [s]."""

    found: BestOrder
    seconds: float

    @property
    def rate(self) -> float:
        """Evaluations per CPU second."""
        return self.found.evaluations / self.seconds


def main() -> int:
    """Run the chosen parts."""
    arguments = _arguments()
    arch = load_architecture("eyeriss.toml")
    prepare()
    RESULTS.mkdir(exist_ok=True)
    run: dict[str, Callable[[], tuple[list[str], bool]]] = {
        "networks": lambda: networks(arch, arguments.network, arguments.limits),
        "zigzag": lambda: against_zigzag(arch),
        "optimum": lambda: optimum(arch, arguments.runs),
        "allocation": lambda: allocation(arch),
        "figures": lambda: figures(arch, arguments.figures),
    }
    reached = True
    for part in arguments.part:
        lines, good = run[part]()
        reached &= good
        text = "\n".join(lines) + "\n"
        sys.stdout.write(text)
        (RESULTS / f"salsa-{part}.md").write_text(text)
    return 0 if reached else 1


def _arguments() -> argparse.Namespace:
    def words(text: str) -> list[str]:
        return text.split(",")

    def numbers(text: str) -> list[int]:
        return [int(item) for item in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", type=words, default=list(PARTS), help=",".join(PARTS))
    parser.add_argument("--network", type=words, help="alexnet, resnet34, resnet50, ...")
    parser.add_argument("--limits", type=numbers, default=[5, 6, 7, 8, 9], help="of LOMA's loops")
    parser.add_argument("--runs", type=int, default=500, help="seeds of the part optimum")
    parser.add_argument("--figures", type=Path, default=FIGURES, help="folder of figures")
    return parser.parse_args()


def problem_of(
    workload: Workload, arch: Architecture, rules: Rules = Rules.ACCNN
) -> UnrolledProblem:
    """Return the energy problem of a workload on the machine's dataflow."""
    workload = replace(workload, psum_bits=arch.accumulator_bits)
    unrolling = dataflow_unrolling(workload, arch)
    return UnrolledProblem(
        problem=MappingProblem(
            workload=workload, arch=arch, rules=rules, objective=Objective.ENERGY
        ),
        spatial=unrolling,
    )


def timed(problem: UnrolledProblem, options: SearchOptions) -> Timed:
    """Search and take the time."""
    started = time.process_time()
    found = search(problem, options)
    return Timed(found=found, seconds=max(1e-9, time.process_time() - started))


def geomean(values: Iterable[float]) -> float:
    """Return the geometric mean; not a number where there is none."""
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan


# Networks ----------------------------------------------------------------------------------------


def networks(
    arch: Architecture, chosen: Sequence[str] | None, limits: Sequence[int]
) -> tuple[list[str], bool]:
    """Return the table of all distinct layers of the five networks."""
    layers = [
        layer
        for layer in read_layers(LAYERS)
        if chosen is None or layer.name.split("/")[0] in chosen
    ]
    heading = " | ".join(f"LOMA {limit} | s" for limit in limits)
    lines = [
        "# Energy on eyeriss, five networks",
        "",
        "SALSA: 4 x 1000 iterations of annealing and 64 descents, or all orders where these are",
        "fewer. *over reference*: excess over the best of all orders where these are at most a",
        "million, else (*long*) over 4 x 25,000 iterations and 512 descents with another seed.",
        "LOMA: all orders of so many loops, energy over SALSA's. Allocation is exact for both,",
        f"unrolling is the machine's dataflow. tau on this machine: {1e6 * seconds_per_order():.2f}"
        " us.",
        "",
        f"| layer | orders | engine | SALSA uJ | over reference | evaluations/s | s | {heading} |",
        "|---|---:|---|---:|---:|---:|---:|" + "---:|---:|" * len(limits),
    ]
    rows: list[tuple[Layer, Timed, list[Timed]]] = []
    excesses: list[float] = []
    for layer in layers:
        problem = problem_of(layer.workload, arch)
        own = timed(problem, SearchOptions())
        others = [timed(problem, replace(EXHAUST, limit=limit)) for limit in limits]
        rows.append((layer, own, others))
        cells = " | ".join(
            f"{item.found.value / own.found.value:.4f} | {item.seconds:.2f}" for item in others
        )
        lines.append(
            f"| {layer.name} {layer.workload} | {own.found.orders} | {own.found.engine} "
            f"| {own.found.value / 1e6:.3f} | {_over_reference(problem, own, excesses)} "
            f"| {own.rate:,.0f} | {own.seconds:.3f} | {cells} |"
        )
    lines += [
        "",
        f"Over the reference: {np.mean(excesses):.4%} on average, {max(excesses):.4%} at most.",
        "",
    ]
    good = max(excesses) < 1e-3 and min(own.rate for _, own, _ in rows) > 20_000
    return [*lines, *_network_means(rows, limits), ""], good


def _over_reference(problem: UnrolledProblem, own: Timed, excesses: list[float]) -> str:
    """Return the excess over all orders, or over a long search, and append it."""
    all_orders = own.found.orders <= MOST_EXHAUSTED
    reference = search(problem, EXHAUST if all_orders else LONG).value
    excesses.append(own.found.value / reference - 1.0)
    return f"{excesses[-1]:+.4%}{'' if all_orders else ' long'}"


def _network_means(
    rows: Sequence[tuple[Layer, Timed, list[Timed]]], limits: Sequence[int]
) -> list[str]:
    heading = " | ".join(f"LOMA {limit} | worst | s" for limit in limits)
    lines = [
        "Geometric means over distinct layers; seconds are sums.",
        "",
        f"| network | layers | SALSA s | evaluations/s | {heading} |",
        "|---|---:|---:|---:|" + "---:|---:|---:|" * len(limits),
    ]
    names = list(dict.fromkeys(layer.name.split("/")[0] for layer, _, _ in rows))
    for name in [*names, "all"]:
        own = [row for row in rows if name in (row[0].name.split("/")[0], "all")]
        cells: list[str] = []
        for at in range(len(limits)):
            ratios = [others[at].found.value / mine.found.value for _, mine, others in own]
            seconds = sum(others[at].seconds for _, _, others in own)
            cells.append(f"{geomean(ratios):.4f} | {max(ratios):.3f} | {seconds:.1f}")
        mine = [timing for _, timing, _ in own]
        rate = sum(item.found.evaluations for item in mine) / sum(item.seconds for item in mine)
        lines.append(
            f"| {name} | {len(own)} | {sum(item.seconds for item in mine):.1f} | {rate:,.0f} "
            f"| {' | '.join(cells)} |"
        )
    return lines


# ZigZag ------------------------------------------------------------------------------------------


def against_zigzag(arch: Architecture) -> tuple[list[str], bool]:
    """Return our energies beside ZigZag's, in its counting, with its unrolling."""
    runs = [run for run in read_runs() if run.objective == "energy" and not run.even]
    best = read_best()
    lines = [
        "# The same layers in ZigZag's counting",
        "",
        "Energy [uJ]. *ours*: ZigZag's counting and its idea of room (outputs take the width at",
        "which they leave a memory, padding takes none). *sound*: the same counting, but room for",
        "partial sums where they are kept. *SALSA*, *LOMA 6*, *LOMA 7*: ZigZag's runs, the best",
        "seed. *best known*: by any of its engines or a long search. All these have ZigZag's",
        "unrolling; *free* and *free, sound*: the same with unrollings of our choice, as `acc-map",
        "--mapper salsa --counting zigzag` and `zigzag-sound` do.",
        "",
        "| layer | ours | sound | SALSA | LOMA 6 | LOMA 7 | best known | ours / SALSA "
        "| ours / best | sound / best | our s | SALSA s | times less | free / best | s "
        "| free, sound / best |",
        "|---|" + "---:|" * 15,
    ]
    gains: list[float] = []
    missed: list[str] = []
    for layer in dict.fromkeys(run.layer for run in runs):
        own = [run for run in runs if run.layer == layer]
        salsa = [run for run in own if run.engine == "salsa"]
        problem = UnrolledProblem(
            problem=MappingProblem(
                workload=own[0].nest.workload,
                arch=arch,
                rules=Rules.ZIGZAG,
                objective=Objective.ENERGY,
            ),
            spatial=own[0].nest.spatial,
        )
        ours = timed(problem, SearchOptions())
        sound = timed(
            replace(problem, problem=replace(problem.problem, rules=Rules.ZIGZAG_SOUND)),
            SearchOptions(),
        )
        least = min(run.energy for run in salsa)
        seconds = statistics.mean(run.cpu_seconds for run in salsa)
        value = ours.found.value
        gains.append(seconds / ours.seconds)
        if f"{value:.5e}" > f"{least:.5e}" or value > 1.001 * best[layer]:
            missed.append(layer)
        free, fitting = (_free(problem, rules) for rules in (Rules.ZIGZAG, Rules.ZIGZAG_SOUND))
        cells = [value, sound.found.value, least, *_loma(own), best[layer]]
        shown = " | ".join("-" if math.isnan(cell) else f"{cell / 1e6:.3f}" for cell in cells)
        lines.append(
            f"| {layer} | {shown} | {value / least - 1:+.4%} | {value / best[layer] - 1:+.4%} "
            f"| {sound.found.value / best[layer] - 1:+.4%} | {ours.seconds:.3f} | {seconds:.1f} "
            f"| {gains[-1]:.0f} | {free.objective / best[layer] - 1:+.4%} "
            f"| {free.cpu_seconds:.2f} | {fitting.objective / best[layer] - 1:+.4%} |"
        )
    lines += [
        "",
        f"- above ZigZag-SALSA, or more than 0.1 % above the best known: "
        f"{', '.join(missed) or 'none'}",
        f"- CPU time against ZigZag-SALSA: {min(gains):.0f} to {max(gains):.0f} times less, "
        f"geometric mean {geomean(gains):.0f}",
        "",
    ]
    return lines, not missed and min(gains) >= 20


def _free(problem: UnrolledProblem, rules: Rules) -> MappingResult:
    """Return what the mapper finds when it chooses the unrolling."""
    return find_mapper("salsa").map(replace(problem.problem, rules=rules))


def _loma(runs: Sequence[Run]) -> list[float]:
    """Return the energies of LOMA with limits 6 and 7, not a number where it did not run."""
    found = {run.limit: run.energy for run in runs if run.engine == "loma"}
    return [found.get(limit, math.nan) for limit in (6, 7)]


# Optimum -----------------------------------------------------------------------------------------


def optimum(arch: Architecture, runs: int) -> tuple[list[str], bool]:
    """Return how often the best order is found, on ResNet-34's layers with a million at most."""
    lines = [
        "# How often the optimum is found",
        "",
        f"{runs} seeds per layer. *paper*: one run of 1000 iterations, T0 = 0.05, rho = 0.999, as",
        "published. *with descent*: the same, then every improving swap. *engine*: all that the",
        "annealing engine does by default. Optimum by looking at every order.",
        "",
        "| counting | layer | orders | paper | excess | with descent | excess | engine | excess |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    good = True
    for rules in (Rules.ACCNN, Rules.ZIGZAG_SOUND, Rules.ZIGZAG):
        hits, excess, cases = 0, 0.0, 0
        for layer in read_layers(LAYERS):
            problem = problem_of(layer.workload, arch, rules)
            if not layer.name.startswith("resnet34/") or _orders(problem) > MOST_EXHAUSTED:
                continue
            least = search(problem, EXHAUST).value
            rates = [_reached(problem, least, seed) for seed in range(runs)]
            table = np.array(rates) / least - 1.0
            cells = " | ".join(
                f"{np.mean(column < 1e-12):.3%} | {column.mean():.4%}" for column in table.T
            )
            lines.append(f"| {rules} | {layer.name} | {_orders(problem)} | {cells} |")
            hits += int(np.sum(table[:, 2] < 1e-12))
            excess += float(table[:, 2].sum())
            cases += runs
        lines.append(f"| {rules} | all | | | | | | {hits / cases:.3%} | {excess / cases:.5%} |")
        good &= hits >= 0.999 * cases and excess <= 7e-5 * cases
    return [*lines, ""], good


def _orders(problem: UnrolledProblem) -> int:
    return count_orders(loop_prime_factors(problem.temporal))


def _reached(problem: UnrolledProblem, least: float, seed: int) -> tuple[float, float, float]:
    """Return what plain annealing, annealing with descent and the whole engine find.

    Runs of the engine end once the optimum is found; the rest could not change its result.
    """
    options = replace(ANNEAL, seed=seed)
    space = OrderSpace.of(problem, loop_prime_factors(problem.temporal))
    best, plain, descended = math.inf, math.inf, math.inf
    for run in range(options.restarts + options.descents):
        iterations = options.iterations if run < options.restarts else 0
        found = anneal_once(space, options, run, iterations)
        best = min(best, found.value)
        if run == 1:
            plain, descended = float(found.visited.min()), found.value
        if run > 0 and best <= least * (1 + 1e-12):
            break
    return plain, descended, best


# Allocation --------------------------------------------------------------------------------------


def allocation(arch: Architecture) -> tuple[list[str], bool]:
    """Return what LOMA's greedy allocation costs on random orders."""
    lines = [
        "# LOMA's greedy allocation against the exact one",
        "",
        "Energy of 1000 random orders of each layer that ZigZag's figures cover, excess over the",
        "best allocation of the same order.",
        "",
        "| layer | mean | median | most |",
        "|---|---:|---:|---:|",
    ]
    every: list[float] = []
    for layer in dict.fromkeys(run.layer for run in read_runs()):
        nest = next(run.nest for run in read_runs() if run.layer == layer)
        exact = UnrolledProblem(
            problem=MappingProblem(workload=nest.workload, arch=arch, objective=Objective.ENERGY),
            spatial=nest.spatial,
        )
        found = _greedy_excess(exact)
        every += found
        lines.append(
            f"| {layer} | {np.mean(found):.1%} | {np.median(found):.1%} | {max(found):.1%} |"
        )
    lines.append(f"| all | {np.mean(every):.1%} | {np.median(every):.1%} | {max(every):.1%} |")
    return [*lines, ""], True


def _greedy_excess(exact: UnrolledProblem) -> list[float]:
    loops = loop_prime_factors(exact.temporal)
    best = OrderSpace.of(exact, loops)
    rule = OrderSpace.of(replace(exact, greedy=True), loops)
    rng = np.random.default_rng(0)
    orders = [rng.permutation(best.first) for _ in range(1000)]
    return [allocate_in(rule, order)[1] / allocate_in(best, order)[1] - 1.0 for order in orders]


# Figures -----------------------------------------------------------------------------------------


def figures(arch: Architecture, folder: Path) -> tuple[list[str], bool]:
    """Draw Figs. 4 and 6 of the paper."""
    folder.mkdir(parents=True, exist_ok=True)
    seen = os.path.relpath(folder, RESULTS)
    layers = {layer.name: layer.workload for layer in read_layers(LAYERS)}
    fourth = problem_of(layers["alexnet/conv2"], arch)
    space = OrderSpace.of(fourth, loop_prime_factors(fourth.temporal))
    visited = np.concatenate([anneal_once(space, ANNEAL, run, 1000).visited for run in range(1, 5)])
    rng = np.random.default_rng(0)
    drawn = np.array([allocate_in(space, rng.permutation(space.first))[1] for _ in visited])
    draw_distribution(visited, drawn, folder / "salsa_fig4.png")
    panels = {name: _tradeoff(problem_of(layers[name], arch)) for name in TRADED}
    draw_tradeoff(
        {
            f"{name} on eyeriss": [(one, item.found.value, item.seconds) for one, item in points]
            for name, points in panels.items()
        },
        folder / "salsa_fig6.png",
    )
    lines = [
        "# Figures 4 and 6 of the paper",
        "",
        f"![AlexNet layer 2: energies of orders looked at]({seen}/salsa_fig4.png)",
        f"Median energy of orders: SALSA {np.median(visited) / 1e6:.1f} uJ, random "
        f"{np.median(drawn) / 1e6:.1f} uJ; best {visited.min() / 1e6:.1f} and "
        f"{drawn.min() / 1e6:.1f} uJ.",
        "",
        f"![Energy and time of several searches]({seen}/salsa_fig6.png)",
        "",
        "| layer | search | energy uJ | evaluations | s |",
        "|---|---|---:|---:|---:|",
    ]
    lines += [
        f"| {layer} | {name} | {item.found.value / 1e6:.3f} | {item.found.evaluations} "
        f"| {item.seconds:.4f} |"
        for layer, points in panels.items()
        for name, item in points
    ]
    return [*lines, ""], True


def _tradeoff(problem: UnrolledProblem) -> list[tuple[str, Timed]]:
    """Search by LOMA with several limits, by all orders where these are few, and by SALSA."""
    points = [
        (f"LOMA {limit}", timed(problem, replace(EXHAUST, limit=limit))) for limit in range(4, 10)
    ]
    if _orders(problem) <= EXHAUST.most_orders:
        points.append(("LOMA exh.", timed(problem, EXHAUST)))
    return [*points, ("SALSA", timed(problem, ANNEAL))]


if __name__ == "__main__":
    sys.exit(main())

"""CoSA's Fig. 10: latency of schedules over the mesh of the chip, simulated flit by flit.

    python -m benchmarks.noc
    python -m benchmarks.noc --arch simba --network resnet50 --mapper cosa,random
    python -m benchmarks.noc --draws 0               # without the closed form's correlation
    python -m benchmarks.noc --network resnet50 --layers 2      # two layers of it

Every mapper minimises the cost model's latency (``cosa-paper`` its published objective), those with
``:network`` behind their name that over the mesh, in closed form; ``random`` is the best of five
valid mappings in the simulation, as the paper chooses. Tables: latency per layer; geometric means
of the speed-ups in the form of Fig. 10; how well the cost model and the closed form of the network
order random mappings of a layer (rank correlation with the simulation); transactions per second of
CPU time. They are printed and written to ``benchmarks/results``.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from accnn.backend.load import load_architecture
from accnn.compiler.layers.read import Layer, read_layers
from accnn.compiler.mapping.solve import solve_all
from accnn.compiler.stores.mappings import MapJob, MappingCache
from accnn.compiler.stores.store import default_folder
from accnn.ir.arch import Architecture
from accnn.ir.mapping import LoopNest
from accnn.ir.mesh import Mesh
from accnn.passes.analysis.cost import evaluate
from accnn.passes.analysis.mesh_load import mesh_load, network_cycles
from accnn.passes.mapping.mapper import MappingResult
from accnn.passes.mapping.problem import MappingProblem, Objective
from accnn.passes.mapping.search.even.draws import draw_uniform
from accnn.passes.mapping.search.even.space import even_space
from accnn.runtime_sim.noc.kernel import NO_MEMORY
from accnn.runtime_sim.noc.nest_traffic import MOST, NetworkRun, run_nest
from accnn.runtime_sim.noc.transfers import Transfers
from benchmarks.mappers import mapper_of, show_progress

HERE = Path(__file__).parent
LAYERS = HERE / "data" / "cosa_layers.csv"
RESULTS = HERE / "results"
MAPPERS = (
    "cosa:network",
    "salsa:network",
    "cosa",
    "cosa-paper",
    "salsa",
    "random",
    "timeloop-hybrid",
)
NETWORKS = ("alexnet", "resnet50", "resnext50_32x4d", "deepbench")
BEST_OF = 5


@dataclass(frozen=True, slots=True)
class Timed:
    """One layer with one mapper's nest.

    Attributes:
        layer: Its name.
        mapper: Whose nest.
        cycles: In the cost model [cycle].
        run: In the simulation.
    """

    layer: str
    mapper: str
    cycles: float
    run: NetworkRun

    @property
    def network(self) -> str:
        """The network that the layer is of."""
        return network_of(self.layer)


def network_of(layer: str) -> str:
    """Return the network that a layer is of, by its name."""
    return layer.partition("/")[0]


def main(asked: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; return the exit code."""
    arguments = _parser().parse_args(asked)
    layers = _layers(arguments)
    arguments.output.mkdir(exist_ok=True)
    for name in arguments.arch.split(","):
        text = ""
        for lines in _sections(name, layers, load_architecture(name), arguments):
            part = "\n".join(lines) + "\n"
            sys.stdout.write(part)
            sys.stdout.flush()
            text += part
        (arguments.output / f"noc-{name}.md").write_text(text)
    return 0


def _layers(arguments: argparse.Namespace) -> list[Layer]:
    """Return the distinct layers of each network, as many as are asked for."""
    layers = distinct(read_layers(LAYERS))
    found: list[Layer] = []
    for network in arguments.network.split(","):
        own = [layer for layer in layers if network_of(layer.name) == network]
        found += own[: arguments.layers]
    return found


def _sections(
    name: str, layers: Sequence[Layer], arch: Architecture, arguments: argparse.Namespace
) -> Iterator[list[str]]:
    """Yield what is measured of one machine, table by table."""
    begun = time.process_time()
    timed = measure(layers, arch, arguments)
    yield [f"# {name}", "", *_layer_table(timed), ""]
    yield speedups(timed)
    yield _correlations(layers, arch, arguments)
    yield _speed(arch, arguments.transfers)
    yield [f"{time.process_time() - begun:,.0f} s of CPU time, mappers included."]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", default="simba,simba-8x8")
    parser.add_argument("--network", default=",".join(NETWORKS))
    parser.add_argument("--layers", type=int, help="of each network at most; all")
    parser.add_argument("--mapper", default=",".join(MAPPERS))
    parser.add_argument("--paper-nodes", type=int, default=50, help="nodes of cosa-paper")
    parser.add_argument("--most", type=int, default=MOST, help="packets simulated of a nest, about")
    parser.add_argument("--draws", type=int, default=200, help="random mappings of a layer")
    parser.add_argument("--correlated", default="resnet50", help="networks whose layers are drawn")
    parser.add_argument("--drawn-most", type=int, default=40_000, help="packets of a drawn one")
    parser.add_argument("--transfers", type=int, default=200_000, help="timed, of each kind")
    parser.add_argument("--no-cache", action="store_true")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the tables")
    return parser


def distinct(layers: Iterable[Layer]) -> list[Layer]:
    """Return the first layer of each workload and network."""
    found: dict[tuple[str, str], Layer] = {}
    for layer in layers:
        found.setdefault((network_of(layer.name), str(layer.workload)), layer)
    return list(found.values())


def drawn(problem: MappingProblem, count: int) -> list[LoopNest]:
    """Return valid mappings, drawn uniformly."""
    space, rng = even_space(problem), np.random.default_rng(problem.seed)
    found: list[LoopNest] = []
    while len(found) < count:
        batch = draw_uniform(space, 4000, rng)
        fits = np.flatnonzero(batch.cost().fits)[: count - len(found)]
        found += [batch.nest(int(row)) for row in fits]
    return found


def measure(
    layers: Sequence[Layer], arch: Architecture, arguments: argparse.Namespace
) -> list[Timed]:
    """Map and simulate every layer."""
    names = arguments.mapper.split(",")
    others = [name for name in names if name != "random"]
    plain = replace(arch, network=None, dram=None)  # mappers do not look at these otherwise
    problems = [MappingProblem(workload=layer.workload, arch=plain) for layer in layers]
    jobs = [_job(problem, name, arch, arguments) for problem in problems for name in others]
    cache = None if arguments.no_cache else MappingCache(default_folder())
    answers = iter(solve_all(jobs, cache, processes=1, progress=show_progress))
    found: list[Timed] = []
    for layer, problem in zip(layers, problems, strict=True):
        for name in names:
            if name == "random":
                nests = drawn(problem, BEST_OF)
            else:
                answer = next(answers)
                nests = [answer.nest] if isinstance(answer, MappingResult) else []
            runs = [(run_nest(nest, arch, most=arguments.most), nest) for nest in nests]
            if runs:
                run, nest = min(runs, key=lambda pair: pair[0].cycles)
                found.append(Timed(layer.name, name, evaluate(nest, arch).cycles, run))
    return found


def _job(
    problem: MappingProblem, name: str, arch: Architecture, arguments: argparse.Namespace
) -> MapJob:
    name, _, network = name.partition(":")
    if network:
        problem = replace(problem, arch=arch, objective=Objective.NETWORK)
    return MapJob(problem, mapper_of(name, arguments.paper_nodes))


def _by_layer(timed: Sequence[Timed]) -> Mapping[str, Mapping[str, Timed]]:
    found: dict[str, dict[str, Timed]] = {}
    for item in timed:
        found.setdefault(item.layer, {})[item.mapper] = item
    return found


def _layer_table(timed: Sequence[Timed]) -> list[str]:
    """Return simulated latency in thousands of cycles, and how many times the cost model's."""
    mappers = list(dict.fromkeys(item.mapper for item in timed))
    lines = [
        "## Latency over the mesh [1000 cycles], times the cost model's, share simulated",
        "",
        f"| layer | {' | '.join(mappers)} |",
        "|---|" + "---:|" * len(mappers),
    ]
    for layer, own in _by_layer(timed).items():
        cells = [_cell(own[name]) if name in own else "-" for name in mappers]
        lines.append(f"| {layer} | {' | '.join(cells)} |")
    return lines


def _cell(item: Timed) -> str:
    run = item.run
    part = "" if run.simulated == run.phases else f", {run.simulated / run.phases:.0%}"
    return f"{run.cycles / 1000:,.0f} ({run.cycles / item.cycles:.2f}{part})"


def speedups(timed: Sequence[Timed]) -> list[str]:
    """Return geometric means of speed-ups over random and over timeloop-hybrid (Fig. 10)."""
    lines: list[str] = []
    networks = [name for name in NETWORKS if any(item.network == name for item in timed)]
    mappers = list(dict.fromkeys(item.mapper for item in timed))
    for base in ("random", "timeloop-hybrid"):
        if base not in mappers:
            continue
        lines += [
            f"## Speed-up over {base}, geometric means over distinct layers",
            "",
            f"| mapper | {' | '.join(networks)} | all | all, cost model |",
            "|---|" + "---:|" * (len(networks) + 2),
        ]
        for mapper in mappers:
            pairs = [
                (own[base], own[mapper])
                for own in _by_layer(timed).values()
                if base in own and mapper in own
            ]
            means = [
                _geomean(old.run.cycles / new.run.cycles for old, new in pairs if new.network == it)
                for it in networks
            ]
            means.append(_geomean(old.run.cycles / new.run.cycles for old, new in pairs))
            means.append(_geomean(old.cycles / new.cycles for old, new in pairs))
            lines.append(f"| {mapper} | {' | '.join(f'{mean:.2f}' for mean in means)} |")
        lines.append("")
    return lines


def _geomean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan


def _correlations(
    layers: Sequence[Layer], arch: Architecture, arguments: argparse.Namespace
) -> list[str]:
    """Return how well closed forms order random mappings of each layer."""
    if not arguments.draws:
        return []
    lines = [
        f"## Rank correlation with the simulation, {arguments.draws} random mappings of a layer",
        "",
        "| layer | cost model | closed form | simulated over closed form: median | 90 % | most "
        "| at the bound | simulated |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    ranks: list[tuple[float, float]] = []
    for layer in layers:
        if network_of(layer.name) not in arguments.correlated.split(","):
            continue
        problem = MappingProblem(workload=layer.workload, arch=arch)
        model, closed, simulated, part, bound = _compared(
            drawn(problem, arguments.draws), arch, arguments.drawn_most
        )
        ranks.append((rank_correlation(model, simulated), rank_correlation(closed, simulated)))
        over = np.percentile(simulated / closed, [50, 90, 100])
        lines.append(
            f"| {layer.name} | {ranks[-1][0]:.3f} | {ranks[-1][1]:.3f} "
            f"| {' | '.join(f'{value:.2f}' for value in over)} | {bound:.0%} | {part:.0%} |"
        )
    if ranks:
        least, mean = np.min(ranks, axis=0), np.mean(ranks, axis=0)
        lines += [
            f"| least | {least[0]:.3f} | {least[1]:.3f} | | | | | |",
            f"| mean | {mean[0]:.3f} | {mean[1]:.3f} | | | | | |",
        ]
    return [*lines, ""]


Floats = np.ndarray


def _compared(
    nests: Sequence[LoopNest], arch: Architecture, most: int
) -> tuple[Floats, Floats, Floats, float, float]:
    """Return latencies by cost model, closed form and simulation; shares simulated, at a bound."""
    reports = [evaluate(nest, arch) for nest in nests]
    pairs = zip(nests, reports, strict=True)
    closed = [network_cycles(report, mesh_load(nest, arch)) for nest, report in pairs]
    runs = [run_nest(nest, arch, most=most) for nest in nests]
    part = float(np.mean([run.simulated / run.phases for run in runs]))
    return (
        np.array([report.cycles for report in reports]),
        np.array(closed),
        np.array([run.cycles for run in runs]),
        part,
        float(np.mean([run.is_bound for run in runs])),
    )


def rank_correlation(left: Floats, right: Floats) -> float:
    """Return Spearman's coefficient; equal values have the mean of their ranks."""
    return float(np.corrcoef(_ranks(left), _ranks(right))[0, 1])


def _ranks(values: Floats) -> Floats:
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[group]


def _speed(arch: Architecture, count: int) -> list[str]:
    """Return transactions per second of random traffic."""
    assert arch.network is not None
    mesh = Mesh(arch.network)
    children = arch.network.columns * arch.network.rows
    rng = np.random.default_rng(0)
    kinds = {
        "from ports to elements": rng.choice(mesh.scratchpad_nodes, count),
        "between elements": rng.integers(0, children, count),
    }
    lines = [
        "## Transactions of 8 flits per second of CPU time",
        "",
        "| traffic | a second |",
        "|---|---:|",
    ]
    for kind, sources in kinds.items():
        ends = (sources + rng.integers(1, children, count)) % children
        lines.append(f"| {kind} | {_rate(mesh, sources, ends):,.0f} |")
    return [*lines, ""]


def _rate(mesh: Mesh, sources: Floats, ends: Floats) -> float:
    rates: list[float] = []
    for _ in range(2):  # the first one may compile
        transfers = Transfers(mesh)
        pairs = zip(sources.tolist(), ends.tolist(), strict=True)
        trees = np.array([transfers.tree(source, (end,)) for source, end in pairs])
        transfers.add(trees, np.full(len(trees), 8), NO_MEMORY)
        begun = time.process_time()
        packets = transfers.run(None).packets
        rates.append(packets / (time.process_time() - begun))
    return rates[-1]


if __name__ == "__main__":
    sys.exit(main())

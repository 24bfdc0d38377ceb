"""CoSA's evaluation: four networks, three machines, every mapper, against proven lower bounds.

    python -m benchmarks.cosa
    python -m benchmarks.cosa --arch simba --network resnet50 --mapper cosa,random
    python -m benchmarks.cosa --long 1000000        # a shorter random search
    python -m benchmarks.cosa --paper-nodes 2000    # more time for the published program
    python -m benchmarks.cosa --ports dram          # only off-chip memory bounds, as in Timeloop

Per layer and as geometric means: latency, energy and energy-delay product over their lower bounds,
each mapper minimising what is shown; solve seconds, status and gap; Fig. 8, the parts of the
published objective, for its layer; samples and evaluations (Table VI). Tables are printed and
written to ``benchmarks/results``, as Markdown and, one row per layer, mapper and objective, as
CSV. Where :mod:`.cosa_random` has searched for a minute, its latency is compared with cosa's, too.

Limits are evaluations and branch-and-bound nodes, not seconds, so results are the same on every
machine. A full run takes some hours; answers are cached, so an interrupted one goes on.
"""

import argparse
import csv
import math
import re
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from accnn.backend.load import load_architecture
from accnn.compiler.layers.read import Layer, read_layers
from accnn.compiler.mapping.solve import Answer, solve_all
from accnn.compiler.stores.mappings import MapJob, MappingCache
from accnn.compiler.stores.store import default_folder
from accnn.ir.arch import Architecture
from accnn.ir.workload import Workload
from accnn.passes.analysis.cost import CostReport, evaluate
from accnn.passes.mapping.certificate.paper import breakdown
from accnn.passes.mapping.mapper import MappingResult
from accnn.passes.mapping.problem import MappingProblem, Objective
from accnn.passes.mapping.registry import MAPPERS
from accnn.passes.mapping.search.even.space import even_space
from benchmarks.cosa_random import known
from benchmarks.mappers import mapper_of, show_progress

HERE = Path(__file__).parent
LAYERS = HERE / "data" / "cosa_layers.csv"
RESULTS = HERE / "results"
ARCHS = ("simba", "simba-8x8", "simba-large-buffers")
YARDSTICKS = ("cosa", "cosa-paper", "random", "random-pruned", "timeloop-hybrid", "salsa")
FIG8 = Workload(R=3, S=3, P=7, Q=7, C=512, K=512)


@dataclass(frozen=True, slots=True)
class Entry:
    """One layer, mapped by one mapper for one objective."""

    layer: Layer
    mapper: str
    objective: Objective
    result: MappingResult
    cost: CostReport

    @property
    def bound(self) -> float:
        """Lower bound of the objective that no mapping can beat."""
        cycles, energy = self.cost.cycles_lower_bound, self.cost.energy_lower_bound_pj
        return {
            Objective.LATENCY: cycles,
            Objective.ENERGY: energy,
            Objective.EDP: cycles * energy,
        }[self.objective]

    @property
    def ratio(self) -> float:
        """How far above the lower bound the mapping is."""
        return self.objective.of(self.cost) / self.bound


def main() -> int:
    """Run the benchmark."""
    arguments = _arguments()
    layers = [
        item
        for item in read_layers(LAYERS)
        if arguments.network is None or item.name.split("/")[0] in arguments.network.split(",")
    ]
    cache = None if arguments.no_cache else MappingCache(default_folder())
    RESULTS.mkdir(exist_ok=True)
    for name in arguments.arch.split(","):
        arch = load_architecture(f"{name}.toml")
        if arguments.ports == "dram":
            arch = only_off_chip(arch)
        lines = [f"# {name}", "", *_told(arguments)]
        everything: list[Entry] = []
        for objective in (Objective(item) for item in arguments.objective.split(",")):
            entries = _measure(layers, arch, objective, arguments, cache)
            everything += entries
            lines += [*_layer_table(entries, objective), *_summary(entries, objective), ""]
            if (name, objective) == ("simba", Objective.LATENCY):
                lines += [*_after_a_minute(entries), ""]
        lines += _figure_8(arch, arguments)
        text = "\n".join(lines) + "\n"
        sys.stdout.write(text)
        (RESULTS / f"cosa-{name}.md").write_text(text)
        _write_csv(RESULTS / f"cosa-{name}.csv", everything)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    known = [name for name in YARDSTICKS if name in MAPPERS]
    parser.add_argument("--arch", default=",".join(ARCHS))
    parser.add_argument("--network", help="alexnet, resnet50, resnext50_32x4d, deepbench")
    parser.add_argument("--mapper", default=",".join(known))
    parser.add_argument("--objective", default=",".join(Objective))
    parser.add_argument(
        "--long", type=int, default=10_000_000, help="evaluations of random-pruned, about 60 s"
    )
    parser.add_argument(
        "--paper-nodes", type=int, default=50, help="branch-and-bound nodes of cosa-paper"
    )
    parser.add_argument(
        "--ports", choices=("all", "dram"), default="all", help="which bandwidths bound latency"
    )
    parser.add_argument("--no-cache", action="store_true")
    parser.add_argument("--processes", type=int, default=1)
    return parser.parse_args()


def only_off_chip(arch: Architecture) -> Architecture:
    """Return a machine whose ports and links on chip let everything pass at once."""
    off_chip = arch.off_chip.name
    return replace(
        arch,
        levels=tuple(
            level
            if level.name == off_chip
            else replace(level, read_bandwidth=None, write_bandwidth=None, shared_port=False)
            for level in arch.levels
        ),
        fanouts=tuple(replace(fanout, link_bandwidth=None) for fanout in arch.fanouts),
    )


def _told(arguments: argparse.Namespace) -> list[str]:
    ports = "" if arguments.ports == "all" else " Only off-chip memory bounds latency."
    return [
        f"Each mapper minimises what is shown. random-pruned: {arguments.long:,} evaluations a"
        f" layer; cosa-paper: {arguments.paper_nodes} nodes a program, its status is in the CSV."
        + ports,
        "",
    ]


def _measure(
    layers: Sequence[Layer],
    arch: Architecture,
    objective: Objective,
    arguments: argparse.Namespace,
    cache: MappingCache | None,
) -> list[Entry]:
    names = arguments.mapper.split(",")
    jobs: list[MapJob] = []
    for layer in layers:
        for name in names:
            problem = MappingProblem(workload=layer.workload, arch=arch)
            if name != "cosa-paper":  # the published program knows no objective but its own
                budget = arguments.long if "pruned" in name else None
                problem = replace(problem, objective=objective, evaluations=budget)
            jobs.append(MapJob(problem, mapper_of(name, arguments.paper_nodes)))
    answers = solve_all(jobs, cache, processes=arguments.processes, progress=show_progress)
    return [
        Entry(layers[at // len(names)], job.mapper.name, objective, answer, _cost(answer, arch))
        for at, (job, answer) in enumerate(zip(jobs, answers, strict=True))
        if isinstance(answer, MappingResult)
    ]


def _cost(answer: Answer, arch: Architecture) -> CostReport:
    assert isinstance(answer, MappingResult)
    return evaluate(answer.nest, arch)


def _layer_table(entries: Sequence[Entry], objective: Objective) -> list[str]:
    mappers = list(dict.fromkeys(entry.mapper for entry in entries))
    heading = " | ".join(f"{name} | s" for name in mappers)
    lines = [
        f"## {objective}: times the lower bound, and CPU seconds",
        "",
        f"| layer | {heading} | cosa: bound | status | gap |",
        "|---|" + "---:|---:|" * len(mappers) + "---:|---|---:|",
    ]
    for layer in dict.fromkeys(entry.layer for entry in entries):
        own = {entry.mapper: entry for entry in entries if entry.layer == layer}
        cells = [
            f"{own[name].ratio:.3f} | {own[name].result.cpu_seconds:.2f}"
            if name in own
            else "- | -"
            for name in mappers
        ]
        certificate = "| - | - | - |"
        if "cosa" in own:
            cosa = own["cosa"]
            gap = "-" if cosa.result.gap is None else f"{100 * cosa.result.gap:.2f} %"
            bound = (cosa.result.bound or 0.0) / cosa.bound
            certificate = f"| {bound:.3f} | {cosa.result.status} | {gap} |"
        lines.append(f"| {layer.name} {layer.workload} | {' | '.join(cells)} {certificate}")
    return lines


def _summary(entries: Sequence[Entry], objective: Objective) -> list[str]:
    networks = list(dict.fromkeys(entry.layer.name.split("/")[0] for entry in entries))
    mappers = list(dict.fromkeys(entry.mapper for entry in entries))
    lines = [
        "",
        f"### {objective}, geometric means over distinct layers",
        "",
        f"| mapper | {' | '.join(networks)} | all | worst | over random | over timeloop-hybrid "
        "| median s | most s | mean s | mean samples | mean evaluations |",
        "|---|" + "---:|" * (len(networks) + 9),
    ]
    for name in mappers:
        own = [entry for entry in entries if entry.mapper == name]
        means = [
            geomean(item.ratio for item in own if item.layer.name.startswith(f"{network}/"))
            for network in networks
        ]
        seconds = [entry.result.cpu_seconds for entry in own]
        over = [_over(entries, own, yardstick) for yardstick in ("random", "timeloop-hybrid")]
        cells = [*means, geomean(e.ratio for e in own), max(e.ratio for e in own), *over]
        shown = " | ".join(f"{cell:.3f}" for cell in cells)
        lines.append(
            f"| {name} | {shown} | {statistics.median(seconds):.2f} | {max(seconds):.2f} "
            f"| {statistics.fmean(seconds):.2f} | {' | '.join(_counted(own))} |"
        )
    return [*lines, "", *_weighted(entries), *_claims(entries, objective)]


def _over(entries: Sequence[Entry], own: Sequence[Entry], yardstick: str) -> float:
    """Return how many times better a mapper is than another one; not a number without it."""
    ratios = {entry.layer.name: entry.ratio for entry in entries if entry.mapper == yardstick}
    return geomean(ratios[e.layer.name] / e.ratio for e in own if e.layer.name in ratios)


def _counted(own: Sequence[Entry]) -> tuple[str, str]:
    """Return mean samples and mean evaluations of a mapper whose notes have them (Table VI)."""
    notes = [re.fullmatch(r"(\d+) evaluations of (\d+) samples", e.result.note) for e in own]
    found = [(int(note[1]), int(note[2])) for note in notes if note]
    if len(found) < len(own):
        return "-", "-"
    samples, evaluations = (statistics.fmean(pair[at] for pair in found) for at in (1, 0))
    return f"{samples:,.0f}", f"{evaluations:,.0f}"


def _counts() -> dict[str, int]:
    """Return how often a network has each layer, where that is known."""
    with LAYERS.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["count_in_layers_yaml"].isdecimal()]
    return {f"{row['dnn']}/{row['layer']}": int(row["count_in_layers_yaml"]) for row in rows}


def _weighted(entries: Sequence[Entry]) -> list[str]:
    """Return cosa's geometric mean over ResNet-50 with each layer as often as it occurs."""
    counts = _counts()
    own = [e for e in entries if e.mapper == "cosa" and e.layer.name.startswith("resnet50/")]
    if not own or not all(e.layer.name in counts for e in own):
        return []
    mean = geomean(e.ratio for e in own for _ in range(counts[e.layer.name]))
    times = sum(counts[e.layer.name] for e in own)
    return [f"- cosa on ResNet-50, each layer as often as it occurs ({times}): {mean:.4f}"]


def _after_a_minute(entries: Sequence[Entry]) -> list[str]:
    """Return how cosa compares with the random search that had a minute a layer."""
    found = known()
    pairs = {
        str(e.layer.workload): found[str(e.layer.workload)] / e.cost.cycles
        for e in entries
        if e.mapper == "cosa" and str(e.layer.workload) in found
    }
    if not pairs:
        return []
    beaten = [name for name, ratio in pairs.items() if ratio < 1.0 - 1e-9]
    return [
        f"Random search of a minute, {len(pairs)} distinct layers so far: "
        f"{geomean(pairs.values()):.3f} times cosa's latency; better than cosa on "
        f"{', '.join(beaten) or 'none'}."
    ]


def _write_csv(path: Path, entries: Sequence[Entry]) -> None:
    """Write one row per objective, layer and mapper; ratios are to the lower bounds."""
    heading = ("objective", "layer", "mapper", "ratio", "cycles", "energy_pj", "status", "gap")
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*heading, "bound_ratio", "cpu_seconds", "note"))
        for e in entries:
            gap = "" if e.result.gap is None else f"{e.result.gap:.5f}"
            bound = f"{e.result.bound / e.bound:.5f}" if e.result.bound else ""
            measured = (f"{e.ratio:.5f}", f"{e.cost.cycles:.1f}", f"{e.cost.energy_pj:.1f}")
            told = (e.result.status, gap, bound, f"{e.result.cpu_seconds:.2f}", e.result.note)
            writer.writerow((e.objective, e.layer.name, e.mapper, *measured, *told))


def _claims(entries: Sequence[Entry], objective: Objective) -> list[str]:
    """Return what cosa is held to, with the layers that miss it."""
    by_layer: dict[str, dict[str, Entry]] = {}
    for entry in entries:
        by_layer.setdefault(entry.layer.name, {})[entry.mapper] = entry
    cosa = [own["cosa"] for own in by_layer.values() if "cosa" in own]
    if not cosa:
        return []
    wide = [e.layer.name for e in cosa if e.result.gap is None or e.result.gap > 0.015]
    worse = [
        f"{name} ({own['cosa'].ratio / own['random-pruned'].ratio - 1:.2%})"
        for name, own in by_layer.items()
        if "random-pruned" in own
        and "cosa" in own
        and own["cosa"].ratio > own["random-pruned"].ratio * (1 + 1e-9)
    ]
    slow = [e.layer.name for e in cosa if e.result.cpu_seconds > 5.0]
    compared = sum("random-pruned" in own and "cosa" in own for own in by_layer.values())
    return [
        f"- {objective}, cosa more than 1.5 % above its proven bound: {', '.join(wide) or 'none'}",
        f"- worse than the long random search of {compared} layers: {', '.join(worse) or 'none'}",
        f"- above 5 s of CPU: {', '.join(slow) or 'none'}",
    ]


def geomean(values: Iterable[float]) -> float:
    """Return the geometric mean; not a number where there is none."""
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan


def _figure_8(arch: Architecture, arguments: argparse.Namespace) -> list[str]:
    """Return the parts of eq. (12) for the layer of Fig. 8."""
    space = even_space(MappingProblem(workload=FIG8, arch=arch))
    lines = [
        "## Parts of the published objective (Fig. 8), natural logarithms",
        "",
        f"Layer {FIG8}; utilisation is to be large, compute and traffic small.",
        "",
        "| mapper | utilisation | compute | traffic | eq. (12) | latency [cycle] |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name in arguments.mapper.split(","):
        budget = arguments.long if "pruned" in name else None
        result = mapper_of(name, arguments.paper_nodes).map(
            MappingProblem(workload=FIG8, arch=arch, evaluations=budget, even=True)
        )
        parts = breakdown(result.nest, space)
        whole = parts.compute + parts.traffic - parts.utilization
        cycles = evaluate(result.nest, arch).cycles
        lines.append(
            f"| {name} | {parts.utilization:.2f} | {parts.compute:.2f} | {parts.traffic:.2f} "
            f"| {whole:.2f} | {cycles:,.0f} |"
        )
    return lines


if __name__ == "__main__":
    sys.exit(main())

"""Out-of-order tile schedules against the best static order: Figures 8 to 12 of the Flexer paper.

    python -m benchmarks.flexer
    python -m benchmarks.flexer --network vgg16 --arch flexer-arch5 --jobs 2
    python -m benchmarks.flexer --figures 9b 10 12

Layers are appended to ``benchmarks/results/flexer.csv`` network by network; pairs of network and
machine that stand there are not run again, so a run that was stopped goes on. The tables are
printed, and written to ``flexer.md`` beside it. The exit code is 1 if a layer is below 1.0.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023, section 5.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture
from accnn.passes.scheduling.flexer.candidate import Candidate, SearchOutcome, schedule_of
from accnn.passes.scheduling.flexer.latency import TileTimer
from accnn.passes.scheduling.flexer.layer import layer_site, schedule_layer
from accnn.passes.scheduling.flexer.options import FlexerOptions, Metric, Priority, SpaceRule
from benchmarks.rows import append_rows, read_rows

from .conv_layers import TABLES, Row, distinct
from .cosa import geomean
from .flexer_baselines import best_in_one_loop
from .flexer_reuse import movements, sharing

RESULTS = Path(__file__).with_name("results")
ARCHS = tuple(f"flexer-arch{number}" for number in range(1, 9))
FIGURES = ("8", "9b", "9c", "10", "12", "12all", "8trade")
_POLICIES = (
    ("default", Priority.DEFAULT, SpaceRule.DEFAULT),
    ("priority 1: min transfer", Priority.MIN_TRANSFER, SpaceRule.DEFAULT),
    ("priority 2: min spill", Priority.MIN_SPILL, SpaceRule.DEFAULT),
    ("memory 1: first fit", Priority.DEFAULT, SpaceRule.FIRST_FIT),
    ("memory 2: small spill", Priority.DEFAULT, SpaceRule.SMALL_SPILL),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One distinct layer of a network on one machine.

    Attributes:
        network: Name of the network.
        arch: Name of the machine.
        layer: Name of the layer.
        count: How often it occurs.
        static_cycles: Makespan of the best static order [cycle].
        static_bytes: Its transfers [byte].
        cycles: Makespan of the chosen schedule [cycle].
        bytes: Its transfers [byte].
        winner: Who made the chosen schedule.
        cycles_lower_bound: No schedule is faster [cycle].
        bytes_lower_bound: No schedule moves less [byte].
        tilings: Viable tilings.
        cpu_seconds: Of the search [s].
    """

    network: str
    arch: str
    layer: str
    count: int
    static_cycles: int
    static_bytes: int
    cycles: int
    bytes: int
    winner: str
    cycles_lower_bound: int
    bytes_lower_bound: int
    tilings: int
    cpu_seconds: float

    @property
    def is_worse(self) -> bool:
        """Whether the chosen schedule is worse than the best static one in anything."""
        return self.cycles > self.static_cycles or self.bytes > self.static_bytes


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; return the exit code."""
    chosen = _parser().parse_args(arguments)
    path = chosen.output / "flexer.csv"
    lines = read_rows(path, Line)
    done = {(line.network, line.arch) for line in lines}
    pairs = [(network, arch) for arch in chosen.arch for network in chosen.network]
    pairs = pairs if "8" in chosen.figures else []
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for found in pool.map(measure, [pair for pair in pairs if pair not in done]):
            append_rows(path, Line, found)
            lines += found
    order = {pair: rank for rank, pair in enumerate(product(TABLES, ARCHS))}
    lines.sort(key=lambda line: order.get((line.network, line.arch), len(order)))
    figures = {
        "8": lambda: fig8(lines) + fig9(lines),
        "9b": fig9b,
        "9c": lambda: fig9c(chosen.metric_layers),
        "10": fig10_and_11,
        "12": lambda: fig12(chosen.policy_layers),
        "12all": lambda: fig12_everywhere(chosen.policy_layers, chosen.network, chosen.arch),
        "8trade": lambda: fig8_with_trade(chosen.network, chosen.arch),
    }
    text = "".join(figure() for name, figure in figures.items() if name in chosen.figures)
    chosen.output.mkdir(parents=True, exist_ok=True)
    (chosen.output / "flexer.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return int(any(line.is_worse for line in lines))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.flexer", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--network", nargs="+", choices=sorted(TABLES), default=list(TABLES))
    parser.add_argument("--arch", nargs="+", default=list(ARCHS))
    parser.add_argument("--jobs", type=int, default=1, help="processes [1]")
    parser.add_argument(
        "--figures",
        nargs="+",
        choices=FIGURES,
        default=FIGURES[:-2],
        help="8: and 9a; 10: and 11; 12all: 12 on all networks and machines, some hours; "
        "8trade: 8 with and without the paper's rule, convolutions apart",
    )
    parser.add_argument("--policy-layers", type=int, default=6, help="layers of figure 12 [6]")
    parser.add_argument("--metric-layers", type=int, default=12, help="layers of figure 9c [12]")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of results")
    return parser


def measure(pair: tuple[str, str]) -> list[Line]:
    """Return the distinct layers of one network on one machine."""
    network, name = pair
    arch = load_architecture(name)
    timer = TileTimer(arch)
    return [
        _line(network, name, row, schedule_layer(row.layer, arch, FlexerOptions(), timer))
        for row in distinct(TABLES[network]())
    ]


def _line(network: str, arch: str, row: Row, found: SearchOutcome) -> Line:
    return Line(
        network=network,
        arch=arch,
        layer=row.layer.name,
        count=row.count,
        static_cycles=found.static.cycles,
        static_bytes=found.static.bytes,
        cycles=found.best.cycles,
        bytes=found.best.bytes,
        winner=found.best.scheduler,
        cycles_lower_bound=found.bound.cycles,
        bytes_lower_bound=found.bound.bytes,
        tilings=found.effort.tilings,
        cpu_seconds=found.effort.cpu_seconds,
    )


def fig8(lines: Sequence[Line]) -> str:
    """Return networks end to end: layer times and transfers added up."""
    rows: list[tuple[str, ...]] = []
    for network, arch in dict.fromkeys((line.network, line.arch) for line in lines):
        own = [line for line in lines if (line.network, line.arch) == (network, arch)]
        best = max(own, key=lambda line: line.static_cycles / line.cycles)
        rows.append(
            (
                network,
                arch,
                f"{_ratio(own, 'static_cycles', 'cycles'):.3f}",
                f"{_ratio(own, 'static_bytes', 'bytes'):.3f}",
                f"{best.static_cycles / best.cycles:.2f} ({best.layer})",
                f"{_ratio(own, 'cycles', 'cycles_lower_bound'):.2f}",
                f"{_ratio(own, 'bytes', 'bytes_lower_bound'):.2f}",
                f"{sum(line.cpu_seconds for line in own):.0f}",
            )
        )
    head = ("network", "machine", "speed-up", "transfers saved", "best layer", "cycles / bound")
    return _table("Figure 8: whole networks", (*head, "bytes / bound", "CPU [s]"), rows)


def _ratio(lines: Iterable[Line], above: str, below: str) -> float:
    pairs = [
        (line.count * getattr(line, above), line.count * getattr(line, below)) for line in lines
    ]
    return sum(pair[0] for pair in pairs) / sum(pair[1] for pair in pairs)


def fig9(lines: Iterable[Line]) -> str:
    """Return the layers of VGG-16 on arch5."""
    rows = [
        (
            line.layer,
            str(line.static_cycles),
            str(line.cycles),
            f"{line.static_cycles / line.cycles:.3f}",
            f"{line.static_bytes / line.bytes:.3f}",
            line.winner,
            f"{line.cycles / line.cycles_lower_bound:.2f}",
        )
        for line in lines
        if (line.network, line.arch) == ("vgg16", "flexer-arch5")
    ]
    head = ("layer", "static cycles", "cycles", "speed-up", "transfers saved", "by", "gap")
    return _table("Figure 9a: layers of VGG-16 on arch5", head, rows) if rows else ""


def _find(network: str, layer: str) -> Row:
    return next(row for row in TABLES[network]() if row.layer.name == layer)


def fig9b() -> str:
    """Return two layers with transfers as the metric."""
    arch, rows = load_architecture("flexer-arch5"), list[tuple[str, ...]]()
    for name in ("conv3_1", "conv3_2"):
        for metric in (Metric.PRODUCT, Metric.TRANSFERS):
            found = _schedule("vgg16", name, arch, FlexerOptions(metric=metric, trade=True))
            static, best = found.static, found.best
            saved = f"{static.bytes / best.bytes:.3f}"
            rows.append((name, metric.value, f"{static.cycles / best.cycles:.3f}", saved))
    return _table("Figure 9b: metrics", ("layer", "metric", "speed-up", "transfers saved"), rows)


def fig9c(layers: int) -> str:
    """Return VGG-16 on arch5 by metric and with trade, against static orders of two metrics.

    Beside the static orders that are best by the same metric stand those that are best by the
    product, which is what the paper's figure may mean.
    """
    arch, rows = load_architecture("flexer-arch5"), list[tuple[str, ...]]()
    timer, plain = TileTimer(arch), list[Candidate]()
    layers_of = distinct(TABLES["vgg16"]())[:layers]
    for metric, trade in product((Metric.PRODUCT, Metric.TRANSFERS), (False, True)):
        options = FlexerOptions(metric=metric, trade=trade)
        found = [schedule_layer(row.layer, arch, options, timer) for row in layers_of]
        plain = plain or [item.static for item in found]
        pairs = [
            (row, static, item.static, item.best)
            for row, static, item in zip(layers_of, plain, found, strict=True)
        ]
        convolutions = [pair for pair in pairs if pair[0].layer.height > 1]
        cells = [
            f"{_gain(own, at, measure):.3f}"
            for own in (pairs, convolutions)
            for at in (2, 1)
            for measure in ("cycles", "bytes")
        ]
        rows.append((metric.value, "yes" if trade else "no", *cells))
    names = ("speed-up", "transfers saved")
    head = ("metric", "trade", *names, *(f"{name}, by product" for name in names))
    alone = (f"convolutions: {name}" for name in head[2:])
    return _table("Figure 9c: VGG-16 on arch5 by metric", (*head, *alone), rows)


def _gain(
    pairs: Iterable[tuple[Row, Candidate, Candidate, Candidate]], at: int, measure: str
) -> float:
    """Return what a network's static orders take over what was chosen.

    Args:
        pairs: A layer, its static order by the product and by the metric, and what was chosen.
        at: Which static order.
        measure: ``cycles`` or ``bytes``.
    """
    above = below = 0
    for pair in pairs:
        above += pair[0].count * getattr(pair[at], measure)
        below += pair[0].count * getattr(pair[3], measure)
    return above / below


def fig8_with_trade(networks: Sequence[str], archs: Sequence[str]) -> str:
    """Return networks with and without the paper's rule of what is better, convolutions apart.

    With *trade* a layer may take more cycles or more bytes than the best static order, for less of
    both multiplied.
    """
    rows = list[tuple[str, ...]]()
    for network, name in product(networks, archs):
        arch = load_architecture(name)
        timer = TileTimer(arch)
        layers = distinct(TABLES[network]())
        for trade in (False, True):
            options = FlexerOptions(trade=trade)
            found = [schedule_layer(row.layer, arch, options, timer) for row in layers]
            pairs = [
                (row, item.static, item.static, item.best)
                for row, item in zip(layers, found, strict=True)
            ]
            convolutions = [pair for pair in pairs if pair[0].layer.height > 1]
            cells = [
                f"{_gain(own, 1, measure):.3f}"
                for own in (pairs, convolutions)
                for measure in ("cycles", "bytes")
            ]
            rows.append((network, name, "yes" if trade else "no", *cells))
    names = ("speed-up", "transfers saved")
    head = ("network", "machine", "trade", *names, *(f"convolutions: {item}" for item in names))
    return _table("Figure 8, with and without trade", head, rows)


def _schedule(
    network: str, layer: str, arch: Architecture, options: FlexerOptions
) -> SearchOutcome:
    return schedule_layer(_find(network, layer).layer, arch, options)


def fig10_and_11() -> str:
    """Return reloads by type and patterns of sharing on arch6, with an unlimited scratchpad too.

    *One loop* is the best static order whose innermost loop alone is unrolled, as in the paper.
    """
    arch = load_architecture("flexer-arch6")
    large = replace(arch.scratchpad_level, capacity=1 << 26)
    levels = tuple(large if item.name == arch.scratchpad else item for item in arch.levels)
    moved, shared = list[tuple[str, ...]](), list[tuple[str, ...]]()
    for network, layer in (("vgg16", "conv4_2"), ("resnet50", "conv3_1_1")):
        found = _schedule(network, layer, arch, FlexerOptions(keep_free=True))
        unlimited = _schedule(network, layer, replace(arch, levels=levels), FlexerOptions(steps=0))
        site = layer_site(_find(network, layer).layer, arch)
        for who, item in (
            ("on-chip", unlimited.static),
            ("flexer", found.free or found.best),
            ("static", found.static),
            ("one loop", best_in_one_loop(site, TileTimer(arch))),
        ):
            moved += _reloads(f"{network} {layer}", who, item, found)
            if who != "on-chip":
                text = ", ".join(f"{pattern}: {count}" for pattern, count in sharing(item).items())
                shared.append((f"{network} {layer}", who, text))
    head = ("layer", "schedule", "type", "bytes", "tiles by number of moves")
    figure = _table("Figure 10: transfers and reloads by type on arch6", head, moved)
    return figure + _table("Figure 11: sharing", ("layer", "schedule", "sets"), shared)


def _reloads(
    layer: str, who: str, item: Candidate, found: SearchOutcome
) -> Iterator[tuple[str, ...]]:
    for move in movements(schedule_of(item, found.bound)):
        times = ", ".join(f"{tiles} x {count}" for count, tiles in move.times)
        yield layer, who, move.role.value, str(move.bytes), times


def fig12(layers: int) -> str:
    """Return the metric of out-of-order schedules under each policy, relative to the default."""
    arch = load_architecture("flexer-arch5")
    chosen = distinct(TABLES["vgg16"]())[3 : 3 + layers]
    found = _by_policy(chosen, arch)
    rows = [(row.layer.name, *values) for row, values in zip(chosen, found, strict=True)]
    shown = [(name, *(f"{value:.3f}" for value in values)) for name, *values in rows]
    head = ("layer", *(name for name, _, _ in _POLICIES))
    return _table("Figure 12: policies on arch5 (lower is better)", head, shown)


def fig12_everywhere(layers: int, networks: Sequence[str], archs: Sequence[str]) -> str:
    """Return the same of networks on machines: geometric means over evenly picked layers."""
    rows, machines = list[tuple[str, ...]](), [load_architecture(name) for name in archs]
    for network, arch in product(networks, machines):
        every = distinct(TABLES[network]())
        found = _by_policy(every[:: max(1, len(every) // layers)][:layers], arch)
        means = [f"{geomean(values):.3f}" for values in zip(*found, strict=True)]
        best = [f"{min(values):.2f} .. {max(values):.2f}" for values in zip(*found, strict=True)]
        rows.append((network, arch.name, *means, *best[1:]))
    names = [name for name, _, _ in _POLICIES]
    head = ("network", "machine", *names, *(f"{name}, layers" for name in names[1:]))
    return _table("Figure 12: policies by network and machine (lower is better)", head, rows)


def _by_policy(rows: Sequence[Row], arch: Architecture) -> list[list[float]]:
    """Return, for each layer and policy, the metric of the list scheduler over the default's."""
    timer, found = TileTimer(arch), list[list[float]]()
    for row in rows:
        values: list[float] = []
        for _, priority, memory in _POLICIES:
            options = FlexerOptions(
                priority=priority, memory=memory, steps=6000, block_orders=0, keep_free=True
            )
            values.append(_free_value(schedule_layer(row.layer, arch, options, timer)))
        found.append([value / values[0] for value in values])
    return found


def _free_value(found: SearchOutcome) -> float:
    return found.best.value if found.free is None else found.free.value


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"### {title}", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    sys.exit(main())

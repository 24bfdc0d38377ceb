"""Latency and transfers of every tiling of a layer, in loop order and out of order.

    python -m benchmarks.flexer_cloud
    python -m benchmarks.flexer_cloud --layer vgg16/conv4_2 --tilings 40 --plot cloud.png

Nothing is pruned: each tiling gets its best static order, of all loop orders and rules of memory,
and its best schedule of the list scheduler (the paper's priority, as many tries as ``--tries``
times its operations allow). Figure 1 of the Flexer paper is such a cloud on two NPUs; which layers
it has, it does not print. ``--tilings`` takes evenly picked ones.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023, section 1.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib as mpl

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture
from accnn.passes.scheduling.flexer.candidate import Candidate
from accnn.passes.scheduling.flexer.latency import TileTimer
from accnn.passes.scheduling.flexer.layer import layer_site
from accnn.passes.scheduling.flexer.options import FlexerOptions, Priority
from accnn.passes.scheduling.flexer.search.list_orders import best_free
from accnn.passes.scheduling.flexer.search.static_orders import best_static
from accnn.passes.scheduling.flexer.search.trials import Trials
from accnn.passes.scheduling.flexer.search.viable import viable_tilings
from accnn.passes.scheduling.flexer.site import Site
from accnn.passes.scheduling.flexer.tilings import Tiling

from .conv_layers import TABLES
from .cosa import geomean

mpl.use("Agg")
from matplotlib import pyplot as plt

_LAYERS = ("resnet50/conv4_x_2", "vgg16/conv4_2")


@dataclass(frozen=True, slots=True)
class Point:
    """What one tiling takes; both by the kernel's estimate.

    Attributes:
        static: Its best schedule in loop order.
        free: Its best schedule out of order, of the list scheduler.
    """

    static: Candidate
    free: Candidate

    @property
    def gain(self) -> float:
        """How many times larger cycles times bytes are in loop order."""
        return self.static.value / self.free.value


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of the layers, and draw their clouds."""
    parser = argparse.ArgumentParser(prog="benchmarks.flexer_cloud", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--layer", nargs="+", default=_LAYERS, metavar="NETWORK/LAYER")
    parser.add_argument("--arch", default="flexer-arch1")
    parser.add_argument("--tilings", type=int, default=10**6, help="how many of each layer [all]")
    parser.add_argument("--tries", type=int, default=6, help="out of order, of each tiling [6]")
    parser.add_argument("--plot", type=Path, help="picture of the clouds")
    chosen = parser.parse_args(arguments)
    arch = load_architecture(chosen.arch)
    clouds = {name: cloud(name, arch, chosen.tilings, chosen.tries) for name in chosen.layer}
    sys.stdout.write(_text(clouds, chosen.arch))
    if chosen.plot is not None:
        _plot(clouds, chosen.plot)
    return 0


def cloud(name: str, arch: Architecture, tilings: int, tries: int) -> list[Point]:
    """Return the tilings of a layer, as ``network/layer``, those of least operations first."""
    network, _, layer = name.partition("/")
    row = next(row for row in TABLES[network]() if row.layer.name == layer)
    site, timer = layer_site(row.layer, arch), TileTimer(arch)
    options = FlexerOptions(priority=Priority.DEFAULT)
    viable = viable_tilings(site, max_ops=options.max_ops, ratio=options.ratio)
    ordered = sorted(viable, key=lambda tiling: tiling.op_count)
    picked = ordered[:: max(1, len(ordered) // tilings)][:tilings]
    found = [
        _point(site, timer, replace(options, steps=tries * tiling.op_count), tiling)
        for tiling in picked
    ]
    return [point for point in found if point is not None]


def _point(site: Site, timer: TileTimer, options: FlexerOptions, tiling: Tiling) -> Point | None:
    """Return what a tiling takes, ``None`` where it has no schedule of one of the kinds."""
    trials = Trials(site, options, timer)
    rows = [(0.0, 0, tiling)]
    static = best_static(trials, rows, None)
    free = best_free(trials, rows, math.inf)
    return None if static is None or free is None else Point(static, free)


def _text(clouds: dict[str, list[Point]], arch: str) -> str:
    head = (
        *("layer", "tilings", "spread, static", "spread, free", "best static", "best free"),
        *("free is better", "gain, mean", "gain, most", "gain of the best"),
    )
    lines = [
        f"### Figure 1: all tilings on {arch}",
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
    ]
    for name, points in clouds.items():
        statics = sorted((item.static for item in points), key=lambda one: one.value)
        frees = sorted((item.free for item in points), key=lambda one: one.value)
        better = sum(point.gain > 1.0 for point in points)
        cells = (
            *(name, str(len(points)), _spread(statics), _spread(frees)),
            *(_size(statics[0]), _size(frees[0]), f"{better} of {len(points)}"),
            f"{geomean(point.gain for point in points):.3f}",
            f"{max(point.gain for point in points):.3f}",
            f"{statics[0].value / frees[0].value:.3f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _spread(found: Sequence[Candidate]) -> str:
    """Return the slowest over the fastest, and the most over the fewest bytes."""
    cycles, bytes = [one.cycles for one in found], [one.bytes for one in found]
    return f"{max(cycles) / min(cycles):.1f}x, {max(bytes) / min(bytes):.1f}x"


def _size(found: Candidate) -> str:
    return f"{found.cycles / 1e3:.0f} kc {found.bytes / 1e6:.2f} MB"


def _plot(clouds: dict[str, list[Point]], path: Path) -> None:
    """Draw each layer's tilings: transfers over latency, both kinds of schedules."""
    figure, axes = plt.subplots(1, len(clouds), figsize=(5 * len(clouds), 4), squeeze=False)
    for axis, (name, points) in zip(axes[0], clouds.items(), strict=True):
        for kind, label, color in (
            ("static", "static", "#e0a000"),
            ("free", "out of order", "#2060c0"),
        ):
            found = [getattr(point, kind) for point in points]
            xs, ys = [one.cycles / 1e3 for one in found], [one.bytes / 1e6 for one in found]
            axis.scatter(xs, ys, s=10, label=label, color=color, alpha=0.7)
        axis.set(title=name, xlabel="latency [kcycle]", ylabel="transferred [MB]")
        axis.set(xscale="log", yscale="log")
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())

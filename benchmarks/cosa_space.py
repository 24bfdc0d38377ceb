"""How much schedules of one layer differ: Figures 1, 3 and 4 of CoSA.

    python -m benchmarks.cosa_space
    python -m benchmarks.cosa_space --valid 2000 --tilings 4000 --plot spread.png

On ``simba``, with all its ports and with off-chip bandwidth alone. Figure 1: valid schedules of a
3x3 layer, drawn uniformly or filling the array; the slowest over the fastest, and the share of
draws that fit. Figure 3: tilings and unrollings drawn at random (filling the array); of each, the
orders of loops at the global buffer, the worst over the best. Figure 4: the same with what is
unrolled over the 16 PEs out of factors of four of P, C and K, the rest being loops of the global
buffer. The paper does not print its tilings, so the median and the largest ratio stand beside that
of the tiling which is fastest at its best.

References:
    Q. Huang et al.: CoSA: Scheduling by Constrained Optimization for Spatial Accelerators.
    ISCA 2021, sections II-A and III-A.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture
from accnn.ir.workload import Dim, Workload
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.search.even.draws import draw_filling, draw_uniform
from accnn.passes.mapping.search.even.space import (
    EvenBatch,
    EvenSpace,
    even_space,
    joined,
    stationary_choices,
)

from .cosa import only_off_chip

mpl.use("Agg")
from matplotlib import pyplot as plt

FIG1 = Workload(R=3, S=3, P=14, Q=14, C=256, K=256)
FIG3 = Workload(R=3, S=3, P=8, Q=8, C=32, K=1024)
FIG4 = Workload(P=16, Q=16, C=256, K=1024)
UNROLLINGS = ((4, 4, 1), (4, 1, 4), (1, 4, 4), (4, 2, 2), (2, 4, 2), (2, 2, 4))
"""Of P, C and K over the PEs; four times each is unrolled or left to the global buffer."""
_PART = 4000

Floats = NDArray[np.float64]
Draw = Callable[[EvenSpace, int, np.random.Generator], EvenBatch]
DRAWS: Mapping[str, Draw] = {"uniform": draw_uniform, "filling the array": draw_filling}


@dataclass(frozen=True, slots=True)
class Spread:
    """How much alternatives of each of some tilings differ.

    Attributes:
        ratios: Worst latency over the best one, a tiling each.
        best: Best latency of each [cycle].
    """

    ratios: Floats
    best: Floats

    @property
    def cells(self) -> str:
        """Tilings, the ratio of the fastest one, the median and the largest ratio."""
        fastest = float(self.ratios[self.best.argmin()])
        values = (fastest, float(np.median(self.ratios)), float(self.ratios.max()))
        return f"{len(self.ratios)} | {' | '.join(f'{value:.2f}' for value in values)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what the three figures say."""
    parser = argparse.ArgumentParser(prog="benchmarks.cosa_space", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--valid", type=int, default=40_000, help="schedules of Figure 1")
    parser.add_argument("--tilings", type=int, default=40_000, help="draws of Figures 3 and 4")
    parser.add_argument("--plot", type=Path, help="picture of the three figures")
    chosen = parser.parse_args(arguments)
    simba = load_architecture("simba")
    machines = {"all": simba, "off chip": only_off_chip(simba)}
    lines = [
        "## Figure 1",
        "",
        "| draws | ports | schedules | drawn | fit % | slowest over fastest "
        "| median over fastest |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    shown: dict[str, Floats] = {}
    for name, draw in DRAWS.items():
        for ports, arch in machines.items():
            cycles, drawn = latencies(arch, chosen.valid, draw)
            shown[f"1: latency of {name} draws, {ports}"] = cycles / cycles.min()
            lines.append(
                f"| {name} | {ports} | {len(cycles)} | {drawn} | {100 * len(cycles) / drawn:.2f} "
                f"| {cycles.max() / cycles.min():.1f} | {np.median(cycles) / cycles.min():.1f} |"
            )
    lines += [
        "",
        "## Figures 3 and 4",
        "",
        "| figure | ports | tilings | fastest tiling | median | largest |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for ports, arch in machines.items():
        spreads = {"3, orders": orders, "4, unrollings": unrollings}
        for name, spread in spreads.items():
            found = spread(arch, chosen.tilings)
            shown[f"{name} of a tiling, {ports}"] = found.ratios
            lines.append(f"| {name} | {ports} | {found.cells} |")
    sys.stdout.write("\n".join(lines) + "\n")
    if chosen.plot is not None:
        _plot(shown, chosen.plot)
    return 0


def _plot(shown: Mapping[str, Floats], path: Path) -> None:
    """Draw a histogram of each ratio; latencies over the fastest, worst over best alternatives."""
    figure, axes = plt.subplots(2, (len(shown) + 1) // 2, figsize=(14, 6), squeeze=False)
    for axis, (title, ratios) in zip(axes.flat, shown.items(), strict=True):
        axis.hist(ratios, bins=np.geomspace(1.0, max(float(ratios.max()), 1.1), 40))
        axis.set(xscale="log", xlabel="times the best", ylabel="schedules, tilings")
        axis.set_title(title, fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _space(workload: Workload, arch: Architecture) -> EvenSpace:
    return even_space(MappingProblem(workload=workload, arch=arch))


def latencies(arch: Architecture, count: int, draw: Draw) -> tuple[Floats, int]:
    """Return the latency of valid schedules, and how many were drawn for them."""
    space, rng = _space(FIG1, arch), np.random.default_rng(0)
    found: list[Floats] = []
    drawn = 0
    while sum(map(len, found)) < count:
        cost = draw(space, _PART, rng).cost()
        found.append(cost.cycles[cost.fits])
        drawn += _PART
    return np.concatenate(found)[:count], drawn


def orders(arch: Architecture, count: int) -> Spread:
    """Return how much the order of the loops at the global buffer matters."""
    space, rng = _space(FIG3, arch), np.random.default_rng(0)
    slot = space.slots.index(arch.index("gb"))
    choices = stationary_choices(space)
    rest = np.delete(choices, slot, axis=1)

    def alternatives(tiling: EvenBatch) -> Iterator[Floats]:
        for others in np.unique(rest, axis=0):
            own = choices[(rest == others).all(axis=1)]
            yield _latency(replace(tiling.take([0] * len(own)), stationary=own))

    return _spread(_fitting(space, count, rng), alternatives)


def unrollings(arch: Architecture, count: int) -> Spread:
    """Return how much it matters what the PEs unroll."""
    space, rng = _space(FIG4, arch), np.random.default_rng(0)
    slot = space.slots.index(arch.index("gb"))
    choices = stationary_choices(space)
    columns = [space.unrollable.index(("pe", dim)) for dim in (Dim.P, Dim.C, Dim.K)]
    loops = [space.dims.index(dim) for dim in (Dim.P, Dim.C, Dim.K)]

    def alternatives(tiling: EvenBatch) -> Iterator[Floats]:
        best: list[float] = []
        for chosen in UNROLLINGS:
            temporal, spatial = tiling.temporal.copy(), tiling.spatial.copy()
            spatial[:, columns] = chosen
            temporal[:, slot, loops] *= 4 // np.array(chosen)
            one = EvenBatch(space, temporal, spatial, tiling.stationary)
            swept = replace(one.take([0] * len(choices)), stationary=choices)
            best.append(float(_latency(swept).min()))
        yield np.array(best)

    one_pe = tuple(
        replace(fanout, size=1) if fanout.name == "pe" else fanout for fanout in arch.fanouts
    )
    inner = _space(replace(FIG4, P=4, C=64, K=256), replace(arch, fanouts=one_pe))
    return _spread(_fitting(inner, count, rng), alternatives)


def _fitting(space: EvenSpace, count: int, rng: np.random.Generator) -> EvenBatch:
    """Return those of ``count`` drawn mappings that fit."""
    parts = [draw_filling(space, _PART, rng) for _ in range(max(1, count // _PART))]
    drawn = joined(parts)
    return drawn.take(np.flatnonzero(drawn.cost().fits))


def _latency(batch: EvenBatch) -> Floats:
    cost = batch.cost()
    return np.where(cost.fits, cost.cycles, np.inf)


def _spread(tilings: EvenBatch, alternatives: Callable[[EvenBatch], Iterator[Floats]]) -> Spread:
    """Return how much the alternatives of each tiling differ, where all of them fit."""
    found: list[tuple[float, float]] = []
    for row in range(len(tilings)):
        groups = alternatives(tilings.take([row]))
        own = [(float(item.min()), float(item.max())) for item in groups if np.isfinite(item).all()]
        if own:
            best, worst = min(own)
            found.append((best, worst / best))
    table = np.array(found)
    return Spread(ratios=table[:, 1], best=table[:, 0])


if __name__ == "__main__":
    sys.exit(main())

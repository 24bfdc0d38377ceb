"""How much of a gain over static orders depends on what the static orders may do.

    python -m benchmarks.flexer_baselines --network vgg16 --arch flexer-arch5

Three baselines, from the plainest on. *Regions, blocking*: a loop order whose innermost loop is
unrolled over the NPUs; each operand has a region of fixed size that keeps what some inner loops
touch, every reload of a tile is the same (section 4.1 of the paper, Figure 5b), and a set computes
after all of its transfers. *Regions, overlapped*: the same, transfers and work in parallel without
any loss, which flatters it. *Static*: the baseline of ``benchmarks.flexer``. Against them stand the
list scheduler with the paper's rules, timed as blocking, and the schedules that the compiler takes.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023, sections 4.1 and 5.
"""

import argparse
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from accnn.backend.load import load_architecture
from accnn.passes.scheduling.flexer.candidate import Candidate
from accnn.passes.scheduling.flexer.kernel.arrays import Ints
from accnn.passes.scheduling.flexer.latency import TileTimer
from accnn.passes.scheduling.flexer.layer import layer_site, schedule_layer
from accnn.passes.scheduling.flexer.options import FlexerOptions, Priority, SpaceRule
from accnn.passes.scheduling.flexer.problem import (
    LOOPS,
    Dataflow,
    TimedTiling,
    dataflows,
    loop_order,
    timed,
    unrolled,
)
from accnn.passes.scheduling.flexer.search.viable import viable_tilings
from accnn.passes.scheduling.flexer.site import Site

from .conv_layers import TABLES, distinct


@dataclass(frozen=True, slots=True)
class Cost:
    """What a schedule takes.

    Attributes:
        cycles: [cycle].
        bytes: Between off-chip memory and the chip [byte].
    """

    cycles: float
    bytes: float

    @property
    def metric(self) -> float:
        """Cycles times bytes."""
        return self.cycles * self.bytes


def region_costs(timing: TimedTiling, flow: Dataflow) -> Iterator[tuple[Cost, Cost]]:
    """Yield blocking and overlapped cost of a loop order for every choice of regions that fits."""
    problem, canonical = timing.in_order(flow)
    npus = problem.latency.shape[1]
    order, group = unrolled(problem.reads, npus)
    sets = np.repeat(np.arange(len(group)), group)
    work = float(
        np.maximum.reduceat(problem.latency[order].max(axis=1), np.cumsum(group) - group).sum()
    )
    scopes = _scopes(timing, flow, canonical[order])
    roles = [_region(problem.reads[order, role], sets, scopes, problem.size) for role in range(3)]
    accs = len(problem.finish)
    outputs = float(problem.size[len(problem.size) - accs :].sum())
    capacity = problem.capacity - npus * int(problem.size[len(problem.size) - accs :].max())
    partial = float(np.unique(problem.reads[:, 2]).size)
    first = float(problem.size[np.unique(problem.reads[:, 2])].sum()) if partial else 0.0
    rate = timing.site.arch.off_chip.read_bandwidth or math.inf
    for chosen in itertools.product(*roles):
        if sum(region for region, _ in chosen) > capacity:
            continue
        moved = chosen[0][1] + chosen[1][1] + 2 * (chosen[2][1] - first) + outputs
        moving = moved / rate
        yield Cost(work + moving, moved), Cost(max(work, moving), moved)


def _scopes(timing: TimedTiling, flow: Dataflow, ops: Ints) -> list[Ints]:
    """Return, for every number of outer loops, in which of their iterations an operation is."""
    tiling = timing.tiling
    scope = np.zeros(len(ops), np.int64)
    found = [scope]
    for name in flow.loops:
        for dim in LOOPS[name]:
            scope = scope * tiling.trips[dim] + tiling.indices[dim][ops]
        found.append(scope)
    return found


def _region(
    tiles: Ints, sets: Ints, scopes: Sequence[Ints], size: Ints
) -> list[tuple[float, float]]:
    """Return bytes of the region and bytes moved in for every scope that it may keep."""
    found: list[tuple[float, float]] = []
    wide = int(tiles.max()) + 1
    steady = _largest(sets, tiles, size)
    for scope in scopes:
        _, first = np.unique(scope * wide + tiles, return_index=True)
        fresh = np.sort(first)
        last_set = _set_of_last_use(tiles, sets)[fresh]
        loads = fresh[last_set < sets[fresh] - 1]
        moved = float(size[tiles[loads]].sum())
        found.append((max(steady, _largest(scope, tiles, size)), moved))
    return found


def _largest(scope: Ints, tiles: Ints, size: Ints) -> float:
    """Return the largest sum of the sizes of the distinct tiles of one scope [byte]."""
    pairs = np.unique(np.stack([scope, tiles]), axis=1)
    _, number = np.unique(pairs[0], return_inverse=True)
    return float(np.bincount(number, weights=size[pairs[1]]).max())


def _set_of_last_use(tiles: Ints, sets: Ints) -> Ints:
    """Return for every operation the set that used its tile before, -2 if none did."""
    by_tile = np.argsort(tiles, kind="stable")
    before = np.full(len(tiles), -2, np.int64)
    same = tiles[by_tile][1:] == tiles[by_tile][:-1]
    before[by_tile[1:][same]] = sets[by_tile[:-1][same]]
    return before


def best_regions(site: Site, timer: TileTimer, options: FlexerOptions) -> tuple[Cost, Cost]:
    """Return the best blocking and the best overlapped schedule with regions."""
    best = [Cost(math.inf, math.inf)] * 2
    most = max(options.max_ops, options.more_ops)
    for tiling in viable_tilings(site, max_ops=most, ratio=options.ratio):
        timing = timed(tiling, timer)
        for flow in dataflows(tiling):
            for costs in region_costs(timing, flow):
                best = [
                    min(pair, key=lambda cost: cost.metric)
                    for pair in zip(best, costs, strict=True)
                ]
    return best[0], best[1]


def blocking(found: Candidate) -> Cost:
    """Return what a schedule would take if every set waited for all of its transfers."""
    latency = found.timing.problem.latency
    if found.dataflow.loops:
        latency = latency[loop_order(found.timing.tiling, found.dataflow)]
    starts = np.cumsum(found.group) - found.group
    work = float(np.maximum.reduceat(latency[found.order].max(axis=1), starts).sum())
    rate = found.timing.site.arch.off_chip.read_bandwidth or math.inf
    return Cost(work + found.bytes / rate, found.bytes)


NAMES = (
    "regions, blocking",
    "regions, overlapped",
    "static",
    "list scheduler, blocking",
    "list scheduler",
    "compiler",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of the network's totals and one of its layers."""
    parser = argparse.ArgumentParser(prog="benchmarks.flexer_baselines", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--network", choices=sorted(TABLES), default="vgg16")
    parser.add_argument("--arch", default="flexer-arch5")
    parser.add_argument("--layer", nargs="+", help="layers of the network [all]")
    chosen = parser.parse_args(arguments)
    arch = load_architecture(chosen.arch)
    timer, total = TileTimer(arch), [Cost(0.0, 0.0)] * len(NAMES)
    out = sys.stdout.write
    out("| layer | " + " | ".join(NAMES) + " |\n" + "|---" * (len(NAMES) + 1) + "|\n")
    for row in distinct(TABLES[chosen.network]()):
        if chosen.layer is not None and row.layer.name not in chosen.layer:
            continue
        site = layer_site(row.layer, arch)
        plain = best_regions(site, timer, FlexerOptions())
        found = schedule_layer(row.layer, arch, FlexerOptions(), timer)
        paper = FlexerOptions(
            priority=Priority.DEFAULT,
            memory=SpaceRule.DEFAULT,
            steps=60_000,
            block_orders=0,
            keep_free=True,
        )
        listed = schedule_layer(row.layer, arch, paper, timer).free or found.static
        own = [Cost(item.cycles, item.bytes) for item in (found.static, listed, found.best)]
        costs = [*plain, own[0], blocking(listed), own[1], own[2]]
        total = [
            Cost(one.cycles + row.count * two.cycles, one.bytes + row.count * two.bytes)
            for one, two in zip(total, costs, strict=True)
        ]
        out(_line(row.layer.name, costs))
        sys.stdout.flush()
    out(_line("all", total))
    return 0


def _line(name: str, costs: Sequence[Cost]) -> str:
    cells = [f"{cost.cycles / 1e3:.0f} kc {cost.bytes / 1e6:.2f} MB" for cost in costs]
    return f"| {name} | {' | '.join(cells)} |\n"


if __name__ == "__main__":
    sys.exit(main())

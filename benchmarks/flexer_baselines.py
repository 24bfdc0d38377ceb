"""How much of a gain over static orders depends on what the static orders may do.

    python -m benchmarks.flexer_baselines --network vgg16 --arch flexer-arch5
    python -m benchmarks.flexer_baselines --orders --layer conv3_2 conv4_1

Three baselines, from the plainest on. *Regions, blocking*: a loop order whose innermost loop is
unrolled over the NPUs; each operand has a region of fixed size that keeps what some inner loops
touch, every reload of a tile is the same (section 4.1 of the paper, Figure 5b), and a set computes
after all of its transfers. *Regions, overlapped*: the same, transfers and work in parallel without
any loss, which flatters it. *Static*: the baseline of ``benchmarks.flexer``. Against them stand the
list scheduler with the paper's rules, timed as blocking, and the schedules that the compiler takes.

``--orders`` shows what static orders cost by which loops are unrolled (*one loop*: the innermost
one alone, as in Figure 3b of the paper, which shares one operand; *dealt*: whole accumulations are
dealt out as well, as our static orders are), by regions (blocking with one buffer each; overlapped
with two of each, so half as large), and by width (8 bits; 16 bits with sums of 32), and the
one-loop order with real addresses and our timing.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023, sections 4.1 and 5.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture
from accnn.passes.scheduling.flexer.bounds import site_bound, timed_bound
from accnn.passes.scheduling.flexer.candidate import Candidate, schedule_of
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
from accnn.passes.scheduling.flexer.search.trials import STATIC_MEMORIES, Trials
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


@dataclass(frozen=True, slots=True)
class Rules:
    """What a static order with regions may do.

    Attributes:
        dealt: Whether accumulations are dealt out where the innermost loop is too short.
        buffers: Of each region; with two, transfers and work overlap.
        wide: How many times as wide as the machine's weights, inputs and outputs are; sums are not.
        overlaps: Whether they overlap in any case.
    """

    dealt: bool = True
    buffers: int = 1
    wide: int = 1
    overlaps: bool = False

    def cost(self, work: float, bytes: float, rate: float) -> Cost:
        """Return what work and transfers take together [cycle, byte, byte/cycle]."""
        moving = bytes / rate
        together = self.overlaps or self.buffers > 1
        return Cost(max(work, moving) if together else work + moving, bytes)


def region_costs(
    timing: TimedTiling, flow: Dataflow, rules: Sequence[Rules]
) -> Iterator[tuple[int, Cost]]:
    """Yield for each of several rules its number and the least that a loop order moves, if it fits.

    Args:
        timing: The tiling.
        flow: Its loop order.
        rules: All of them deal out accumulations, or none.
    """
    problem, canonical = timing.in_order(flow)
    npus = problem.latency.shape[1]
    order, group = (unrolled if rules[0].dealt else one_loop)(problem.reads, npus)
    sets = np.repeat(np.arange(len(group)), group)
    work = float(
        np.maximum.reduceat(problem.latency[order].max(axis=1), np.cumsum(group) - group).sum()
    )
    scopes = _scopes(timing, flow, canonical[order])
    roles = [_region(problem.reads[order, role], sets, scopes, problem.size) for role in range(3)]
    (inputs, weights, sums) = (np.array(role) for role in roles)
    accs = len(problem.finish)
    outputs = problem.size[len(problem.size) - accs :]
    first = float(problem.size[np.unique(problem.reads[:, 2])].sum())
    rate = timing.site.arch.off_chip.read_bandwidth or math.inf
    # Regions and bytes of all choices [inputs, weights, sums].
    wide = inputs[:, None, None] + weights[None, :, None]
    for number, rule in enumerate(rules):
        both = rule.wide * wide + sums[None, None, :]
        capacity = problem.capacity - npus * rule.wide * int(outputs.max())
        moved = rule.wide * wide[..., 1] + 2 * (sums[None, None, :, 1] - first)
        fits = rule.buffers * both[..., 0] <= capacity
        if fits.any():
            least = float(moved[fits].min()) + rule.wide * float(outputs.sum())
            yield number, rule.cost(work, least, rate)


def one_loop(reads: Ints, npus: int) -> tuple[Ints, Ints]:
    """Return an order as it is, its innermost loop unrolled over the NPUs, and the sets.

    Sets end where an accumulator, or both inputs and weights, would be another run's: operations of
    a set share their inputs or their weights, as one unrolled loop makes them.

    Args:
        reads: Of every operation in loop order ``[ops, 3]``.
        npus: Number of NPUs.
    """
    sizes: list[int] = []
    rows: list[list[int]] = reads.tolist()
    first, adding = rows[0], set[int]()
    same = [True, True]
    for row in rows:
        shared = [same[role] and row[role] == first[role] for role in (0, 1)]
        if len(adding) == npus or row[2] in adding or not any(shared):
            sizes.append(len(adding))
            first, shared = row, [True, True]
            adding.clear()
        adding.add(row[2])
        same = shared
    sizes.append(len(adding))
    return np.arange(len(reads), dtype=np.int64), np.array(sizes, np.int64)


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


def best_regions(
    site: Site, timer: TileTimer, options: FlexerOptions, rules: Sequence[Rules]
) -> list[Cost]:
    """Return the best static order with regions under each of several rules."""
    best = [Cost(math.inf, math.inf)] * len(rules)
    kinds = [
        [at for at, rule in enumerate(rules) if rule.dealt is dealt] for dealt in (True, False)
    ]
    for timing, flow in _orders(site, timer, options):
        for own in kinds:
            if not own:
                continue
            for number, cost in region_costs(timing, flow, [rules[at] for at in own]):
                best[own[number]] = min(best[own[number]], cost, key=lambda item: item.metric)
    return best


def _orders(
    site: Site, timer: TileTimer, options: FlexerOptions
) -> Iterator[tuple[TimedTiling, Dataflow]]:
    """Yield every loop order of every viable tiling."""
    most = max(options.max_ops, options.more_ops)
    for tiling in viable_tilings(site, max_ops=most, ratio=options.ratio):
        timing = timed(tiling, timer)
        for flow in dataflows(tiling):
            yield timing, flow


RULES = {
    f"{bits} bits, {order}, {kind}": Rules(dealt=order == "dealt", buffers=buffers, wide=wide)
    for bits, wide in ((8, 1), (16, 2))
    for order in ("one loop", "dealt")
    for kind, buffers in (("blocking", 1), ("two buffers", 2))
}
"""Kinds of static orders with regions, by what the table calls them."""
PLAIN = (Rules(), Rules(overlaps=True))
"""Blocking regions, and the same where nothing waits."""


def best_in_one_loop(site: Site, timer: TileTimer) -> Candidate:
    """Return the best order of one unrolled loop, with addresses, our timing and our memory rules.

    Raises:
        ValueError: There is none.
    """
    options = FlexerOptions()
    trials = Trials(site, options, timer)
    best: Candidate | None = None
    for timing, flow in _orders(site, timer, options):
        limit = math.inf if best is None else best.value
        problem, _ = timing.in_order(flow)
        if trials.value_of(timed_bound(timing), timing) >= limit:
            continue
        sets = one_loop(problem.reads, trials.npus)
        for memory in STATIC_MEMORIES:
            goal = trials.goal(limit, timing)
            found = trials.in_order(timing, flow, problem, sets, memory, goal, "static")
            if found is not None and found.value < limit:
                best, limit = found, found.value
    if best is None:
        raise ValueError("no order of one loop fits")
    return replace(best, cycles=schedule_of(best, site_bound(site)).cycles)


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
    parser.add_argument("--orders", action="store_true", help="kinds of static orders instead")
    chosen = parser.parse_args(arguments)
    arch = load_architecture(chosen.arch)
    if chosen.orders:
        sys.stdout.write(_orders_table(chosen.network, arch, chosen.layer))
        return 0
    timer, total = TileTimer(arch), [Cost(0.0, 0.0)] * len(NAMES)
    out = sys.stdout.write
    out("| layer | " + " | ".join(NAMES) + " |\n" + "|---" * (len(NAMES) + 1) + "|\n")
    for row in distinct(TABLES[chosen.network]()):
        if chosen.layer is not None and row.layer.name not in chosen.layer:
            continue
        site = layer_site(row.layer, arch)
        plain = best_regions(site, timer, FlexerOptions(), PLAIN)
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


def _orders_table(network: str, arch: Architecture, layers: Sequence[str] | None) -> str:
    """Return what kinds of static orders take: a line for each kind, a column for each layer."""
    timer = TileTimer(arch)
    columns: dict[str, list[Cost]] = {}
    for row in distinct(TABLES[network]()):
        if layers is not None and row.layer.name not in layers:
            continue
        site = layer_site(row.layer, arch)
        found = schedule_layer(row.layer, arch, FlexerOptions(), timer)
        plain = best_in_one_loop(site, timer)
        real = [Cost(item.cycles, item.bytes) for item in (plain, found.static, found.best)]
        columns[row.layer.name] = [
            *best_regions(site, timer, FlexerOptions(), list(RULES.values())),
            *real,
        ]
    names = (*RULES, "8 bits, one loop, addresses", "8 bits, dealt, addresses", "compiler")
    head = f"| static orders | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|\n"
    ours = [column[-1] for column in columns.values()]
    lines = [
        _line(name, costs, ours)
        for name, costs in zip(names, zip(*columns.values(), strict=True), strict=True)
    ]
    return f"### Static orders of {network} on {arch.name}\n\n{head}{''.join(lines)}"


def _line(name: str, costs: Sequence[Cost], ours: Sequence[Cost] = ()) -> str:
    cells = [f"{cost.cycles / 1e3:.0f} kc {cost.bytes / 1e6:.2f} MB" for cost in costs]
    for at, one in enumerate(ours):
        cost = costs[at]
        cells[at] += f" ({cost.cycles / one.cycles:.2f}x {cost.bytes / one.bytes:.2f}x)"
    return f"| {name} | {' | '.join(cells)} |\n"


if __name__ == "__main__":
    sys.exit(main())

"""The scheduler of `flexer` against that of the loop nest, on equal tiles in equal order.

    python -m benchmarks.engines
    python -m benchmarks.engines --network resnet50 --arch flexer-arch5 --layers 4

Of each layer the best static order that `flexer` finds is scheduled once more by its compiled
kernel, and by `schedule_static`. Printed are the CPU time of one schedule, cycles by the clock and
bytes of both, and how many schedules the search of the layer began
(docs/decisions/0038-two-engines-schedule-tiles.md).
"""

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from accnn.backend.load import load_architecture
from accnn.ir.isa.instructions import Space
from accnn.ir.isa.spaces import space_bytes
from accnn.ir.tiles.graph import TileGraph
from accnn.passes.scheduling.flexer.candidate import Candidate, schedule_of
from accnn.passes.scheduling.flexer.kernel.drive import schedule_in_order
from accnn.passes.scheduling.flexer.layer import ConvLayer, schedule_layer
from accnn.passes.scheduling.flexer.options import FlexerOptions
from accnn.passes.scheduling.static.static import schedule_static

from .conv_layers import TABLES, distinct

_RUNS = 20


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--network", default="resnet50", choices=TABLES)
    parser.add_argument("--arch", default="flexer-arch5")
    parser.add_argument("--layers", type=int, default=8, help="how many, the first ones")
    chosen = parser.parse_args()
    print("| layer | operations | begun | kernel | nest | ratio | cycles | | bytes | |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for row in distinct(TABLES[chosen.network]())[: chosen.layers]:
        print(measured(row.layer, chosen.arch))


def measured(layer: ConvLayer, name: str) -> str:
    """Return the row of a layer on a machine."""
    arch = load_architecture(name)
    found = schedule_layer(layer, arch, FlexerOptions())
    best, effort = found.static, found.effort
    problem, _ = best.timing.in_order(best.dataflow)
    goal = FlexerOptions().goal(math.inf)
    kernel = seconds(
        lambda: schedule_in_order(problem, best.order, best.group, best.memory, goal, False), _RUNS
    )
    site, graph = best.timing.site, as_issued(best)
    ranges = {space: (0, size) for space, size in space_bytes(arch).items()}
    ranges[Space.GB] = site.place.workspace_address, site.place.workspace_bytes
    ranges[Space.PB] = site.parameter_range
    along = schedule_static(graph, arch, ranges)
    nest = seconds(lambda: schedule_static(graph, arch, ranges), 1)
    ours = schedule_of(best, found.bound)
    begun = effort.static + effort.blocks + effort.free
    return (
        f"| {layer.name} | {len(best.order):,} | {begun:,} | {1e6 * kernel:,.0f} us "
        f"| {1e3 * nest:,.0f} ms | {nest / kernel:,.0f} | {ours.cycles:,} | {along.cycles:,} "
        f"| {ours.transferred_bytes:,} | {along.transferred_bytes:,} |"
    )


def seconds(work: Callable[[], object], runs: int) -> float:
    """Return the CPU time of something that has run before, the mean of some runs [s]."""
    begin = time.process_time()
    for _ in range(runs):
        work()
    return (time.process_time() - begin) / runs


def as_issued(best: Candidate) -> TileGraph:
    """Return the tiles of a schedule, operations in its order; each sum is finished at once."""
    timing = best.timing
    graph = timing.tiling.graph([tuple(item.nest for item in row) for row in timing.nests])
    _, order = timing.in_order(best.dataflow)
    issued: list[int] = order[best.order].tolist()
    left = Counter(graph.ops[number].out for number in issued)
    finishing = {op.reads[0]: number for number, op in enumerate(graph.ops) if graph.finishes(op)}
    found: list[int] = []
    for number in issued:
        sums = graph.ops[number].out
        found.append(number)
        left[sums] -= 1
        if not left[sums]:
            found.append(finishing[sums])
    return replace(graph, ops=tuple(graph.ops[number] for number in found))


if __name__ == "__main__":
    main()

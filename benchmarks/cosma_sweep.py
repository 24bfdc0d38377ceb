"""Off-chip bytes of five networks from a scratchpad of one tile up to M_P.

    python -m benchmarks.cosma_sweep

Below M_R operators stream tensors in tiles; what that moves comes from the analytic model of
``streaming.py`` on the machine ``simba`` with another global buffer, weights included. A plan
for a small scratchpad is a plan for any larger one, so the curve keeps the better of the two
and never rises. The table goes to ``benchmarks/results/cosma_sweep.csv``, the plot beside it.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Graph
from accnn.models.graphs import deeplabv3, densenet121, lraspp, resnet50, vit
from accnn.passes.scheduling.check import check_schedule
from accnn.passes.scheduling.cosma.budgets import budgets_of
from accnn.passes.scheduling.cosma.schedule import Cosma
from benchmarks.rows import write_rows

RESULTS = Path(__file__).with_name("results")
NETWORKS: tuple[Callable[[], Graph], ...] = (resnet50, densenet121, vit, lraspp, deeplabv3)
LEAST = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One network at one size of the scratchpad.

    Attributes:
        network: Its name.
        scratchpad: Size of the scratchpad [byte].
        moved: Off-chip bytes of the best plan up to this size [byte].
        own: Of the plan that was made for this very size [byte].
        bound: Proven for this size and its menus [byte].
        status: Of the plan that was made for this very size.
        seconds: CPU seconds.
    """

    network: str
    scratchpad: int
    moved: int
    own: int
    bound: int
    status: str
    seconds: float


def sweep(graph: Graph, arch: Architecture, sizes: Sequence[int]) -> Iterator[Point]:
    """Yield the points of a network, smallest scratchpad first; leave out what fits nothing."""
    best: int | None = None
    for size in sorted(sizes):
        machine = with_scratchpad(arch, size)
        start = time.process_time()
        try:
            plan = Cosma(arch=machine).plan(graph)
        except InfeasibleError:
            continue
        check_schedule(graph, plan, machine)
        best = plan.objective if best is None else min(best, plan.objective)
        yield Point(
            network=graph.name,
            scratchpad=size,
            moved=best,
            own=plan.objective,
            bound=plan.bound,
            status=plan.status.value,
            seconds=time.process_time() - start,
        )


def sizes_of(graph: Graph) -> list[int]:
    """Return powers of two from a few tiles up, and the named budgets [byte]."""
    budgets = budgets_of(graph)
    powers = [LEAST << index for index in range(32) if LEAST << index < budgets.mp]
    return sorted({*powers, budgets.mr, budgets.mh, budgets.mp})


def with_scratchpad(arch: Architecture, size: int) -> Architecture:
    """Return a machine with a scratchpad of another size."""
    levels = (
        replace(level, capacity=size) if level.name == arch.scratchpad else level
        for level in arch.levels
    )
    return replace(arch, levels=tuple(levels))


def main() -> int:
    """Run the sweep, write table and plot."""
    from benchmarks.cosma_plots import draw_sweep

    arch = load_architecture("simba.toml")
    points: list[Point] = []
    for build in NETWORKS:
        graph = build()
        for point in sweep(graph, arch, sizes_of(graph)):
            print(*asdict(point).values(), flush=True)
            points.append(point)
    RESULTS.mkdir(exist_ok=True)
    write_rows(RESULTS / "cosma_sweep.csv", Point, points)
    names = dict.fromkeys(point.network for point in points)
    draw_sweep(
        {
            name: [(item.scratchpad, item.moved) for item in points if item.network == name]
            for name in names
        },
        RESULTS / "cosma_sweep.png",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

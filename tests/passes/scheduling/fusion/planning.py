"""Plans of several kinds of one network, by traffic that is measured once for all of them."""

from collections.abc import Callable, Mapping
from functools import cache

from accnn.backend.load import load_architecture
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import GraphSchedule
from accnn.passes.scheduling.check import check_schedule
from accnn.passes.scheduling.cosma.schedule import Cosma
from accnn.passes.scheduling.cosma.traffic.tiled import Terms, TiledTraffic
from accnn.passes.scheduling.fusion import Fuse
from tests.inputs import Array

Make = Callable[[int], tuple[Graph, Mapping[str, Array]]]
"""Makes a network of a size."""


@cache
def _traffic(make: Make, size: int, arch: str) -> TiledTraffic:
    graph, _ = make(size)
    return TiledTraffic(Terms(graph, load_architecture(arch)))


def pass_plan(
    make: Make, arch: str, budget: int, fuse: Fuse = Fuse.GROUPS, *, size: int = 28
) -> GraphSchedule:
    """Return the plan that the pass makes by default, replayed by the independent checker.

    Args:
        make: Makes the network.
        arch: Name of the machine.
        budget: Of the scratchpad [byte].
        fuse: Which operators may be executed together.
        size: Of the network's images.
    """
    exact, machine = _traffic(make, size, arch), load_architecture(arch)
    graph, _ = make(size)
    cosma = Cosma(arch=machine, budget=budget, latency=0.02, fuse=fuse)
    graph, plan = cosma.measured(graph, exact, exact.ahead, exact.of)
    check_schedule(graph, plan, machine)
    return plan

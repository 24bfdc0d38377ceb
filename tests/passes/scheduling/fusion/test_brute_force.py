"""All sets of groups of small networks, planned one by one, against the groups that are chosen."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from accnn.ir.arch import Architecture
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Group
from accnn.passes.scheduling.cosma import schedule
from accnn.passes.scheduling.cosma.refine import Measured
from accnn.passes.scheduling.fusion.choice import fused_plan
from accnn.passes.scheduling.fusion.epilogues import is_group
from accnn.passes.scheduling.fusion.intervals import CLEARLY, Intervals
from accnn.passes.scheduling.fusion.offers import can_be_member
from accnn.passes.tiling.groups.rows import rows_of
from tests.inputs import Array
from tests.networks import NetworkBuilder
from tests.passes.tiling.groups.fused import bottleneck, fire, inverted, shortcut

from .planning import pass_plan

Groups = tuple[Group, ...]


def filters(size: int) -> tuple[Graph, Mapping[str, Array]]:
    """More channels, a filter of each, and the channels back."""
    net = NetworkBuilder()
    x = net.input("x", (1, 12, size, size))
    b = net.conv(net.conv(x, "a", 24, 1), "b", 24, 3, groups=24)
    return net.build(net.conv(b, "c", 12, 1)), net.data


def of_steps(graph: Graph, members: tuple[str, ...], heights: tuple[int, ...]) -> Iterator[Group]:
    """Yield the groups of some steps, a stripe of each height, and of all rows."""
    if is_group(graph, Group(members=members)):
        rows = rows_of(graph.types[members[-1]])
        for height in (0, *(item for item in heights if item < rows)):
            yield Group(members=members, rows=height)


def all_sets(graph: Graph, order: tuple[str, ...], fits: list[bool], heights) -> Iterator[Groups]:
    """Yield all sets of disjoint groups of consecutive steps."""

    def behind(start: int) -> Iterator[Groups]:
        if start == len(order):
            yield ()
            return
        yield from behind(start + 1)
        for stop in range(start + 2, len(order) + 1):
            if all(fits[start:stop]):
                for group in of_steps(graph, order[start:stop], heights):
                    for others in behind(stop):
                        yield (group, *others)

    return behind(0)


@pytest.mark.parametrize(
    ("make", "arch", "budget", "heights"),
    [
        (filters, "edge-1m", 20_000, (4,)),
        pytest.param(inverted, "edge-1m", 20_000, (2,), marks=pytest.mark.slow),
        pytest.param(shortcut, "flexer-arch5", 20_000, (7,), marks=pytest.mark.slow),
        pytest.param(inverted, "edge-1m", 20_000, (1, 2, 4, 7, 14), marks=pytest.mark.slow),
        pytest.param(inverted, "simba", 9000, (1, 2, 4, 7, 14), marks=pytest.mark.slow),
        pytest.param(bottleneck, "simba", 9000, (1, 2, 4, 7, 14), marks=pytest.mark.slow),
        pytest.param(bottleneck, "flexer-arch5", 30_000, (1, 4, 14), marks=pytest.mark.slow),
        pytest.param(fire, "simba", 20_000, (2, 7), marks=pytest.mark.slow),
    ],
)
def test_no_set_of_groups_is_clearly_better(monkeypatch, make, arch, budget, heights):
    """Of what may be planned, as of what was chosen, plans that are worse are dropped.

    Plans are compared as they are to be chosen: by bytes and cycles as parts of what is moved and
    taken without groups. None that takes no longer moves less, and none is clearly better: that is
    all that groups are replaced for once they are measured.
    """
    graph, _ = make(28)
    asked: list[Intervals] = []
    planned: list[tuple[Measured, Measured]] = []
    choose = Intervals.groups

    def kept(graph: Graph, arch: Architecture, plain: Measured, *how: Any) -> Measured:
        best = fused_plan(graph, arch, plain, *how)
        planned.append((plain, best))
        return best

    def bytes_and_cycles() -> tuple[float, float]:
        """Return what is moved and taken, as parts of that without groups."""
        moved = pass_plan(make, arch, budget).objective
        plain, best = planned[-1]
        return moved / plain.plan.objective, best.cycles / plain.cycles

    monkeypatch.setattr(schedule, "fused_plan", kept)
    monkeypatch.setattr(
        Intervals, "groups", lambda self, **how: asked.append(self) or choose(self, **how)
    )
    moved, taken = bytes_and_cycles()
    offers = asked[0].offers
    order = offers.plan.order
    fits = [can_be_member(graph, graph.producer[name], offers.arch) for name in order]
    sets = list(all_sets(graph, order, fits, heights))
    assert len(sets) > 5

    found: list[tuple[float, float]] = []
    for groups in sets:
        monkeypatch.setattr(Intervals, "groups", lambda self, groups=groups, **_: groups)
        found.append(bytes_and_cycles())

    assert moved <= min(item[0] for item in found if item[1] <= taken)
    assert CLEARLY * (moved + taken) <= min(map(sum, found)) <= 2

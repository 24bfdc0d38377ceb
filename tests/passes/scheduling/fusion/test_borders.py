"""Why steps are no group: each reason has a network that has it, and figures are those of tiles."""

from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import GraphSchedule, Group
from accnn.ir.module import Module
from accnn.passes.base import Context
from accnn.passes.scheduling.cosma.traffic.tiled import Terms, TiledTraffic
from accnn.passes.scheduling.fusion import Fuse
from accnn.passes.scheduling.fusion.borders import Border, Obstacle, StepEstimate, borders
from accnn.passes.scheduling.fusion.group_costs import LINES
from accnn.passes.scheduling.fusion.offers import MOST_CHAINS, with_largest_stripes
from accnn.passes.scheduling.schedule_cosma import ScheduleCosma
from accnn.passes.scheduling.static.static import rating
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import compile_fused

ARCH = "edge-1m"


def two(size: int = 12, *, is_read: bool = False):
    """Two convolutions; the first is read outside as well, or not."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 16, size, size)), "a", 16, 3)
    b = net.conv(a, "b", 16, 3)
    return net.build(*([a] if is_read else []), b), net.data


def plan_of(graph: Graph, scratchpad: str = "20000", fuse: Fuse = Fuse.OFF) -> GraphSchedule:
    module = Module(graph=graph, arch=load_architecture(ARCH))
    found = ScheduleCosma(fuse=fuse, scratchpad=scratchpad).run(module, Context()).graph_schedule
    assert found is not None
    return found


def borders_of(graph: Graph, plan: GraphSchedule, step: int = 0) -> tuple[Border, ...]:
    arch = load_architecture(ARCH)
    return borders(graph, arch, plan, step, TiledTraffic(Terms(graph, arch)))


def test_an_operator_that_can_be_no_member_is_named():
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 8, 6, 6)), "a", 8, 3)
    graph = net.build(net.op("global_avg_pool", (a,), "mean", quant=per_tensor(0.1)))

    (found,) = borders_of(graph, plan_of(graph))

    assert (found.neighbour, found.is_after) == ("mean", True)
    assert (found.obstacle, found.operator) == (Obstacle.KIND, "mean")


def test_what_is_read_along_other_axes_is_told():
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 8, 6, 6)), "a", 8, 3)
    graph = net.build(net.op("reshape", (a,), "y", {"shape": (8, 36)}))

    (found,) = borders_of(graph, plan_of(graph))

    assert (found.neighbour, found.obstacle) == ("y", Obstacle.AXES)


def test_more_operators_than_a_group_joins_are_counted():
    net = NetworkBuilder()
    name = net.input("x", (1, 8, 6, 6))
    for number in range(MOST_CHAINS + 1):
        name = net.conv(name, f"c{number}", 8, 1)
    graph = net.build(name)
    plan = plan_of(graph)
    many = Group(members=plan.order[:MOST_CHAINS])
    fused = replace(plan_of(graph), order=(many.name, plan.order[-1]), groups=(many,))

    (found,) = borders_of(graph, replace(fused, residences=(), workspaces=()))

    assert (found.obstacle, found.demand, found.limit) == (
        Obstacle.COUNT,
        MOST_CHAINS + 1,
        MOST_CHAINS,
    )


@pytest.mark.parametrize("is_read", [True, False])
def test_rows_of_what_others_read_cannot_be_kept(is_read: bool):
    graph, _ = two(is_read=is_read)

    (found,) = borders_of(graph, plan_of(graph, "2240"))

    assert (found.obstacle is Obstacle.ROWS) == is_read


def test_they_may_be_made_all_at_once():
    graph, _ = two(is_read=True)

    (found,) = borders_of(graph, plan_of(graph))

    assert found.obstacle in {Obstacle.BYTES, Obstacle.CYCLES, Obstacle.CHOICE}


def test_operators_that_share_nothing_are_unrelated():
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 8, 6, 6)), "a", 8, 3)
    graph = net.build(a, net.conv(net.input("z", (1, 8, 6, 6)), "b", 8, 3))

    (found,) = borders_of(graph, plan_of(graph))

    assert found.obstacle is Obstacle.UNRELATED


def test_lines_that_are_too_large_are_told_with_what_they_may_take():
    graph, _ = two(64)
    plan = plan_of(graph, "4000")

    (found,) = borders_of(graph, plan)

    assert found.obstacle is Obstacle.LINES
    assert found.demand > found.limit == int(LINES * 4000)
    assert with_largest_stripes(graph, ("a", "b"), 2 * found.demand)
    assert not with_largest_stripes(graph, ("a", "b"), plan.budget)


def test_tiles_that_do_not_fit_beside_what_is_kept_are_told():
    graph, _ = two()
    plan = plan_of(graph)
    full = replace(plan.residences[0], tensor="other", first_step=0, last_step=1, bytes=plan.budget)

    (found,) = borders_of(graph, replace(plan, residences=(*plan.residences, full)))

    assert (found.obstacle, found.apart) == (Obstacle.TILES, None)
    assert found.limit <= 0


def test_figures_are_those_of_the_group_compiled_and_run():
    graph, data = two(20)
    plan = plan_of(graph, "6000")
    assert not plan.residences

    (found,) = borders_of(graph, plan)

    runs = [
        compile_fused(graph, data, ARCH, [group], plan.budget).run()
        for group in with_largest_stripes(graph, ("a", "b"), plan.budget)
    ]
    costs = [StepEstimate(run.total.off_chip_bytes, run.cycles) for run in runs]
    best = min(costs, key=lambda cost: rating(cost.cycles, cost.bytes))
    assert found.together is not None and found.apart is not None
    assert found.together.bytes == pytest.approx(best.bytes, rel=0.1)
    assert found.together.cycles == pytest.approx(best.cycles, rel=0.2)
    assert found.obstacle is expected(found.apart, found.together)


def expected(apart: StepEstimate, together: StepEstimate) -> Obstacle:
    if together.bytes > apart.bytes:
        return Obstacle.BYTES
    return Obstacle.CYCLES if together.cycles > apart.cycles else Obstacle.CHOICE


def test_a_step_in_the_middle_has_two_borders():
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 8, 6, 6)), "a", 8, 3)
    b = net.conv(a, "b", 8, 3)
    graph = net.build(net.conv(b, "c", 8, 3))

    found = borders_of(graph, plan_of(graph), step=1)

    assert [(item.neighbour, item.is_after) for item in found] == [("a", False), ("c", True)]

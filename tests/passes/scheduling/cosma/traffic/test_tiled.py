"""What groups of many stripes move and take: told by the first ones, near what all of them do."""

from functools import partial

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph_schedule import GraphSchedule, Group, Workspace
from accnn.ir.groups import group_op
from accnn.ir.module import Module
from accnn.passes.base import Context
from accnn.passes.mapping.problem import Objective
from accnn.passes.mapping.recipes.in_tiles import InTiles, in_tiles
from accnn.passes.mapping.recipes.output_stationary import OutputStationary
from accnn.passes.scheduling.cosma.traffic.tiled import tiled_traffic
from accnn.passes.scheduling.map_groups import GroupMapping
from accnn.passes.scheduling.map_operators import MapOperators
from tests.networks import NetworkBuilder

SIMBA = load_architecture("simba")


def head():
    """A filter of many outputs and a pool, as networks begin: the vector unit has much to do."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 3, 96, 96)), "a", 64, 7, stride=2)
    return net.build(net.conv(a, "b", 32, 3)), ("a", "b")


def inverted():
    net = NetworkBuilder()
    b = net.conv(net.conv(net.input("x", (1, 16, 40, 40)), "a", 48, 1), "b", 48, 3, groups=48)
    return net.build(net.conv(b, "c", 16, 1)), ("a", "b", "c")


@pytest.mark.parametrize("network", [head, inverted])
def test_the_first_stripes_tell_of_all(network):
    graph, members = network()
    group = Group(members=members, rows=1)
    budget = SIMBA.scratchpad_level.capacity

    found = tiled_traffic(graph, SIMBA)(group_op(graph, group), frozenset(), budget)

    assert found is not None
    plan = GraphSchedule(
        budget=budget,
        order=(group.name,),
        workspaces=(Workspace(step=0, address=0, bytes=budget),),
        groups=(group,),
    )
    module = Module(graph=graph, arch=SIMBA, graph_schedule=plan)
    asked = GroupMapping(module, group, Objective.LATENCY, 0)
    finder, ctx = MapOperators(mapper="output-stationary"), Context()
    whole = [
        asked.best(partial(finder.solve, arch=SIMBA, ctx=ctx, mapper=mapper))[1]
        for mapper in (in_tiles(OutputStationary(), 1), InTiles(mapper=OutputStationary(), npus=1))
    ]
    best = min(whole, key=lambda item: item.cycles * item.transferred_bytes)
    assert found.cycles == pytest.approx(best.cycles, rel=0.05)
    assert found.total == pytest.approx(best.transferred_bytes, rel=0.1)

"""Which operators can be members, and what groups are compared with: their members, one by one."""

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph_schedule import GraphSchedule, Group
from accnn.passes.scheduling.cosma.refine import Measured
from accnn.passes.scheduling.fusion.intervals import can_be_member, cycles_alone
from tests.networks import NetworkBuilder, per_tensor

PLAN = GraphSchedule(budget=1, order=("good", "bad"))
BASE = Measured(plan=PLAN, cost=0, times=(150.0, 1000.0), prospects=(100.0, 200.0))


def test_stripes_are_compared_with_what_their_members_may_come_down_to():
    group = Group(members=("good", "bad"), rows=2)

    assert cycles_alone(BASE, group) == pytest.approx((150 + 100) / 2 + (1000 + 200) / 2)


def test_whole_tensors_are_compared_with_what_their_members_take():
    group = Group(members=("good", "bad"))

    assert cycles_alone(BASE, group) == pytest.approx(150 + 1000)


@pytest.mark.parametrize(
    ("shape", "is_member"),
    [
        ((8,), False),
        ((4, 8), True),
        ((2, 4, 8), True),
        ((1, 1, 1, 1, 4, 8), True),
        ((1, 1, 1, 1, 1, 4, 8), False),
    ],
)
def test_tensors_of_members_have_rows_and_no_more_axes_than_loops(shape, is_member: bool):
    net = NetworkBuilder()
    x = net.input("x", shape)
    graph = net.build(net.op("add", (x, x), "y", quant=per_tensor(0.1)))

    found = can_be_member(graph, graph.producer["y"], load_architecture("simba"))

    assert found is is_member


@pytest.mark.parametrize(
    ("kind", "attrs", "is_member"),
    [
        ("reduce_max", {"axis": 3}, True),
        ("reduce_max", {"axis": 1}, True),
        ("reduce_max", {"axis": 2}, False),
        ("reshape", {"shape": (8, 36)}, True),
        ("transpose", {"perm": (0, 1, 3, 2)}, False),
    ],
)
def test_what_needs_all_rows_is_no_member(kind: str, attrs, is_member: bool):
    net = NetworkBuilder()
    x = net.floats(net.input("x", (1, 8, 6, 6)), "floats")
    graph = net.build(net.op(kind, (x,), "y", attrs))

    found = can_be_member(graph, graph.producer["y"], load_architecture("simba"))

    assert found is is_member

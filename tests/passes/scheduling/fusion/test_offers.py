"""Which groups of steps may be worth measuring."""

from itertools import combinations

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import GraphSchedule, Group
from accnn.ir.types import DType
from accnn.passes.scheduling.cosma.refine import Measured
from accnn.passes.scheduling.fusion.group_costs import LINES
from accnn.passes.scheduling.fusion.offers import (
    can_be_member,
    cycles_alone,
    with_largest_stripes,
)
from accnn.passes.scheduling.map_groups import line_bytes
from accnn.passes.tiling.groups.rows import rows_of
from accnn.passes.tiling.groups.stripes import hands_out
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import dense_block, fire, inverted

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
        ((1,) * 4 + (4, 8), True),
        ((1,) * 5 + (4, 8), False),
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


@pytest.mark.parametrize(("is_constant", "is_member"), [(False, True), (True, False)])
def test_products_of_constant_rows_are_no_members(is_constant: bool, is_member: bool):
    """The first state of a recurrent network, say, of which nobody makes lines."""
    net = NetworkBuilder()
    rows = (
        net.constant("c", (4, 8), DType.S8, per_tensor(0.1))
        if is_constant
        else net.input("x", (4, 8))
    )
    weights = net.constant("w", (6, 8), DType.S8, per_tensor(0.1))
    graph = net.build(net.op("dense", (rows, weights), "y"))

    found = can_be_member(graph, graph.producer["y"], load_architecture("simba"))

    assert found is is_member


@pytest.mark.parametrize("graph", [inverted(28)[0], fire(20)[0], dense_block(13)[0]])
def test_largest_stripes_are_those_of_all_that_fit(graph: Graph):
    names = tuple(op.name for op in graph.ops)
    sizes = set[int]()
    for first, last in combinations(range(len(names) + 1), 2):
        members = names[first:last]
        total = rows_of(graph.types[members[-1]])
        heights = dict.fromkeys((0, *(-(-total // 2**n) for n in range(1, 12))))
        for budget in (*range(500, 20_000, 1500), 1_000_000):
            near = budget % (total + 2)  # wherever the search begins
            found = with_largest_stripes(graph, members, budget, near=near)

            fitting = [
                rows
                for rows in heights
                if line_bytes(graph, Group(members=members, rows=rows)) <= LINES * budget
                and hands_out(graph, members, rows)
            ]
            assert [group.rows for group in found] == fitting[:4]
            sizes.add(len(found))
    assert sizes >= {0, 1, 4}

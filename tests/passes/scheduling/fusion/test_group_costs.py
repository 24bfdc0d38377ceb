"""What a group finds taken of the scratchpad beside it."""

import pytest

from accnn.ir.graph import Op
from accnn.ir.graph_schedule import GraphSchedule, Group, Residence
from accnn.passes.scheduling.cosma.refine import CorrectedTraffic
from accnn.passes.scheduling.cosma.traffic.delay import Delay
from accnn.passes.scheduling.fusion.group_costs import GroupCosts
from tests.networks import NetworkBuilder, per_tensor

SIZE = 8 * 6 * 6


@pytest.mark.parametrize(
    ("members", "address", "taken"),
    [
        (("b", "y"), 0, 2 * SIZE),  # over x, which b does not read
        (("b", "y"), 2 * SIZE, 3 * SIZE),  # elsewhere
        (("a", "b", "y"), 0, 3 * SIZE),  # a reads x in windows, too: the group cannot write over it
    ],
)
def test_a_result_in_the_place_of_an_operand_takes_no_space(
    members: tuple[str, ...], address: int, taken: int
):
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 6, 6))
    b = net.conv(net.conv(x, "a", 8, 3), "b", 8, 3)
    graph = net.build(net.op("add", (b, x), "y", quant=per_tensor(0.1)))
    places = {"x": (0, 2, 0), "a": (0, 1, SIZE), "y": (2, 2, address)}
    plan = GraphSchedule(
        budget=3 * SIZE,
        order=("a", "b", "y"),
        residences=tuple(
            Residence(tensor=name, first_step=first, last_step=last, address=at, bytes=SIZE)
            for name, (first, last, at) in places.items()
        ),
    )

    def unasked(*_: object) -> None:
        raise AssertionError

    costs = GroupCosts(graph, plan, CorrectedTraffic(unasked, unasked), Delay(bandwidth=1.0))
    kept = dict.fromkeys(("x", "a", "y"), SIZE)

    assert costs.taken(members, kept) == taken


@pytest.mark.parametrize(("budget", "kept"), [(8, {"x", "a", "b"}), (5, {"a", "b"}), (3, {"b"})])
def test_a_group_keeps_on_chip_what_its_lines_leave_space_for(budget: int, kept: set[str]):
    """The largest of its tensors are given up first."""
    net = NetworkBuilder()
    x = net.input("x", (1, 32, 6, 6))
    a = net.conv(x, "a", 16, 1)
    graph = net.build(a, net.conv(a, "b", 8, 1))
    plan = GraphSchedule(
        budget=budget * SIZE,
        order=("a", "b"),
        residences=tuple(
            Residence(tensor=name, first_step=0, last_step=1, address=0, bytes=SIZE)
            for name in ("x", "a", "b")
        ),
    )
    asked: list[frozenset[str]] = []

    def ask(op: Op, here: frozenset[str], space: int) -> None:
        asked.append(here)

    costs = GroupCosts(graph, plan, CorrectedTraffic(ask, ask), Delay(bandwidth=1.0))
    costs.estimated(Group(members=("a", "b"), rows=1))

    assert asked == [frozenset(kept), frozenset()]

"""What a result may replace, and the workspaces that this leaves."""

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Group
from accnn.ir.groups import contracted
from accnn.passes.scheduling.cosma.menu import replaced_operands, streaming_menu
from accnn.passes.scheduling.cosma.problem import problem_of
from accnn.passes.scheduling.cosma.traffic.groups import group_traffic
from accnn.passes.scheduling.cosma.traffic.streaming import analytic_traffic
from tests.networks import NetworkBuilder, per_tensor

SIZE = 8 * 16 * 16


def network(*, late: bool = False, early: bool = False) -> Graph:
    """Return a residual block ``y``, whose input is also read by others, later or before."""
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 16, 16))
    a = net.conv(x, "a", 8, 3)
    b = net.conv(a, "b", 8, 3)
    y = net.op("add", (b, x), "y", quant=per_tensor(0.1))
    if early:
        return net.build(y)
    last = net.conv(y, "z", 8, 1)
    return net.build(net.op("add", (last, x if late else y), "end", quant=per_tensor(0.1)))


@pytest.mark.parametrize(
    ("graph", "replaced"),
    [
        (network(early=True), {"y": ("b", "x")}),
        (network(), {"y": ("b", "x"), "end": ("z", "y")}),
        (network(late=True), {"y": ("b",), "end": ("z", "x")}),
    ],
)
def test_only_what_is_read_last_in_any_order_is_replaced(
    graph: Graph, replaced: dict[str, tuple[str, ...]]
):
    found = replaced_operands(graph, graph)

    assert {name: operands for name, operands in found.items() if operands} == replaced


def test_a_group_that_reads_an_operand_alone_replaces_it_as_its_last_member_does():
    graph = network()
    seen = contracted(graph, (Group(members=("b", "y")),))

    assert replaced_operands(graph, seen)["y"] == ("x",)
    whole = contracted(graph, (Group(members=("a", "b", "y")),))
    assert replaced_operands(graph, whole)["y"] == ()


def test_what_is_read_by_something_that_may_run_later_is_not_replaced():
    net = NetworkBuilder()
    x, other = net.input("x", (1, 8, 16, 16)), net.input("other", (1, 8, 16, 16))
    y = net.op("add", (other, x), "y", quant=per_tensor(0.1))
    z = net.conv(x, "z", 8, 1)
    graph = net.build(net.op("add", (y, z), "end", quant=per_tensor(0.1)))

    assert replaced_operands(graph, graph) == {"y": ("other",), "z": (), "end": ("y", "z")}


@pytest.mark.parametrize("is_replaced", [True, False])
def test_workspaces_take_what_residents_leave_and_no_more(is_replaced: bool):
    graph, arch, budget = network(), load_architecture("simba"), 5 * SIZE // 2
    replaced = replaced_operands(graph, graph) if is_replaced else None
    fast = analytic_traffic(graph, arch, budget)
    menu = streaming_menu(graph, arch, budget, fast, replaced=replaced)

    problem = problem_of(graph, budget, menu=menu, replaced=replaced)

    problem.verify()
    taken = [
        problem.footprint(index, option)
        for index, operation in enumerate(problem.operations)
        for option in operation.menu
    ]
    assert max(taken) <= budget
    assert problem.restrict_menus() == problem
    (add,) = (index for index, item in enumerate(problem.operations) if item.name == "y")
    whole = [option for option in problem.operations[add].menu if not option.streamed]
    assert bool(whole) == is_replaced


def test_each_result_of_a_group_may_pass_in_tiles():
    arch = load_architecture("edge-1m")
    branching = network()
    seen = contracted(branching, (Group(members=("y", "z"), rows=2),))
    assert [value.name for value in seen.producer["z"].results] == ["z", "y"]

    model = group_traffic(branching, Group(members=("y", "z"), rows=2), arch, SIZE)
    problem = problem_of(seen, 8 * SIZE, menu=streaming_menu(seen, arch, 8 * SIZE, model))

    (group,) = (item for item in problem.operations if item.name == "z")
    names = [
        {problem.tensors[tensor].name for tensor, _ in option.streamed} for option in group.menu
    ]
    for streamed in ({"z"}, {"y"}, {"y", "z"}):
        assert streamed in names
    every = next(option for option in group.menu if len(option.streamed) == 4)
    assert sum(size for _, size in every.streamed) == 4 * SIZE

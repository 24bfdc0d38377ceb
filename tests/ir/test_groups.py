"""Groups as operators: what they read, what they make, and where they stand."""

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Group
from accnn.ir.groups import contracted, ends, further_results, group_op, handed_on
from tests.networks import NetworkBuilder, per_tensor


def network(*, is_output: bool = False) -> Graph:
    """Return a sum ``s`` of ``c``, and two filters of it, one of which is filtered again."""
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 6, 6))
    s = net.op("add", (net.conv(x, "c", 8, 1), x), "s", quant=per_tensor(0.1))
    a, b = net.conv(s, "a", 8, 1), net.conv(s, "b", 8, 1)
    d = net.conv(b, "d", 8, 1)
    y = net.op("add", (a, d), "y", quant=per_tensor(0.1))
    return net.build(*([s] if is_output else []), y)


@pytest.mark.parametrize(
    ("members", "further", "last", "inside"),
    [
        (("c", "s"), (), {"s"}, {"c"}),
        (("c", "s", "a"), ("s",), {"a"}, {"c"}),
        (("c", "s", "a", "b"), ("a",), {"a", "b"}, {"c", "s"}),
        (("c", "s", "b", "d"), ("s",), {"d"}, {"c", "b"}),
    ],
)
def test_results_are_the_last_one_and_what_others_read(
    members: tuple[str, ...], further: tuple[str, ...], last: set[str], inside: set[str]
):
    graph = network()

    op = group_op(graph, Group(members=members))

    assert op.name == members[-1]
    assert tuple(value.name for value in op.results) == (members[-1], *further)
    assert further_results(graph, members) == further
    assert ends(graph, members) == last
    assert handed_on(graph, members) == inside
    assert op.inputs[0] == "x"


def test_what_the_network_returns_is_a_result():
    graph = network(is_output=True)

    assert further_results(graph, ("c", "s", "a", "b", "d", "y")) == ("s",)
    assert further_results(network(), ("c", "s", "a", "b", "d", "y")) == ()


def test_who_reads_a_further_result_stands_behind_the_group():
    graph = network()

    found = contracted(graph, (Group(members=("c", "s", "b")),))

    assert [op.name for op in graph.ops] == ["c", "s", "a", "b", "d", "y"]
    assert [op.name for op in found.ops] == ["b", "a", "d", "y"]
    found.verify_uses()


def test_a_group_that_needs_what_is_made_of_its_results_is_none():
    with pytest.raises(VerifyError, match="before it is defined"):
        contracted(network(), (Group(members=("c", "s", "b", "y")),))

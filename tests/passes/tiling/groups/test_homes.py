"""What lies in place in a concatenation, and what cannot."""

from accnn.ir.graph import Graph
from accnn.passes.tiling.groups.homes import Home, homes_of
from tests.networks import NetworkBuilder
from tests.passes.tiling.groups.fused import dense_block, fire


def members(graph: Graph) -> tuple[str, ...]:
    return tuple(op.name for op in graph.ops)


def joined(net: NetworkBuilder, name: str, *operands: str) -> str:
    return net.op("concat", operands, name, {"axis": 1}, net.types[operands[0]].quant)


def test_what_is_joined_lies_in_the_result():
    graph, _ = fire()

    found = homes_of(graph, members(graph))

    assert found == {"narrow": Home("joined", 0), "looked": Home("joined", 9)}


def test_what_comes_from_outside_does_not():
    graph, _ = fire()

    assert homes_of(graph, ("wide", "looked", "joined")) == {"looked": Home("joined", 9)}


def test_what_is_joined_often_lies_in_the_first_result():
    graph, _ = dense_block()

    found = homes_of(graph, members(graph))

    assert found == {"c0": Home("joined1", 11), "c1": Home("joined2", 14), "c2": Home("y", 17)}


def test_a_result_that_is_joined_takes_its_parts_along():
    net = NetworkBuilder()
    x = net.input("x", (1, 4, 5, 5))
    a, b, c = (net.conv(x, name, 3, 1) for name in "abc")
    graph = net.build(joined(net, "y", c, joined(net, "inner", a, b)))

    found = homes_of(graph, members(graph))

    assert found == {
        "c": Home("y", 0),
        "inner": Home("y", 3),
        "a": Home("y", 3),
        "b": Home("y", 6),
    }


def test_what_is_joined_again_keeps_the_result_from_being_part_of_the_next():
    net = NetworkBuilder()
    x = net.input("x", (1, 4, 5, 5))
    a, b = net.conv(x, "a", 3, 1), net.conv(x, "b", 3, 1)
    graph = net.build(joined(net, "y", joined(net, "inner", a, b), a))

    assert homes_of(graph, members(graph)) == {"a": Home("inner", 0), "b": Home("inner", 3)}


def test_what_is_joined_twice_has_lines_of_its_own():
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 4, 5, 5)), "a", 3, 1)
    graph = net.build(joined(net, "y", a, a))

    assert homes_of(graph, members(graph)) == {}


def test_what_is_read_before_it_is_joined_has_lines_of_its_own():
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 4, 5, 5)), "a", 3, 1)
    graph = net.build(joined(net, "y", a, net.conv(a, "b", 3, 3)))

    assert homes_of(graph, members(graph)) == {"b": Home("y", 3)}


def test_what_is_read_after_it_is_joined_is_read_from_there():
    net = NetworkBuilder()
    x = net.input("x", (1, 4, 5, 5))
    a, b = net.conv(x, "a", 3, 1), net.conv(x, "b", 3, 1)
    y = joined(net, "y", a, b)
    graph = net.build(net.op("add", (net.conv(y, "c", 3, 3), a), "z", quant=net.types[a].quant))

    assert homes_of(graph, members(graph)) == {"a": Home("y", 0), "b": Home("y", 3)}


def test_rows_that_are_joined_are_not_in_place():
    net = NetworkBuilder()
    x = net.input("x", (1, 4, 5, 5))
    a, b = net.conv(x, "a", 3, 1), net.conv(x, "b", 3, 1)
    graph = net.build(net.op("concat", (a, b), "y", {"axis": 2}, net.types[a].quant))

    assert homes_of(graph, members(graph)) == {}

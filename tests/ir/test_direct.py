"""Which operands go around the scratchpad."""

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.direct import direct_operands
from accnn.ir.graph_schedule import Group
from accnn.ir.groups import group_op
from tests.networks import NetworkBuilder, per_tensor

SIMBA, EDGE = load_architecture("simba"), load_architecture("edge-1m")


@pytest.mark.parametrize(("arch", "names"), [(SIMBA, {"w"}), (EDGE, set())])
def test_computed_weights_do_where_the_scratchpad_holds_none(arch, names: set[str]):
    net = NetworkBuilder()
    operands = (net.input("x", (4, 8)), net.input("w", (6, 8)))
    graph = net.build(net.op("dense", operands, "y", quant=per_tensor(0.1)))

    assert direct_operands(graph, graph.producer["y"], arch) == names


@pytest.mark.parametrize(("arch", "names"), [(SIMBA, {"k", "v", "t"}), (EDGE, {"t"})])
def test_those_of_the_members_of_a_group_do(arch, names: set[str]):
    net = NetworkBuilder()
    x, k, v = net.input("x", (4, 8)), net.input("k", (6, 8)), net.input("v", (5, 6))
    table = net.input("t", (256,))
    net.types[table] = net.inputs[-1].type
    scores = net.op("dense", (x, k), "scores", quant=per_tensor(0.1))
    looked = net.op("lookup", (scores, table), "looked", quant=per_tensor(0.1))
    graph = net.build(net.op("dense", (looked, v), "y", quant=per_tensor(0.1)))
    op = group_op(graph, Group(members=("scores", "looked", "y")))

    assert direct_operands(graph, op, arch) == names


@pytest.mark.parametrize("arch", [SIMBA, EDGE])
def test_constants_are_none_of_them(arch):
    net = NetworkBuilder()
    graph = net.build(net.dense(net.input("x", (4, 8)), "y", 6))

    assert direct_operands(graph, graph.producer["y"], arch) == frozenset()


@pytest.mark.parametrize("arch", [SIMBA, EDGE])
def test_operands_of_other_operators_are_none_of_them(arch):
    net = NetworkBuilder()
    x = net.input("x", (4, 8))
    graph = net.build(net.op("add", (x, x), "y", quant=per_tensor(0.1)))

    assert direct_operands(graph, graph.producer["y"], arch) == frozenset()

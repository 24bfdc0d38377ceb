"""Which operands go around the scratchpad."""

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.direct import direct_operands
from tests.networks import NetworkBuilder, per_tensor

SIMBA, EDGE = load_architecture("simba"), load_architecture("edge-1m")


@pytest.mark.parametrize(("arch", "names"), [(SIMBA, {"w"}), (EDGE, set())])
def test_computed_weights_do_where_the_scratchpad_holds_none(arch, names: set[str]):
    net = NetworkBuilder()
    operands = (net.input("x", (4, 8)), net.input("w", (6, 8)))
    graph = net.build(net.op("dense", operands, "y", quant=per_tensor(0.1)))

    assert direct_operands(graph, graph.producer["y"], arch) == names


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

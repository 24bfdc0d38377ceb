"""The order in which weights that are moved results come first."""

from accnn.ir.graph import Graph
from accnn.passes.scheduling.fusion.weights_first import weights_first
from tests.networks import NetworkBuilder, per_tensor


def attention(*, is_read: bool = False) -> Graph:
    """Return two products of computed tensors; what is turned is made right before it is read."""
    net = NetworkBuilder()
    x, t = net.input("x", (6, 8)), net.input("t", (8, 6))
    v = net.dense(x, "v", 8)
    q = net.dense(x, "q", 8)
    scores = net.op("dense", (q, net.dense(x, "k", 8)), "scores", quant=per_tensor(0.1))
    turned = net.op("transpose", (v,), "turned", {"perm": (1, 0)}, net.types[v].quant)
    again = net.op("reshape", (turned,), "again", {"shape": (8, 6)}, net.types[v].quant)
    values = net.op("dense", (scores, again), "values", quant=per_tensor(0.1))
    given = net.op("transpose", (t,), "given", {"perm": (1, 0)}, net.types[t].quant)
    y = net.op("dense", (values, given), "y", quant=per_tensor(0.1))
    return net.build(y, *(("turned",) if is_read else ()))


def test_moves_come_behind_what_they_read():
    graph = attention()
    order = tuple(op.name for op in graph.ops)
    assert order == ("v", "q", "k", "scores", "turned", "again", "values", "given", "y")

    found = weights_first(graph, order)

    assert found == ("v", "turned", "again", "q", "k", "scores", "values", "given", "y")
    assert weights_first(graph, found) == found


def test_an_output_and_what_others_read_stay():
    order = tuple(op.name for op in attention(is_read=True).ops)

    found = weights_first(attention(is_read=True), order)

    assert found == order

"""What a result may be written over: operands that are read element by element as it is made."""

from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Group
from accnn.ir.groups import group_op
from accnn.ir.in_place import replaceable
from accnn.ir.types import DType, TensorType
from tests.networks import NetworkBuilder, per_tensor

IMAGE = (1, 8, 6, 6)
"""Shape of what the operators below read and make."""


def paired(shape: tuple[int, ...] = IMAGE, kind: str = "add") -> Graph:
    """Return an operator of an image ``a`` and of ``b``, of some shape."""
    net = NetworkBuilder()
    operands = (net.input("a", IMAGE), net.input("b", shape))
    return net.build(net.op(kind, operands, "y", quant=per_tensor(0.1)))


def test_operands_of_one_element_may_be_replaced():
    graph = paired()

    assert replaceable(graph, graph.producer["y"]) == ("a", "b")


def test_what_is_broadcast_may_not():
    graph = paired((1, 8, 1, 1), "mul")

    assert replaceable(graph, graph.producer["y"]) == ("a",)


def test_nor_what_other_elements_of_the_result_are_made_of():
    net = NetworkBuilder()
    x = net.input("x", IMAGE)
    attrs = {"kernel": (3, 3), "stride": (1, 1), "pads": (1, 1, 1, 1)}
    pooled = net.op("max_pool", (x,), "pooled", attrs)
    graph = net.build(net.conv(pooled, "y", 8, 1))

    assert {name: replaceable(graph, graph.producer[name]) for name in ("pooled", "y")} == {
        "pooled": (),
        "y": (),
    }


def test_nor_elements_of_another_size_nor_constants():
    net = NetworkBuilder()
    x = net.input("x", IMAGE)
    summed = net.op("add", (x, net.constant("k", IMAGE, DType.S8, per_tensor(0.1))), "summed")
    graph = net.build(net.floats(summed, "y"))

    assert graph.types["y"] == TensorType(DType.F32, IMAGE)
    assert replaceable(graph, graph.producer["summed"]) == ("x",)
    assert replaceable(graph, graph.producer["y"]) == ()


def test_a_table_is_no_such_operand():
    net = NetworkBuilder()
    x = net.input("x", (256,))
    table = net.input("t", (256,))
    net.types[table] = net.inputs[-1].type
    graph = net.build(net.op("lookup", (x, table), "y", quant=per_tensor(0.1)))

    assert replaceable(graph, graph.producer["y"]) == ("x",)


def block(*, activated: bool = False) -> Graph:
    """Return a residual block: two filters, and what they add to their input ``x``."""
    net = NetworkBuilder()
    x = net.input("x", IMAGE)
    a = net.conv(x, "a", 8, 3)
    b = net.conv(a, "b", 8, 3)
    y = net.op("add", (b, x), "y", quant=per_tensor(0.1))
    if not activated:
        return net.build(y)
    table = net.constant("t", (256,), DType.S8, per_tensor(0.1))
    return net.build(net.op("lookup", (y, table), "z", quant=per_tensor(0.1)))


def of_group(graph: Graph, *members: str) -> tuple[str, ...]:
    return replaceable(graph, group_op(graph, Group(members=members)))


def test_a_group_may_replace_what_its_last_members_read_as_they_finish_tiles():
    assert of_group(block(), "b", "y") == ("x",)
    assert of_group(block(activated=True), "b", "y", "z") == ("x",)
    assert of_group(block(activated=True), "y", "z") == ("b", "x")


def test_not_what_another_member_reads_too():
    assert of_group(block(), "a", "b", "y") == ()


def test_not_what_members_read_before_a_filter():
    net = NetworkBuilder()
    operands = (net.input("x", IMAGE), net.input("k", IMAGE))
    y = net.op("add", operands, "y", quant=per_tensor(0.1))
    graph = net.build(net.conv(y, "z", 8, 1))

    assert of_group(graph, "y", "z") == ()

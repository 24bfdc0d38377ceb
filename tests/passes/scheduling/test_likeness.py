"""Operators that are tiled alike get one answer, under their own names."""

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Group
from accnn.ir.groups import contracted
from accnn.ir.types import DType
from accnn.passes.scheduling.cosma.traffic.tiled import Terms, TiledTraffic
from accnn.passes.scheduling.likeness import Likenesses
from tests.networks import NetworkBuilder, per_tensor

WORKSPACE = 30_000


def blocks() -> Graph:
    """Two equal blocks in a row, and a convolution of another kernel."""
    net = NetworkBuilder()
    x = net.input("x", (1, 16, 12, 12))
    a = net.conv(x, "z", 16, 3)
    b = net.conv(a, "b", 16, 3)
    c = net.conv(b, "a", 16, 3)
    d = net.conv(c, "d", 16, 3)
    return net.build(net.conv(d, "e", 16, 1))


def test_equal_blocks_are_alike_and_others_are_not():
    graph = blocks()
    of = Likenesses(graph).of
    numbers = {op.name: of(op).number for op in graph.ops}

    assert numbers["z"] == numbers["b"] == numbers["a"] == numbers["d"]
    assert numbers["e"] != numbers["z"]


def test_what_is_constant_tells_operators_apart():
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 6, 6))
    y = net.input("y", (1, 8, 6, 6))
    net.constant("k", (1, 8, 6, 6), DType.S8, per_tensor(0.1, 4))
    graph = net.build(
        net.op("add", (net.op("add", (x, y), "a"), net.op("add", (x, "k"), "b")), "c")
    )
    of = Likenesses(graph).of
    a, b, c = (of(op).number for op in graph.ops)

    assert a == c
    assert a != b


def test_an_operand_that_is_read_twice_is_no_pair():
    net = NetworkBuilder()
    x, y = net.input("x", (1, 8, 6, 6)), net.input("y", (1, 8, 6, 6))
    graph = net.build(net.op("add", (net.op("add", (x, x), "a"), y), "b"))
    of = Likenesses(graph).of

    assert of(graph.ops[0]).number != of(graph.ops[1]).number


def test_groups_are_alike_if_their_members_and_rows_are():
    graph = blocks()
    first, second = Group(members=("z", "b"), rows=2), Group(members=("a", "d"), rows=2)
    taller = Group(members=("a", "d"), rows=3)
    of = Likenesses(graph).of
    units = contracted(graph, (first, second)).producer
    others = contracted(graph, (taller,)).producer

    assert of(units["b"]).number == of(units["d"]).number
    assert of(units["b"]).number != of(others["d"]).number


def test_groups_of_which_others_read_more_are_not_alike():
    """What the first one hands on is read once more: it is stored, and bytes of it are counted."""
    net = NetworkBuilder()
    floats = [net.floats(net.input(name, (1, 8, 6, 6)), f"{name}f") for name in "xy"]
    for name in floats:
        made = net.op("quantize", (name,), f"{name}q", quant=per_tensor(0.1))
        net.floats(made, f"{name}back")
    again = net.op("max_pool", ("xfq",), "again", {"kernel": (2, 2), "stride": (2, 2)})
    graph = net.build("xfback", "yfback", again)
    first, second = (Group(members=(f"{name}q", f"{name}back")) for name in floats)
    units = contracted(graph, (first, second)).producer
    model = TiledTraffic(Terms(graph, load_architecture("edge-1m")))

    of = Likenesses(graph).of
    assert of(units["xfback"]).number != of(units["yfback"]).number
    for name in ("xfback", "yfback"):
        found = model(units[name], frozenset(), WORKSPACE)
        assert {tensor for tensor, _ in found.activations} == set(units[name].touched)


@pytest.mark.parametrize("streamed", ["operand", "result", "both"])
def test_one_is_measured_for_all_that_are_alike(monkeypatch, streamed):
    graph, arch = blocks(), load_architecture("edge-1m")
    asked: list[str] = []
    measured = TiledTraffic._measured

    def counted(self, op, resident, workspace):
        asked.append(op.name)
        return measured(self, op, resident, workspace)

    monkeypatch.setattr(TiledTraffic, "_measured", counted)
    model = TiledTraffic(Terms(graph, arch))
    found = {}
    for name in ("z", "b", "a"):
        op = graph.producer[name]
        resident = {"operand": {name}, "result": {op.operands[0]}, "both": set()}[streamed]
        found[name] = model(op, frozenset(resident), WORKSPACE)
        alone = TiledTraffic(Terms(graph, arch))(op, frozenset(resident), WORKSPACE)
        assert found[name] == alone

    assert asked == ["z", "z", "b", "a"]  # twice by the model of one operator alone
    assert {name for name, _ in found["b"].activations} <= {"z", "b"}
    assert found["z"].total == found["b"].total > 0

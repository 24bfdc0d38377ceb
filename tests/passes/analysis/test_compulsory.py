"""What windows step over need not move."""

import pytest

from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Group
from accnn.ir.ops import workload
from accnn.passes.analysis.compulsory import (
    compulsory_group_bytes,
    compulsory_network_bytes,
    needed_macs,
)
from tests.flow import compile_graph
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import compile_fused
from tests.thinned import thinned
from tests.tiles import tiles_of


def convolution(stride: int) -> tuple[Graph, dict]:
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 16, 16))
    return net.build(net.conv(x, "y", 4, 1, stride=stride)), net.data


def pool(stride: int) -> tuple[Graph, dict]:
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 16, 16))
    attrs = {"kernel": (1, 2), "stride": (stride, 2)}
    return net.build(net.op("max_pool", (x,), "y", attrs)), net.data


@pytest.mark.parametrize("network", [convolution, pool])
def test_lines_between_windows_do_not_count(network):
    dense, _ = network(1)
    sparse, _ = network(4)
    made = [graph.types["y"].bytes for graph in (dense, sparse)]
    constants = sum(item.type.bytes for item in dense.constants)

    assert compulsory_network_bytes(dense).total == 8 * 16 * 16 + constants + made[0]
    columns = 4 if network is convolution else 16
    assert compulsory_network_bytes(sparse).total == 8 * 4 * columns + constants + made[1]


@pytest.mark.parametrize(
    ("arch", "network", "scheduler", "budget"),
    [
        *thinned(
            ["simba", "edge-1m"],
            [convolution, pool],
            ["cosma", "in-order"],
            [300, 600, 2000, None],
            one_in=3,
        )
    ],
)
def test_no_plan_moves_less_than_its_bound(arch: str, network, scheduler: str, budget: int | None):
    graph, data = network(4)

    plan = compile_graph(
        graph, data, arch, budget=budget, scheduler=scheduler
    ).module.graph_schedule

    assert plan is not None
    assert plan.bound <= plan.objective


def skipping() -> tuple[Graph, dict]:
    """A convolution of each pixel, and a pool that leaves out every third row of it."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 8, 12, 6)), "a", 16, 1)
    return net.build(net.op("max_pool", (a,), "y", {"kernel": (2, 1), "stride": (3, 1)})), net.data


def test_rows_that_no_output_depends_on_do_not_count():
    graph, _ = skipping()
    constants = sum(item.type.bytes for item in graph.constants)

    assert compulsory_network_bytes(graph).total == 8 * 8 * 6 + constants + graph.types["y"].bytes


def graph_macs(graph: Graph) -> int:
    """Multiply-accumulates of all operators, whatever is read of them."""
    return sum(load.macs for op in graph.ops if (load := workload(op, graph.types)) is not None)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("arch", ["simba", "edge-1m"])
def test_multiplications_that_no_output_depends_on_are_not_needed(arch: str, rows: int):
    graph, data = skipping()
    compiled = compile_fused(graph, data, arch, (Group(members=("a", "y"), rows=rows),))

    (needed,) = filter(None, needed_macs(graph).values())

    assert needed == 8 * 16 * 8 * 6  # of 12 rows, 8 are read
    computed = compiled.run().total.macs
    assert needed == computed if rows == 1 else needed < computed < graph_macs(graph)


def test_multiplications_of_what_is_no_image_are_all_needed():
    net = NetworkBuilder()
    graph = net.build(net.dense(net.input("x", (3, 8)), "y", 5))

    assert needed_macs(graph) == {"y": 3 * 8 * 5}


def test_what_is_computed_of_single_pixels_needs_no_others():
    net = NetworkBuilder()
    inputs = net.input("x", (1, 8, 12, 6)), net.input("z", (1, 8, 12, 6))
    a = net.op("add", inputs, "a", quant=per_tensor(0.1))
    graph = net.build(net.op("max_pool", (a,), "y", {"kernel": (2, 1), "stride": (3, 2)}))

    assert compulsory_network_bytes(graph).total == 2 * 8 * 8 * 3 + graph.types["y"].bytes


def test_what_is_sliced_off_need_not_be_read():
    net = NetworkBuilder()
    x = net.input("x", (16, 8))
    attrs = {"starts": (2, 0), "steps": (3, 1), "shape": (4, 8)}
    graph = net.build(net.op("slice", (x,), "y", attrs, net.types[x].quant))

    assert compulsory_network_bytes(graph).total == 4 * 8 + 4 * 8


@pytest.mark.parametrize(
    ("arch", "rows"), [*thinned(["simba", "flexer-arch5"], [1, 2, 4], one_in=3)]
)
def test_no_group_moves_less_than_the_bound(arch: str, rows: int):
    graph, data = skipping()

    compiled = compile_fused(graph, data, arch, (Group(members=("a", "y"), rows=rows),))

    assert compulsory_network_bytes(graph).total <= tiles_of(compiled.module).transferred_bytes
    assert compiled.wrong(compiled.run()) == []


def test_a_group_reads_what_its_results_need_and_makes_what_others_read():
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 4, 8, 8)), "a", 6, 1)
    b = net.conv(a, "b", 8, 1, stride=2)
    graph = net.build(net.conv(net.op("add", (b, b), "c"), "y", 2, 1))

    assert compulsory_group_bytes(graph, ("a", "b")) == {"x": 4 * 4 * 4, "b": 8 * 4 * 4}
    assert compulsory_group_bytes(graph, ("a",)) == {"x": 4 * 8 * 8, "a": 6 * 8 * 8}
    assert compulsory_group_bytes(graph, ("c", "y")) == {"b": 8 * 4 * 4, "y": 2 * 4 * 4}

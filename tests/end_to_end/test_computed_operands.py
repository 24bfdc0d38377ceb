"""Weights and biases that are computed, or inputs of the network."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from accnn.backend.lowering.lower import lower
from accnn.compiler.verification.observe import observed
from accnn.ir.errors import SimulationError, VerifyError
from accnn.ir.graph import Graph, Op, Value
from accnn.ir.isa.instructions import Space
from accnn.ir.isa.spaces import space_bytes
from accnn.ir.module import Module
from accnn.ir.ops import make_op
from accnn.ir.tiles.graph import Role, TileGraph
from accnn.ir.types import DType, TensorType
from accnn.passes.scheduling.network.join import join
from accnn.passes.scheduling.static.static import schedule_static
from accnn.passes.tiling.residency import residency
from tests.flow import Array, Compiled, compile_graph
from tests.networks import NetworkBuilder, per_tensor
from tests.thinned import thinned
from tests.tiles import by_themselves

Network = tuple[Graph, Mapping[str, Array]]


def of_inputs() -> Network:
    """Return a product of two inputs."""
    net = NetworkBuilder()
    operands = (net.input("x", (9, 24)), net.input("w", (20, 24)))
    return net.build(net.op("dense", operands, "y", quant=per_tensor(0.4, 2))), net.data


def computed() -> Network:
    """Return a product of two sums; its weights are read in their other role, too."""
    net = NetworkBuilder()
    x, w = net.input("x", (20, 24)), net.input("w", (20, 24))
    a = net.op("add", (x, x), "a", quant=per_tensor(0.1))
    b = net.op("add", (w, w), "b", quant=per_tensor(0.1, 4))
    y = net.op("dense", (a, b), "y", quant=per_tensor(0.4, 2))
    z = net.op("add", (a, b), "z", quant=per_tensor(0.2))
    return net.build(y, z), net.data


def with_itself() -> Network:
    """Return a product of a tensor with itself."""
    net = NetworkBuilder()
    x = net.input("x", (20, 24))
    a = net.op("add", (x, x), "a", quant=per_tensor(0.1, 3))
    return net.build(net.op("dense", (a, a), "y", quant=per_tensor(0.4, 2))), net.data


def convolution() -> Network:
    """Return a convolution with computed weights."""
    net = NetworkBuilder()
    x, w = net.input("x", (1, 6, 9, 9)), net.input("w", (10, 6, 3, 3))
    b = net.op("add", (w, w), "b", quant=per_tensor(0.1, 4))
    attrs = {"stride": (1, 1), "pads": (1, 1, 1, 1), "dilation": (1, 1), "groups": 1}
    return net.build(net.op("conv2d", (x, b), "y", attrs, per_tensor(0.6))), net.data


NETWORKS: Mapping[str, Callable[[], Network]] = {
    "two inputs": of_inputs,
    "two sums": computed,
    "a tensor with itself": with_itself,
    "a convolution": convolution,
}


PLANS = (
    ("cosma", "flexer-across"),
    ("in-order", "static"),
    ("default-greedy", "flexer-across"),
    ("cosma", "static"),
    ("in-order", "flexer-across"),
    ("default-greedy", "static"),
)


@pytest.mark.parametrize(
    ("network", "arch", "plan"),
    [*thinned([*NETWORKS], ["simba", "edge-1m", "flexer-arch5"], PLANS, one_in=12)],
)
def test_values_are_right(network: str, arch: str, plan: tuple[str, str]):
    scheduler, tiles = plan
    graph, data = NETWORKS[network]()

    for budget in (None, 600):
        compiled = compile_graph(
            graph, data, arch, budget=budget, scheduler=scheduler, tiles=tiles, all_off_chip=False
        )

        assert compiled.wrong(compiled.run(detect_races=True)) == []


@pytest.mark.parametrize("scheduler", ["cosma", "in-order"])
def test_a_computed_bias_is_right(scheduler: str):
    shapes = {"x": (3, 4), "w": (5, 4), "b": (5,)}
    inputs = [Value(name, TensorType(DType.F32, shape)) for name, shape in shapes.items()]
    types = {item.name: item.type for item in inputs}
    ops: list[Op] = []
    for kind, operands, name in (
        ("relu", ("w",), "v"),
        ("relu", ("b",), "c"),
        ("dense", ("x", "v", "c"), "y"),
        ("add", ("y", "c"), "z"),
    ):
        ops.append(make_op(kind, operands, types, name))
        types[name] = ops[-1].result.type
    graph = Graph(name="test", inputs=tuple(inputs), constants=(), ops=tuple(ops), outputs=("z",))

    compiled = compile_graph(graph, {}, "edge-fp32", scheduler=scheduler, all_off_chip=False)

    result = compiled.run(detect_races=True)
    np.testing.assert_allclose(result.outputs["z"], compiled.expected["z"], rtol=1e-5)


def with_weights_from_off_chip() -> Compiled:
    """Return a program that loads tiles of weights which lie on chip, and nowhere else."""
    compiled = compile_graph(*computed(), "edge-1m", scheduler="in-order", all_off_chip=False)
    module = compiled.module
    assert module.arch is not None and module.graph_schedule is not None
    op = module.graph.producer["y"]
    place = residency(module.graph, module.graph_schedule, op)
    assert "b" in place.addresses
    rooms = {space: (0, size) for space, size in space_bytes(module.arch).items()}
    rooms[Space.GB] = (place.workspace_address, place.workspace_bytes)
    schedules = [
        schedule_static(_loading_weights(item.graph), module.arch, rooms)
        if item.graph.operators == ("y",)
        else item
        for item in by_themselves(module)
    ]
    return _lowered(compiled, replace(module, tile_schedule=join(module, schedules, "static")))


def _loading_weights(graph: TileGraph) -> TileGraph:
    tiles = [replace(tile, address=None) if tile.role is Role.W else tile for tile in graph.tiles]
    return replace(graph, tiles=tuple(tiles))


def _lowered(compiled: Compiled, module: Module) -> Compiled:
    return replace(compiled, module=replace(module, program=lower(module).program))


def test_weights_that_are_not_off_chip_are_missed():
    wrong = with_weights_from_off_chip()

    with pytest.raises(VerifyError, match="loads a tile of %b before it is off chip"):
        wrong.module.verify()


def test_what_nothing_has_written_is_missed_by_the_simulator():
    wrong = with_weights_from_off_chip()

    with pytest.raises(SimulationError, match="of dram, which nothing has written"):
        wrong.run()


def test_looking_at_tensors_does_not_mend_them():
    wrong = with_weights_from_off_chip()

    shown = _lowered(wrong, observed(wrong.module))

    result = shown.run(detect_races=False)
    assert "b" not in result.stored
    assert shown.wrong(result) == ["y"]
    alone = wrong.run(detect_races=False)
    assert not np.array_equal(alone.outputs["y"], wrong.expected["y"])

"""Averages over images that do not fit the scratchpad."""

import numpy as np
import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph import Graph, Value
from accnn.ir.module import Module
from accnn.ir.ops import make_op
from accnn.ir.resources import Constants
from accnn.ir.types import DType, Quantization, TensorType
from accnn.passes.base import Context
from accnn.passes.graph.split_averages import SplitAverages
from accnn.runtime_sim.reference.run import run
from tests.flow import compile_graph
from tests.networks import NetworkBuilder, per_tensor
from tests.thinned import thinned

SIMBA = load_architecture("simba")
SCRATCHPAD = 128 * 1024


def average(shape: tuple[int, ...], dtype: DType = DType.S8, **attrs: int) -> Graph:
    """Return the average of an input image."""
    quant = None if dtype is DType.F32 else Quantization((0.0625,), (3,))
    result = None if dtype is DType.F32 else Quantization((0.03125,), (5,))
    types = {"x": TensorType(dtype, shape, quant)}
    op = make_op("global_avg_pool", ("x",), types, "y", attrs=attrs, dtype=dtype, quant=result)
    return Graph(
        name="g", inputs=(Value("x", types["x"]),), constants=(), ops=(op,), outputs=("y",)
    )


def split(graph: Graph) -> Graph:
    module = Module(graph=graph, arch=SIMBA, constants=Constants())
    after = SplitAverages().run(module, Context())
    after.verify()
    assert (after is module) == (after.graph == graph)
    return after.graph


@pytest.mark.parametrize("dtype", [DType.S8, DType.U8])
@pytest.mark.parametrize(
    ("shape", "sums"),
    [
        ((1, 1000, 13, 13), DType.S16),
        ((2, 600, 11, 12), DType.S16),
        ((1, 9, 120, 128), DType.S16),
        ((1, 9, 120, 129), DType.S32),
        ((1, 1, 300, 600), DType.S32),
    ],
)
def test_the_result_is_the_same_to_the_bit(shape: tuple[int, ...], sums: DType, dtype: DType):
    graph = average(shape, dtype, qlo=2, qhi=99)
    after = split(graph)

    first, second = after.ops
    assert (first.kind, second.kind) == ("sum_pool", "global_avg_pool")
    assert first.result.type.dtype is sums
    assert first.result.type.shape == (*shape[:3], 1)
    assert second.result == graph.ops[0].result
    least, most = dtype.range
    rng = np.random.default_rng(0)
    image = rng.integers(least, most + 1, shape)
    for x in (image, np.full(shape, least), np.full(shape, most)):
        inputs = {"x": x.astype(np.int8 if dtype is DType.S8 else np.uint8)}
        assert np.array_equal(*(run(g, Constants(), inputs)["y"] for g in (graph, after)))


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((1, 128, 32, 32), DType.S8),  # just fits
        ((1, SCRATCHPAD, 1, 8), DType.S8),  # has one row, whose sum is the result
        ((1, SCRATCHPAD, 8, 3), DType.S8),  # sums would take more than half as much
        ((1, 128, 64, 64), DType.F32),  # would be rounded otherwise
        ((1, 1, 2, 9_000_000), DType.S8),  # no type holds the sum of a row
    ],
)
def test_others_are_left_as_they_are(shape: tuple[int, ...], dtype: DType):
    graph = average(shape, dtype)

    assert split(graph) == graph


def test_what_is_split_is_not_split_again():
    once = split(average((1, 20_000, 5, 4)))

    assert [op.kind for op in once.ops] == ["sum_pool", "global_avg_pool"]
    assert once.types["y.sums"].bytes > SCRATCHPAD
    assert split(once) == once


def squeezed(channels: int = 330, size: int = 20) -> tuple[Graph, dict]:
    """Return a filter whose image is averaged and scaled by what comes of that."""
    net = NetworkBuilder()
    image = net.conv(net.input("x", (1, 16, size, size)), "image", channels, 1)
    pooled = net.op("global_avg_pool", (image,), "pooled", quant=per_tensor(0.02, 4))
    gate = net.conv(net.conv(pooled, "squeeze", 12, 1), "gate", channels, 1)
    scaled = net.op("mul", (image, gate), "scaled", quant=per_tensor(0.1, 2))
    return net.build(net.conv(scaled, "y", 24, 1)), net.data


@pytest.mark.parametrize("arch", [*thinned(["simba", "flexer-arch5"])])
def test_programs_are_right_however_they_are_scheduled(arch: str):
    graph, data = squeezed(720 if arch == "flexer-arch5" else 330)
    for scheduler, tiles in (("in-order", "flexer-across"), ("cosma", "static")):
        is_stored = scheduler == "in-order"
        compiled = compile_graph(
            graph, data, arch, scheduler=scheduler, tiles=tiles, all_off_chip=is_stored
        )

        assert "pooled.sums" in compiled.module.graph.types
        assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_the_sums_are_made_with_the_image():
    """It is stored once and loaded once, for the product; nothing else of it moves."""
    graph, data = squeezed()
    compiled = compile_graph(graph, data, "simba", scheduler="cosma", all_off_chip=False)

    plan, schedule = compiled.module.graph_schedule, compiled.module.tile_schedule
    assert plan is not None
    assert schedule is not None
    assert any({"image", "pooled.sums"} <= set(group.members) for group in plan.groups)
    image = graph.types["image"].bytes
    moved = sum(
        schedule.graph.tiles[event.subject].bytes
        for event in schedule.events
        if event.unit == "dma" and schedule.graph.tiles[event.subject].tensor == "image"
    )
    assert moved == 2 * image
    assert compiled.wrong(compiled.run(detect_races=True)) == []

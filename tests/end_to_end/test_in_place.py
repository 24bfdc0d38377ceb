"""Results that a plan writes over operands are right, whoever orders the tiles."""

import pytest

from tests.flow import Compiled, compile_graph
from tests.networks import NetworkBuilder, per_tensor

CHANNELS, SIZE = 8, 12
TENSOR = CHANNELS * SIZE * SIZE


def residual(arch: str, size: int, tiles: str, *, all_off_chip: bool) -> Compiled:
    """Return residual blocks, each of which hands on a tensor that is as large as its input.

    The scratchpad holds two and a half of them.
    """
    net = NetworkBuilder()
    x = net.conv(net.input("x", (1, CHANNELS, size, size)), "x0", CHANNELS, 3)
    for number in range(3):
        a = net.conv(x, f"a{number}", CHANNELS, 3)
        b = net.conv(a, f"b{number}", CHANNELS, 3)
        x = net.op("add", (b, x), f"y{number}", quant=per_tensor(0.1))
    graph = net.build(x)
    return compile_graph(
        graph,
        net.data,
        arch,
        budget=CHANNELS * size * size * 13 // 5,
        scheduler="cosma",
        tiles=tiles,
        all_off_chip=all_off_chip,
        comfortable=8192,
    )


@pytest.mark.parametrize(
    ("arch", "size", "tiles", "all_off_chip"),
    [
        ("simba", 12, "static", False),
        pytest.param("simba", 12, "static", True, marks=pytest.mark.slow),
        ("edge-1m", 6, "flexer", False),
        ("simba", 12, "static-across", True),
        ("flexer-arch5", 6, "flexer-across", False),
        pytest.param("flexer-arch5", 6, "flexer-across", True, marks=pytest.mark.slow),
        pytest.param("edge-1m", 12, "flexer", False, marks=pytest.mark.slow),
        pytest.param("simba", 12, "static-across", False, marks=pytest.mark.slow),
        pytest.param("flexer-arch5", 12, "flexer-across", False, marks=pytest.mark.slow),
        pytest.param("flexer-arch5", 12, "flexer-across", True, marks=pytest.mark.slow),
    ],
)
def test_sums_of_residual_blocks_are_right(arch: str, size: int, tiles: str, all_off_chip: bool):
    compiled = residual(arch, size, tiles, all_off_chip=all_off_chip)

    plan = compiled.module.graph_schedule
    assert plan is not None
    assert {item.tensor for item in plan.in_place} == {"y0", "y1"}
    assert compiled.wrong(compiled.run(detect_races=True)) == []


@pytest.mark.parametrize("tiles", ["static", "flexer-across"])
def test_pools_and_sums_need_no_more_room_than_two_tensors(tiles: str):
    net = NetworkBuilder()
    x = net.input("x", (1, CHANNELS, SIZE, SIZE))
    attrs = {"kernel": (3, 3), "stride": (1, 1), "pads": (1, 1, 1, 1)}
    for number in range(3):
        pooled = net.op("max_pool", (x,), f"p{number}", attrs)
        x = net.op("add", (pooled, x), f"y{number}", quant=per_tensor(0.1))
    graph = net.build(x)

    compiled = compile_graph(
        graph, net.data, "simba", budget=2 * TENSOR, scheduler="cosma", tiles=tiles
    )

    plan = compiled.module.graph_schedule
    assert plan is not None
    assert {item.tensor for item in plan.in_place} == {"y0", "y1", "y2"}
    assert plan.objective == 2 * TENSOR
    assert compiled.wrong(compiled.run(detect_races=True)) == []

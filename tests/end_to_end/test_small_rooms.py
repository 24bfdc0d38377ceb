"""Programs are right where hardly a tile fits."""

import pytest

from tests.flow import Compiled, compile_graph
from tests.networks import NetworkBuilder
from tests.tiles import tiles_of


def pointwise(tiles: str) -> Compiled:
    """Return a convolution whose weights take most of the scratchpad."""
    net = NetworkBuilder()
    x = net.input("x", (1, 128, 6, 6))
    graph = net.build(net.conv(x, "y", 16, 1))
    return compile_graph(graph, net.data, "edge-1m", budget=2048, mapper="cosa", tiles=tiles)


@pytest.mark.parametrize("tiles", ["static", "flexer", "static-across", "flexer-across"])
def test_sums_start_from_zero(tiles: str):
    compiled = pointwise(tiles)

    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_a_tile_of_sums_may_take_several_operations_for_one_product():
    schedule = tiles_of(pointwise("static").module)

    parts = {(op.out, op.sums) for op in schedule.graph.ops if op.accumulates}
    assert len(parts) > len({tile for tile, _ in parts})

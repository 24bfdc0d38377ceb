"""Groups that others read results of on the way: chosen, right, and judged layer by layer."""

import pytest

from accnn.ir.groups import further_results
from accnn.ir.tiles.events import EventKind
from tests.flow import Compiled, compile_graph
from tests.networks import NetworkBuilder, per_tensor

BUDGET = 12_000


def compiled_shortcut(tiles: str, *, all_off_chip: bool = False) -> Compiled:
    """Return a residual block, whose filter takes most of the scratchpad, and what is before it."""
    net = NetworkBuilder()
    x = net.input("x", (1, 32, 20, 20))
    sums = net.op("add", (net.conv(x, "c", 32, 1), x), "sum", quant=per_tensor(0.1, 1))
    b = net.conv(net.conv(sums, "a", 16, 1), "b", 32, 3)
    graph = net.build(net.op("add", (b, sums), "y", quant=per_tensor(0.1, 1)))
    return compile_graph(
        graph,
        net.data,
        "flexer-arch5",
        budget=BUDGET,
        scheduler="cosma",
        tiles=tiles,
        all_off_chip=all_off_chip,
        comfortable=8192,
    )


@pytest.mark.parametrize(
    ("tiles", "all_off_chip"),
    [
        pytest.param("static", False, marks=pytest.mark.slow),
        ("flexer-across", False),
        pytest.param("static", True, marks=pytest.mark.slow),
        pytest.param("static-across", True, marks=pytest.mark.slow),
    ],
)
def test_a_sum_that_is_read_twice_comes_back_once(tiles: str, all_off_chip: bool):
    compiled = compiled_shortcut(tiles, all_off_chip=all_off_chip)

    plan, schedule = compiled.module.graph_schedule, compiled.module.tile_schedule
    assert plan is not None
    assert schedule is not None
    further = {
        name
        for group in plan.groups
        for name in further_results(compiled.module.graph, group.members)
    }
    assert further == {"sum"}
    tiles_of_sum = {
        number for number, tile in enumerate(schedule.graph.tiles) if tile.tensor == "sum"
    }
    moved = [
        (event.kind, event.step)
        for event in schedule.events
        if event.kind is not EventKind.COMPUTE and event.subject in tiles_of_sum
    ]
    assert {kind for kind, _ in moved} == {EventKind.STORE, EventKind.LOAD}
    loaded = {step for kind, step in moved if kind is EventKind.LOAD}
    assert loaded == {plan.step_of["y"]}
    assert compiled.wrong(compiled.run(detect_races=True)) == []

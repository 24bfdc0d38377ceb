"""What tiles need at once is a bound that schedules meet, and nothing that fits is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph_schedule import Group
from accnn.ir.isa.instructions import Space
from accnn.ir.tiles.graph import TileGraph
from accnn.passes.scheduling.static import static
from accnn.passes.scheduling.static.demand import check_demand
from accnn.passes.scheduling.static.group_schedules import GroupSchedules
from accnn.passes.scheduling.static.issue_order import issue_order
from accnn.passes.scheduling.static.static import schedule_static
from accnn.passes.tiling.residency import unit_of
from tests.passes.scheduling.static.plain_order import arrays_of
from tests.passes.scheduling.static.products import product
from tests.passes.tiling.groups.fused import bottleneck, planned, with_nests
from tests.thinned import examples

EDGE = load_architecture("edge-1m")
LARGE = dict.fromkeys(Space, (0, 1 << 30))


def least(graph: TileGraph, space: Space) -> int:
    """Return the smallest size of a space that is not refused, by halving."""
    low, high, tiles = 0, 1 << 20, arrays_of(graph)
    order = issue_order(tiles)
    while low < high:
        middle = (low + high) // 2
        try:
            check_demand(graph, tiles, order, {**LARGE, space: (0, middle)})
            high = middle
        except InfeasibleError:
            low = middle + 1
    return high


def fits(graph: TileGraph, space: Space, size: int) -> bool:
    try:
        schedule_static(graph, EDGE, {**LARGE, space: (0, size)})
    except InfeasibleError:
        return False
    return True


@settings(deadline=None, max_examples=examples(100))
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 64))
def test_a_product_needs_one_tile_of_each_kind(outputs: int, depth: int, size: int) -> None:
    graph = product(outputs, depth, size)

    assert least(graph, Space.GB) == 3 * size  # weights, inputs, the result of the last turn
    assert fits(graph, Space.GB, 3 * size)
    assert not fits(graph, Space.GB, 3 * size - 1)


def test_the_refusal_names_what_is_needed_at_once() -> None:
    graph = product(1, 1, 64)
    tiles = arrays_of(graph)

    with pytest.raises(InfeasibleError) as refused:
        check_demand(graph, tiles, issue_order(tiles), {**LARGE, Space.GB: (0, 191)})

    shortage = refused.value.shortage
    assert shortage is not None
    assert (shortage.resource, shortage.demand, shortage.capacity) == ("gb", 192, 191)
    assert sorted(size for _, size in shortage.terms) == [64, 64, 64]


@pytest.mark.parametrize("rows", [0, 2, 5])
def test_what_is_refused_of_a_group_cannot_be_scheduled(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, _ = bottleneck()
    module = planned(network, "edge-1m", [Group(members=("a", "b", "c", "y"), rows=rows)])
    module = with_nests(module)
    assert module.graph_schedule is not None
    unit = unit_of(module.graph, module.graph_schedule, "y")
    tiles = GroupSchedules(module, unit).in_turn.graph
    needed = least(tiles, Space.GB)
    assert needed > 1024
    assert not fits(tiles, Space.GB, needed - 1)

    monkeypatch.setattr(static, "check_demand", lambda *_: None)

    assert not fits(tiles, Space.GB, needed - 1)
    assert fits(tiles, Space.GB, 2 * needed)

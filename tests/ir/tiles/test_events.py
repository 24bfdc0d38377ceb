"""Where tiles are during an event, looked up without looking at all places they ever had."""

from hypothesis import given
from hypothesis import strategies as st

from accnn.ir.tiles.events import Placement, TileEvents
from accnn.ir.tiles.graph import TileGraph

NOTHING = TileGraph(operators=(), tiles=(), ops=())


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 6)), max_size=12))
def test_a_tile_is_where_some_placement_says(drawn: list[tuple[int, int, int]]) -> None:
    """Placements of several NPUs overlap in time."""
    placements = tuple(
        Placement(tile=npu % 2, npu=npu, address=0, first_event=first, last_event=first + length)
        for npu, first, length in drawn
    )
    events = TileEvents(graph=NOTHING, events=(), placements=placements)

    for tile in range(3):
        known = [item for item in placements if item.tile == tile]
        for event in range(20):
            here = [item for item in known if item.first_event <= event <= item.last_event]
            found = events.placed_during(tile, event)
            assert sorted(map(repr, found)) == sorted(map(repr, here))
            assert list(found) == sorted(found, key=lambda item: item.first_event)

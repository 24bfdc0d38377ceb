"""The engine in arrays of every size, and what its memory does."""

from accnn.backend.load import load_architecture
from accnn.ir.isa.instructions import Space
from accnn.ir.tiles.graph import Role
from accnn.passes.scheduling.engine.kernel.arrays import EVENTS, OVERFLOW, SCHEDULED
from accnn.passes.scheduling.engine.kernel.start import empty_run
from accnn.passes.scheduling.engine.kernel.turns import run_turns
from accnn.passes.scheduling.static.fixed_places import NOWHERE
from accnn.passes.scheduling.static.issue_order import issue_order
from accnn.passes.scheduling.static.static import schedule_static
from accnn.passes.scheduling.static.tables import GraphTables
from tests.passes.scheduling.static.products import product, ranges

EDGE = load_architecture("edge-1m")
FOUR = load_architecture("flexer-arch5")


def test_arrays_that_are_too_small_say_so():
    """With arrays of any size, the engine runs out of them, or does what it does in large ones."""
    graph = product(6, 3)
    tables = GraphTables(graph, FOUR)
    capacity = tables.capacity(ranges(900), NOWHERE)
    turns, _ = tables.turns(issue_order(tables.tiles))

    def run(size: int) -> tuple[int, object]:
        schedule = empty_run(tables.tiles, capacity, len(tables.engines), size)
        ended = run_turns(tables.tiles, turns, capacity, schedule)
        count = schedule.scalars[EVENTS]
        return ended, (schedule.events[:count].tolist(), schedule.placements.tolist()[:count])

    ends = [run(size) for size in range(3, 150)]

    whole = run(1000)
    assert whole[0] == SCHEDULED
    enough = [end for end, _ in ends].index(SCHEDULED)
    assert {end for end, _ in ends[:enough]} == {OVERFLOW}
    assert {end for end, _ in ends[enough:]} == {SCHEDULED}
    assert all(found[0] == whole[1][0] for _, found in ends[enough:])


def test_sums_change_sides():
    graph = product(6, 1)

    schedule = schedule_static(graph, EDGE, ranges(1 << 16, accumulators=600))

    tiles = graph.tiles
    placed = [item for item in schedule.placements if tiles[item.tile].role is Role.PSUM]
    placed.sort(key=lambda item: item.first_event)
    assert {tiles[item.tile].space for item in placed} == {Space.AB}
    assert [item.address for item in placed] == [600 - 256, 0] * 3


def test_the_tile_whose_next_use_is_furthest_away_makes_space():
    """Inputs are used by each output, the last of them first: those that are used soon remain."""
    graph = product(2, 3)
    needed = 6 * 64

    schedule = schedule_static(graph, EDGE, ranges(needed))

    schedule.verify()
    loads = [
        graph.tiles[event.subject].box[0].start // 64
        for event in schedule.events
        if event.kind == "load" and graph.tiles[event.subject].role is Role.I
    ]
    assert loads[:3] == [0, 1, 2]
    assert len(loads) < 6

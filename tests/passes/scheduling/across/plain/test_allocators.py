"""Tiles find space where it is free first, and never where another one comes meanwhile."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.graph_schedule import Residence
from accnn.ir.isa.instructions import Space
from accnn.ir.module import Module
from accnn.ir.tiles.events import Placement
from accnn.ir.tiles.schedule import TileSchedule
from accnn.ir.tiles.touches import Accesses
from tests.passes.scheduling.across.joint import both_of, chain
from tests.passes.scheduling.across.plain.allocators import Allocators
from tests.passes.scheduling.across.plain.layouts import layouts
from tests.thinned import examples
from tests.tiles import tiles_of

MODULE = both_of(chain, "flexer-arch5", all_off_chip=False).in_turn
IN_TURN = tiles_of(MODULE)
SMALL = both_of(chain, "flexer-arch5", budget=9000, all_off_chip=False).in_turn
"""The same network with so small a scratchpad that dozens of tiles come while one is there."""


def allocators(module: Module = MODULE, *, is_full: bool = False, spare: int = 0) -> Allocators:
    """Return empty spaces; if full, a tensor is resident in all of the scratchpad.

    Args:
        module: Scheduled operator by operator.
        is_full: Whether nothing is free.
        spare: By how much the scratchpad is larger than that of the plan [byte].
    """
    plan, arch = module.graph_schedule, module.arch
    assert plan is not None and arch is not None
    last = len(plan.order) - 1
    everywhere = Residence(tensor="z", first_step=0, last_step=last, address=0, bytes=plan.budget)
    residences = (everywhere,) if is_full else ()
    chosen = replace(plan, residences=residences, budget=plan.budget + spare)
    accesses = Accesses(tiles_of(module))
    return Allocators(accesses, layouts(accesses), chosen, arch)


def on_chip(schedule: TileSchedule = IN_TURN) -> list[Placement]:
    tiles = schedule.graph.tiles
    return [item for item in schedule.placements if tiles[item.tile].space is Space.GB]


def left_behind(item: Placement, end: int, *, is_full: bool = False) -> Allocators:
    """Return spaces that a tile has left, which was used until a cycle."""
    space = allocators(is_full=is_full)
    space.place(item, 0, 0, None)
    space.use(item, end)
    space.leave(item)
    return space


def test_a_tile_takes_the_space_that_is_free_first():
    one, two = on_chip()[:2]
    waiting, space = left_behind(one, 900), left_behind(one, 900)

    assert one.address == two.address
    assert waiting.place(two, 0, 0, None) == 900
    assert waiting.moved(two).address == two.address
    assert space.place(two, 0, 0, 0) == 0
    assert space.moved(two).address >= IN_TURN.graph.tiles[one.tile].occupied


def test_a_tile_remains_where_it_is_free_in_time():
    one, two = on_chip()[:2]
    space = left_behind(one, 900)

    assert space.place(two, 0, 0, 900) == 900
    assert space.moved(two).address == two.address


def test_a_tile_waits_for_its_own_place_where_there_is_no_other():
    one, two = on_chip()[:2]
    space = left_behind(one, 900, is_full=True)

    assert space.place(two, 0, 0, 0) == 900
    assert space.moved(two).address == two.address


def test_tiles_that_keep_their_address_remain_there():
    item = on_chip()[0]
    space = allocators()
    space.place(item, 0, 0, None)

    assert space.moved(item) == item


@settings(deadline=None, max_examples=examples(40))
@given(st.data())
def test_wherever_tiles_go_all_others_find_their_places(data):
    """Used at random times: no two tiles are at the same bytes while both are there."""
    schedule = tiles_of(SMALL)
    space, tiles = allocators(SMALL, spare=data.draw(st.integers(0, 2000))), schedule.graph.tiles
    there: dict[Placement, range] = {}
    for number, event in enumerate(schedule.events):
        for item in on_chip(schedule):
            if item.first_event == number:
                quiet = data.draw(st.none() | st.integers(0, 9))
                space.place(item, event.step, 0, quiet)
                low = space.moved(item).address
                place = range(low, low + tiles[item.tile].occupied)
                assert low >= 0
                assert all(low >= it.stop or place.stop <= it.start for it in there.values())
                there[item] = place
                space.use(item, data.draw(st.integers(0, 99)))
        for item in [item for item in there if item.last_event == number]:
            space.leave(item)
            del there[item]


def test_tiles_are_turned_around_where_that_is_free_sooner():
    item = on_chip()[0]
    size = IN_TURN.graph.tiles[item.tile].occupied
    space = allocators()
    place = space.plan.workspace(0)
    before = space.place(item, 0, 0, None)
    space.use(item, 700)
    space.leave(item)
    later = next(it for it in on_chip() if IN_TURN.events[it.first_event].step == 1)

    begin = space.place(later, 1, 0, None)

    assert before == 0
    assert place is not None and place.address <= item.address <= place.bytes - size
    assert begin == 0
    assert space.moved(later).address != later.address

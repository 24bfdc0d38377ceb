"""Allocators: moved where they are free first, refused where they are in pieces."""

from dataclasses import replace

import pytest

from accnn.ir.isa.instructions import Space
from accnn.ir.tiles.touches import Accesses
from accnn.passes.scheduling.across.allocators import Allocators, Fragmented
from accnn.passes.scheduling.across.insertion import InTurn, insert
from tests.passes.scheduling.across.joint import both, chain
from tests.tiles import tiles_of

MODULE = both(chain(), "flexer-arch5", all_off_chip=False).in_turn
IN_TURN = tiles_of(MODULE)


def allocators(budget: int | None = None) -> Allocators:
    plan = MODULE.graph_schedule
    assert plan is not None
    chosen = replace(plan, residences=(), budget=budget or plan.budget)
    arch = MODULE.arch
    assert arch is not None
    return Allocators(Accesses(IN_TURN), chosen, arch)


def on_chip() -> list:
    tiles = IN_TURN.graph.tiles
    return [item for item in IN_TURN.placements if tiles[item.tile].space is Space.GB]


def test_a_tile_takes_the_space_that_was_given_up_first():
    one, two, three = on_chip()[:3]
    size = IN_TURN.graph.tiles
    space = allocators()
    for item in (one, two):
        space.place(item, 0, 0, move=True)
    for item, end in ((one, 900), (two, 500)):
        space.use(item, end)
        space.leave(item)
    space.place(three, 0, 0, move=True)

    used = {space.moved(item).address for item in (one, two)}
    assert len(used) == 2
    assert space.begin(three) == 0
    assert space.moved(three).address >= size[one.tile].bytes + size[two.tile].bytes


def test_tiles_that_keep_their_address_remain_there():
    item = on_chip()[0]
    space = allocators()
    space.place(item, 0, 0, move=False)

    assert space.moved(item) == item


def test_fragments_name_the_step():
    item = on_chip()[0]

    with pytest.raises(Fragmented) as found:
        allocators(budget=16).place(item, 3, 0, move=True)
    assert found.value.step == 3


def test_a_step_without_space_keeps_its_addresses():
    arch, plan = MODULE.arch, MODULE.graph_schedule
    assert arch is not None and plan is not None
    count = len(plan.order)
    place = replace(plan.residences[0], first_step=0, last_step=count - 1)
    tight = replace(plan, residences=(replace(place, address=0, bytes=plan.budget),))

    made = insert(InTurn(IN_TURN, tight, arch), move=True)

    assert sorted(item.address for item in made.placements) == sorted(
        item.address for item in IN_TURN.placements
    )

"""What events read and write, and where that lies."""

from dataclasses import replace

import pytest

from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.tiles.events import EventKind, Placement
from accnn.ir.tiles.touches import Accesses, OffChip, OnChip, SpilledSums, Touch

from .test_schedule import ACC, I0, OUT, PARAM, W0, W1, place, schedule, with_event, with_tile

LOAD, CLEAR, SPILL, RETRIEVE, ADD, FINISH, STORE = 0, 2, 3, 5, 6, 8, 9
"""Events of the schedule by hand."""


def placed(number: int, event: int) -> Touch:
    """Return the access to a placed tile."""
    found = schedule().placement(number, event)
    assert found is not None
    return Touch(found)


def test_what_starts_from_zero_reads_no_sums_and_what_adds_does() -> None:
    accesses = Accesses(schedule())

    assert accesses.of(CLEAR).reads == (placed(I0, 2), placed(W0, 2))
    assert accesses.of(CLEAR).writes == (placed(ACC, 2),)
    assert accesses.of(ADD).reads == (placed(I0, 6), placed(W1, 6), placed(ACC, 6))
    assert accesses.of(ADD).writes == (placed(ACC, 6),)
    assert accesses.of(FINISH).reads == (placed(ACC, 8), placed(PARAM, 8))
    assert accesses.of(FINISH).writes == (placed(OUT, 8),)
    assert accesses.of(FINISH).both == (placed(ACC, 8), placed(PARAM, 8), placed(OUT, 8))


def test_transfers_touch_both_sides() -> None:
    accesses = Accesses(schedule())
    outside = Touch(SpilledSums(ACC))

    assert accesses.of(SPILL).reads == (placed(ACC, 3),)
    assert accesses.of(SPILL).writes == (outside,)
    assert accesses.of(RETRIEVE).reads == (outside,)
    assert accesses.of(RETRIEVE).writes == (placed(ACC, 5),)
    assert accesses.of(LOAD).reads == (Touch(OffChip("I"), (0,)),)
    assert accesses.of(STORE).reads == (placed(OUT, 9),)
    assert accesses.of(STORE).writes == (Touch(OffChip("O"), (1,)),)


def test_a_resident_tensor_is_touched_from_its_address_on() -> None:
    accesses = Accesses(with_tile(PARAM, address=100, space=Space.GB))
    here = OnChip("param", 100)

    assert accesses.of(FINISH).reads[1:] == (Touch(here, (0,)),)
    assert [accesses.starts_residence(event) for event in (LOAD, 7, FINISH)] == [False, True, False]
    out = Accesses(with_tile(OUT, address=0))
    assert not out.starts_residence(STORE)
    assert out.of(STORE).reads == (Touch(OnChip("O", 0), (1,)),)


def test_a_resident_tensor_reaches_as_far_as_its_tiles() -> None:
    accesses = Accesses(with_tile(W1, address=64, element_bytes=2))

    assert accesses.bytes(OnChip("W", 32)) == 2 * 32
    assert accesses.parts(OffChip("W")) == 1
    assert accesses.parts(OffChip("O")) == 2


def private(number: int, npu: int, first: int, last: int) -> Placement:
    return Placement(tile=number, npu=npu, address=0, first_event=first, last_event=last)


@pytest.mark.parametrize("npu", [0, 1])
def test_of_private_places_each_npu_has_its_own(npu: int) -> None:
    old = with_tile(W1, space=Space.WB)
    places = [item for item in old.placements if item.tile != W1]
    both = (private(W1, 0, 3, 7), private(W1, 1, 4, 6))
    events = list(old.events)
    events[ADD] = replace(events[ADD], index=npu)

    found = Accesses(replace(old, placements=(*places, *both), events=tuple(events)))

    assert found.placement(W1, ADD) == both[npu]


def test_of_places_in_use_a_transfer_means_the_one_that_begins_or_ends_with_it() -> None:
    old = with_tile(W1, space=Space.WB)
    places = [item for item in old.placements if item.tile != W1]
    for mine, theirs in ((private(W1, 1, 4, 6), private(W1, 0, 0, 9)),):
        for pair in ((mine, theirs), (theirs, mine)):
            found = Accesses(replace(old, placements=(*places, *pair)))
            assert found.placement(W1, 4) == mine
    again = (place(ACC, 64, 2, 3), place(ACC, 128, 5, 8))
    assert Accesses(schedule()).placement(ACC, 3) == again[0]
    assert Accesses(schedule()).placement(ACC, 5) == again[1]
    assert Accesses(with_event(4, unit=Unit.DMA)).placement(ACC, 7) == again[1]
    assert schedule().events[4].kind is EventKind.LOAD

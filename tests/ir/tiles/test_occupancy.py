"""The array lets go of operands when it is done, and takes the room of sums when it begins."""

from dataclasses import replace

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.tiles.events import Event, EventKind, Placement
from accnn.ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp
from accnn.ir.tiles.occupancy import verify_exclusive, verify_no_overlap
from accnn.ir.tiles.schedule import TileSchedule
from accnn.ir.workload import DIMS, Dim

ROW = (Range(0, 1), Range(0, 1), Range(0, 1), Range(0, 1), Range(0, 16))


def tile(tensor: str, role: Role, element: int, address: int | None = None) -> Tile:
    return Tile(
        tensor=tensor,
        role=role,
        view=(16, 16, 16, 16, 1),
        box=ROW,
        element_bytes=element,
        space=Space.GB,
        address=address,
    )


def overlapping() -> TileSchedule:
    """Sums of ``b`` are written where ``a`` had read the resident ``x``, while ``a`` drains."""
    tiles = (
        tile("x", Role.I, 1, address=0),
        tile("a", Role.PSUM, 4),
        tile("b", Role.PSUM, 4),
        tile("a", Role.O, 1, address=256),
        tile("b", Role.O, 1, address=320),
    )
    box = tuple(Range(0, 16) if dim is Dim.Q else Range(0, 1) for dim in DIMS)
    ops = (
        TileOp(operator="a", unit=Unit.MX, box=box, reads=(0,), out=1),
        TileOp(operator="b", unit=Unit.MX, box=box, reads=(3,), out=2),
    )
    event = {"kind": EventKind.COMPUTE, "unit": Unit.MX, "index": 0, "clear": True}
    return TileSchedule(
        graph=TileGraph(operators=("a", "b"), tiles=tiles, ops=ops),
        events=(
            Event(subject=0, start=0, fill=4, drain=6, end=30, **event),
            Event(subject=1, start=4, fill=20, drain=6, end=50, **event),
        ),
        placements=(
            Placement(tile=1, npu=0, address=128, first_event=0, last_event=0),
            Placement(tile=2, npu=0, address=0, first_event=1, last_event=1),
        ),
        scheduler="by hand",
        cycles=50,
    )


def test_sums_may_come_where_an_operand_was_while_the_array_drains():
    verify_no_overlap(overlapping())


def test_they_may_not_come_before_the_array_is_done_with_it():
    early = overlapping()
    events = (early.events[0], replace(early.events[1], fill=19))

    with pytest.raises(VerifyError, match="tiles 0 and 2 overlap at cycle 23, address 0"):
        verify_no_overlap(replace(early, events=events))


def test_nor_where_the_sums_are_that_drain():
    early = overlapping()
    placements = (early.placements[0], replace(early.placements[1], address=128))

    with pytest.raises(VerifyError, match="tiles 1 and 2 overlap at cycle 24, address 128"):
        verify_no_overlap(replace(early, placements=placements))


def test_a_resident_tensor_holds_all_bytes_of_its_elements():
    wide = overlapping()
    tiles = list(wide.graph.tiles)
    tiles[0] = replace(tiles[0], element_bytes=2)  # 32 byte from address 0 on, until cycle 24

    def at(address: int) -> TileSchedule:
        places = (wide.placements[0], replace(wide.placements[1], address=address))
        early = (wide.events[0], replace(wide.events[1], fill=19))
        graph = replace(wide.graph, tiles=tuple(tiles))
        return replace(wide, graph=graph, placements=places, events=early)

    verify_no_overlap(at(32))
    with pytest.raises(VerifyError, match="tiles 0 and 2 overlap at cycle 23, address 31"):
        verify_no_overlap(at(31))


def queue(*times: tuple[int, int, int, int], unit: Unit = Unit.MX) -> TileSchedule:
    """Return events of one engine: start, cycles to fill, cycles to drain, end."""
    event = Event(kind=EventKind.COMPUTE, subject=0, unit=unit, index=0, start=0, end=0)
    events = (event.at(start, end, fill=fill, drain=drain) for start, fill, drain, end in times)
    return replace(overlapping(), events=tuple(events))


@pytest.mark.parametrize(
    "times",
    [
        ((0, 4, 6, 30), (4, 20, 6, 30)),  # fills while the first computes, and both end together
        ((0, 0, 0, 0), (0, 0, 0, 5)),
        ((2, 3, 4, 9), (5, 1, 0, 9)),  # begins as the first one is done
        ((2, 3, 4, 9), (5, 0, 4, 9)),
    ],
)
def test_the_array_computes_one_thing_at_a_time(times):
    verify_exclusive(queue(*times))


@pytest.mark.parametrize(
    "times, message",
    [
        (((-1, 0, 0, 5),), "event 0 .compute. runs -1..5"),
        (((3, -1, 0, 5),), "event 0 .compute. runs 3..5, and computes 2..5"),
        (((3, 3, 0, 5),), "and computes 6..5"),
        (((3, 1, 2, 5),), "and computes 4..3"),
        (((3, 0, -1, 5),), "and computes 3..6"),
        (((0, 4, 0, 30), (3, 30, 0, 40)), "event 1 .compute. starts at 3 on mx0, where another"),
        (((0, 4, 6, 30), (4, 19, 6, 31)), "event 1 .compute. runs 23..25 on mx0, which is busy"),
        (((0, 4, 6, 30), (4, 21, 0, 29)), "event 1 .compute. ends at 29 on mx0, before the one"),
    ],
)
def test_an_array_that_does_two_things_is_named(times, message):
    with pytest.raises(VerifyError, match=message):
        verify_exclusive(queue(*times))


@pytest.mark.parametrize("times", [(0, 1, 0, 5), (0, 0, 1, 5)])
def test_only_arrays_fill_and_drain(times):
    with pytest.raises(VerifyError, match="fills or drains, which vx cannot"):
        verify_exclusive(queue(times, unit=Unit.VX))
    verify_exclusive(queue((0, 0, 0, 5), unit=Unit.VX))


def test_engines_of_other_kinds_and_numbers_do_not_wait():
    both = queue((0, 0, 0, 30), (4, 0, 0, 29))
    first, second = both.events

    for other in (replace(second, index=1), replace(second, unit=Unit.VX)):
        verify_exclusive(replace(both, events=(first, other)))


def in_place(*reads: int, bytes: int = 1) -> TileSchedule:
    """Return sums ``y`` that are written over ``x``, half by half; each reads some half of it."""

    def half(tensor: str, number: int, size: int) -> Tile:
        address, box = 8 * size * number, (Range(8 * number, 8 * number + 8),)
        whole = tile(tensor, Role.I, size, address)
        return replace(whole, view=(1,), box=box)

    tiles = (half("x", 0, 1), half("x", 1, 1), half("y", 0, bytes), half("y", 1, bytes))
    ops = tuple(
        TileOp(operator="y", unit=Unit.VX, box=tiles[2 + out].box, reads=(read,), out=2 + out)
        for out, read in enumerate(reads)
    )
    event = Event(kind=EventKind.COMPUTE, subject=0, unit=Unit.VX, index=0, start=0, end=5)
    return TileSchedule(
        graph=TileGraph(operators=("y",), tiles=tiles, ops=ops),
        events=(event, replace(event, subject=1, start=5, end=10)),
        placements=(),
        scheduler="by hand",
        cycles=10,
    )


def test_a_resident_tensor_may_be_written_over_element_by_element():
    verify_no_overlap(in_place(0, 1))


def test_not_before_all_that_reads_it_is_done():
    with pytest.raises(VerifyError, match="tiles 0 and 2 overlap at cycle 0, address 0"):
        verify_no_overlap(in_place(1, 0))
    apart = in_place(0, 1)
    late = replace(apart.events[1], subject=0, start=7, end=9)
    with pytest.raises(VerifyError, match="overlap at cycle"):
        verify_no_overlap(replace(apart, events=(*apart.events, late)))


def test_nor_while_another_event_reads_it():
    apart = in_place(1, 1)
    verify_no_overlap(apart)
    early = replace(apart.events[1], index=1, start=4, end=9)
    with pytest.raises(VerifyError, match="overlap at cycle"):
        verify_no_overlap(replace(apart, events=(apart.events[0], early)))


def test_nor_by_elements_of_another_size():
    with pytest.raises(VerifyError, match="overlap at cycle"):
        verify_no_overlap(in_place(0, 1, bytes=2))

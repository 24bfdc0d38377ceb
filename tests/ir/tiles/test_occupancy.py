"""The array lets go of operands when it is done, and takes the room of sums when it begins."""

from dataclasses import replace

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.tiles.events import Event, EventKind, Placement
from accnn.ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp
from accnn.ir.tiles.occupancy import verify_no_overlap
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

"""The verifier of tile schedules: a valid one passes, each kind of damage is named."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.proof import Scope
from accnn.ir.tiles.events import Event, EventKind, Placement
from accnn.ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp
from accnn.ir.tiles.schedule import OperatorTiles, TileSchedule
from accnn.ir.workload import DIMS, Dim, Operand, Workload

from ...programs import nest_of

W0, W1, I0, ACC, OUT, PARAM = range(6)


def tile(role: Role, number: int, size: int, space: Space = Space.GB, element: int = 1) -> Tile:
    box = (Range(number * size, (number + 1) * size),)
    return Tile(
        tensor=role.value, role=role, view=(1,), box=box, element_bytes=element, space=space
    )


def accumulators(rows: int) -> Tile:
    """Return 16 accumulators ``N G K P Q``, in rows."""
    box = (*(Range(0, 1),) * 3, Range(0, rows), Range(0, 16 // rows))
    view = (16, 16, 16, 16 // rows, 1)
    return Tile(tensor="O", role=Role.PSUM, view=view, box=box, element_bytes=4, space=Space.GB)


def box_of(rows: Range, columns: Range) -> tuple[Range, ...]:
    """Return the box of an operation on a part of the accumulators."""
    ranges = {Dim.P: rows, Dim.Q: columns}
    return tuple(ranges.get(dim, Range(0, 1)) for dim in DIMS)


def graph() -> TileGraph:
    """Return a sum of two products that is finished with a parameter."""
    tiles = (
        tile(Role.W, 0, 16),
        tile(Role.W, 1, 16),
        tile(Role.I, 0, 16),
        accumulators(1),
        tile(Role.O, 0, 16),
        tile(Role.PARAM, 0, 16, Space.PB, element=4),
    )
    ops = tuple(
        TileOp(
            operator="op",
            unit=Unit.MX,
            box=box_of(Range(0, 1), Range(0, 16)),
            reads=(I0, weights),
            out=ACC,
            nests=(0,),
        )
        for weights in (W0, W1)
    )
    finish = TileOp(
        operator="op", unit=Unit.VX, box=accumulators(1).box, reads=(ACC, PARAM), out=OUT
    )
    nests = (nest_of(Workload(Q=16), dict.fromkeys(Operand, "gb")),)
    return TileGraph(operators=("op",), tiles=tiles, ops=(*ops, finish), nests=nests)


def event(kind: EventKind, subject: int, unit: Unit, start: int, **more: object) -> Event:
    return Event(
        kind=kind, subject=subject, unit=unit, index=0, start=start, end=start + 10, **more
    )


def place(number: int, address: int, first: int, last: int) -> Placement:
    return Placement(tile=number, npu=0, address=address, first_event=first, last_event=last)


def schedule() -> TileSchedule:
    """Return a valid schedule whose accumulators leave the chip between the two products."""
    dma, mx, vx = Unit.DMA, Unit.MX, Unit.VX
    events = (
        event(EventKind.LOAD, I0, dma, 0),
        event(EventKind.LOAD, W0, dma, 10),
        event(EventKind.COMPUTE, 0, mx, 20, clear=True),
        event(EventKind.SPILL, ACC, dma, 30),
        event(EventKind.LOAD, W1, dma, 40),
        event(EventKind.RETRIEVE, ACC, dma, 50),
        event(EventKind.COMPUTE, 1, mx, 60),
        event(EventKind.LOAD, PARAM, dma, 60),
        event(EventKind.COMPUTE, 2, vx, 70),
        event(EventKind.STORE, OUT, dma, 80),
    )
    placements = (
        place(I0, 0, 0, 6),
        place(W0, 16, 1, 2),
        place(ACC, 64, 2, 3),
        place(W1, 16, 4, 6),
        place(ACC, 128, 5, 8),
        place(PARAM, 0, 7, 8),
        place(OUT, 32, 8, 9),
    )
    return TileSchedule(
        graph=graph(), events=events, placements=placements, scheduler="by hand", cycles=90
    )


def with_event(number: int, **changes: object) -> TileSchedule:
    old = schedule()
    events = list(old.events)
    events[number] = replace(events[number], **changes)
    return replace(old, events=tuple(events))


def with_place(number: int, **changes: object) -> TileSchedule:
    old = schedule()
    placements = list(old.placements)
    placements[number] = replace(placements[number], **changes)
    return replace(old, placements=tuple(placements))


def without(*numbers: int) -> TileSchedule:
    """Return the schedule without some events; placements are renumbered."""
    old = schedule()

    def renumbered(number: int) -> int:
        return number - sum(gone < number for gone in numbers)

    return replace(
        old,
        events=tuple(item for number, item in enumerate(old.events) if number not in numbers),
        placements=tuple(
            replace(
                item,
                first_event=renumbered(item.first_event),
                last_event=renumbered(item.last_event) - (item.last_event in numbers),
            )
            for item in old.placements
        ),
    )


def executed_twice() -> TileSchedule:
    old = schedule()
    return replace(old, events=(*old.events, event(EventKind.COMPUTE, 0, Unit.MX, 100, clear=True)))


def with_tile(number: int, **changes: object) -> TileSchedule:
    old = schedule()
    tiles = list(old.graph.tiles)
    tiles[number] = replace(tiles[number], **changes)
    return replace(old, graph=replace(old.graph, tiles=tuple(tiles)))


def test_the_schedule_is_valid():
    schedule().verify()
    replace(schedule(), cycles_lower_bound=90, scope=Scope.ALL_SCHEDULES).verify()


def test_sums_in_parts_are_valid():
    in_parts().verify()


def test_derived_facts():
    found = schedule()

    assert found.transferred_bytes == 16 + 16 + 64 + 16 + 64 + 64 + 16
    assert found.placement(ACC, 2) == found.placements[2]
    assert found.placement(ACC, 6) == found.placements[4]
    assert found.placement(ACC, 4) is None


def with_box(number: int, rows: Range, columns: Range) -> TileSchedule:
    old = schedule()
    ops = list(old.graph.ops)
    ops[number] = replace(ops[number], box=box_of(rows, columns))
    return replace(old, graph=replace(old.graph, ops=tuple(ops)))


def in_parts() -> TileSchedule:
    """Return a valid schedule of sums in two rows, each the sum of two products.

    The sums leave the chip when one row has both products and the other has none.
    """
    old = schedule()
    rows, columns = (Range(0, 1), Range(1, 2)), Range(0, 8)
    tiles = [*old.graph.tiles]
    tiles[ACC] = accumulators(2)
    *products, finish = old.graph.ops
    halves = (replace(op, box=box_of(row, columns)) for row in rows for op in products)
    ops = (*halves, replace(finish, box=accumulators(2).box))
    mx, dma = Unit.MX, Unit.DMA
    events = (
        event(EventKind.LOAD, I0, dma, 0),
        event(EventKind.LOAD, W0, dma, 10),
        event(EventKind.LOAD, W1, dma, 20),
        event(EventKind.COMPUTE, 0, mx, 30, clear=True),
        event(EventKind.COMPUTE, 1, mx, 40),
        event(EventKind.SPILL, ACC, dma, 50),
        event(EventKind.RETRIEVE, ACC, dma, 60),
        event(EventKind.COMPUTE, 2, mx, 70, clear=True),
        event(EventKind.COMPUTE, 3, mx, 80),
        event(EventKind.LOAD, PARAM, dma, 80),
        event(EventKind.COMPUTE, 4, Unit.VX, 90),
        event(EventKind.STORE, OUT, dma, 100),
    )
    placements = (
        place(I0, 0, 0, 8),
        place(W0, 16, 1, 7),
        place(W1, 48, 2, 8),
        place(ACC, 64, 3, 5),
        place(ACC, 128, 6, 10),
        place(PARAM, 0, 9, 10),
        place(OUT, 32, 10, 11),
    )
    graph = replace(old.graph, tiles=tuple(tiles), ops=ops)
    return replace(old, graph=graph, events=events, placements=placements)


def part_damaged(number: int, **changes: object) -> TileSchedule:
    old = in_parts()
    events = list(old.events)
    events[number] = replace(events[number], **changes)
    return replace(old, events=tuple(events))


def part_not_retrieved() -> TileSchedule:
    """Return sums that start anew elsewhere: the row that has its products is left behind."""
    old = in_parts()
    events = list(old.events)
    events[6] = event(EventKind.LOAD, W0, Unit.DMA, 60)
    placements = list(old.placements)
    placements[1] = place(W0, 16, 1, 5)
    placements[4] = place(ACC, 128, 7, 10)
    return replace(old, events=tuple(events), placements=(*placements, place(W0, 16, 6, 7)))


def only_part_made() -> TileSchedule:
    """Return sums of which both products make the left half only."""
    left = Range(0, 8)
    old = schedule()
    *products, finish = old.graph.ops
    ops = (*(replace(op, box=box_of(Range(0, 1), left)) for op in products), finish)
    return replace(old, graph=replace(old.graph, ops=ops))


BEATEN = OperatorTiles(
    operator="op",
    scheduler="by hand",
    cycles=1,
    cycles_lower_bound=2,
    scope=Scope.ALL_SCHEDULES,
)

DAMAGE: dict[str, tuple[Callable[[], TileSchedule], str]] = {
    "a bound above what was reached": (
        lambda: replace(schedule(), cycles_lower_bound=91, scope=Scope.ALL_SCHEDULES),
        "the bound 91 of .* lies above 90",
    ),
    "a bound of nothing": (
        lambda: replace(schedule(), cycles_lower_bound=90),
        "tiles of op: a bound and its scope belong together",
    ),
    "an engine that does two things": (lambda: with_event(1, start=5, end=15), "busy until 10"),
    "an event that ends before it starts": (lambda: with_event(9, end=79), r"runs 80\.\.79"),
    "addresses that overlap": (lambda: with_place(6, address=130), "overlap at cycle"),
    "addresses that overlap by a byte": (lambda: with_place(1, address=15), "overlap at cycle"),
    "a placement that nothing touches": (
        lambda: with_place(3, first_event=5, last_event=5),
        "touched by no event",
    ),
    "operands that come too late": (
        lambda: with_event(2, start=19, end=20),
        "reads tile 0 before it is there",
    ),
    "operands that are gone": (lambda: with_place(0, last_event=5), "tile 2, which is not on chip"),
    "operands that are never loaded": (lambda: without(0), "is not on chip|before it is there"),
    "parameters that come too late": (
        lambda: with_event(7, start=65, end=75),
        "reads tile 5 before it is there",
    ),
    "an operation executed twice": (executed_twice, "operation 0 is executed twice"),
    "an operation never executed": (lambda: without(6), "before all sums are in it"),
    "sums that are cleared away": (lambda: with_event(6, clear=True), "clears what holds sums"),
    "sums that are not cleared": (lambda: with_event(2, clear=False), "was not cleared"),
    "a part of the sums that is not cleared": (
        lambda: part_damaged(7, clear=False),
        "event 7 adds to what was not cleared",
    ),
    "a part of the sums that is cleared away": (
        lambda: part_damaged(4, clear=True),
        "event 4 clears what holds sums",
    ),
    "a part of the sums that is left off chip": (
        part_not_retrieved,
        "reads tile 3 before it is there",
    ),
    "a part of the sums that nobody makes": (
        only_part_made,
        "reads tile 3 before it is there",
    ),
    "products that miss the sums": (
        lambda: with_box(1, Range(0, 1), Range(1, 17)),
        "tile operation 1 adds outside of tile 3",
    ),
    "sums added to before they are back": (
        lambda: with_event(6, start=55, end=65),
        "while it is not there|before it is there",
    ),
    "sums dropped without a spill": (lambda: without(3), "was not spilled"),
    "sums retrieved while they leave": (
        lambda: with_event(5, index=1, start=35, end=45),
        "retrieves a tile that was not spilled",
    ),
    "sums spilled and not retrieved": (lambda: without(5), "is not on chip|while it is not there"),
    "sums finished before they are complete": (
        lambda: with_event(8, start=65, end=75),
        "reads tile 3 before it is there",
    ),
    "sums never finished": (lambda: without(8), "too early|unfinished|not on chip"),
    "sums spilled too early": (
        lambda: with_event(3, start=29, end=39),
        "event 3 writes tile 3 off too early",
    ),
    "outputs stored too early": (
        lambda: with_event(9, start=79, end=89),
        "written off too early|writes tile 4 off too early",
    ),
    "outputs never stored": (lambda: without(9), "output tile 4 is never stored"),
    "outputs stored twice": (
        lambda: replace(
            with_place(6, last_event=10),
            events=(*schedule().events, event(EventKind.STORE, OUT, Unit.DMA, 90)),
        ),
        "event 10 stores what was stored before",
    ),
    "a store of inputs": (lambda: with_event(9, subject=I0), "store of a tile of role I"),
    "a spill of outputs": (
        lambda: with_event(9, kind=EventKind.SPILL),
        "spill of a tile of role O",
    ),
    "a load of outputs": (lambda: with_event(9, kind=EventKind.LOAD), "loads"),
    "a load to nowhere": (lambda: with_place(3, first_event=6), "loads tile 1 to nowhere"),
    "a resident tensor where a tile is placed": (
        lambda: with_tile(I0, address=0),
        "overlap at cycle",
    ),
    "a transfer of a tile that is none": (
        lambda: with_event(0, subject=99),
        r"event 0 \(load\): there is no tile 99",
    ),
    "a transfer of the last tile but one": (lambda: with_event(0, subject=-2), "no tile -2"),
    "an operation that is none": (
        lambda: with_event(2, subject=3),
        r"event 2 \(compute\): there is no tile operation 3",
    ),
    "an operation on another engine": (
        lambda: with_event(2, unit=Unit.VX),
        r"event 2 \(compute\) runs on vx0, not on mx",
    ),
    "a transfer on an array": (lambda: with_event(0, unit=Unit.MX), "runs on mx0, not on dma"),
    "an engine before the first": (lambda: with_event(0, index=-1), "runs on dma-1, not on dma"),
    "a placement of no tile": (lambda: with_place(0, tile=-1), "a placement is of tile -1"),
    "a placement from no event on": (lambda: with_place(0, first_event=-1), "events -1 to"),
    "a placement until no event": (lambda: with_place(0, last_event=99), "events 0 to 99 of"),
    "a placement that ends first": (lambda: with_place(0, first_event=3, last_event=2), "3 to 2"),
    "a placement on no npu": (lambda: with_place(0, npu=-1), "is placed on npu -1"),
    "an event of nobody": (
        lambda: with_event(2, step=1),
        "event 2 works for operator 1, which is none",
    ),
    "an event of another operator": (
        lambda: replace(with_event(2, step=1), graph=replace(graph(), operators=("op", "other"))),
        "event 2 works for %op, not for %other",
    ),
    "figures of other operators": (
        lambda: replace(
            schedule(), alone=(OperatorTiles(operator="x", scheduler="by hand", cycles=1),)
        ),
        "by themselves are not those of the tile graph",
    ),
    "a bound that an operator by itself beats": (
        lambda: replace(schedule(), alone=(BEATEN,)),
        "op",
    ),
    "a tile that is empty": (lambda: with_tile(W0, box=(Range(3, 3),)), "tile 0 of %W is empty"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_named(what: str):
    damaged, message = DAMAGE[what]

    with pytest.raises(VerifyError, match=message):
        damaged().verify()

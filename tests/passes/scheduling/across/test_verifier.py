"""The verifier of schedules knows what operators hand to each other."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.isa.instructions import Unit
from accnn.ir.tiles.events import Event, EventKind
from accnn.ir.tiles.schedule import TileSchedule
from tests.passes.scheduling.across.joint import both_of, chain

RESIDENT = both_of(chain, "flexer-arch5", all_off_chip=False).schedule
"""Nothing but weights, input and output leaves or enters the chip."""

STREAMED = both_of(chain, "edge-1m", budget=5000, all_off_chip=False).schedule
"""Tensors between operators go off chip in tiles."""

Rule = Callable[[Event], bool]


def first(schedule: TileSchedule, rule: Rule) -> int:
    """Return the first event for which something holds."""
    return next(number for number, event in enumerate(schedule.events) if rule(event))


def without(schedule: TileSchedule, gone: int) -> TileSchedule:
    """Return a schedule without one event."""
    placements = tuple(
        replace(
            item,
            first_event=item.first_event - (item.first_event > gone),
            last_event=item.last_event - (item.last_event >= gone),
        )
        for item in schedule.placements
    )
    events = schedule.events
    return replace(schedule, events=(*events[:gone], *events[gone + 1 :]), placements=placements)


def moved(schedule: TileSchedule, kind: EventKind, tensor: str) -> Rule:
    """Return what tells the transfers of a tensor."""
    return lambda event: event.kind is kind and schedule.graph.tiles[event.subject].tensor == tensor


def test_both_are_valid():
    RESIDENT.verify()
    STREAMED.verify()


def test_a_whole_tensor_must_have_arrived():
    late = without(RESIDENT, first(RESIDENT, moved(RESIDENT, EventKind.LOAD, "x")))

    with pytest.raises(VerifyError, match="reads resident tile .* before it is there"):
        late.verify()


def test_a_window_must_have_been_computed():
    graph = RESIDENT.graph
    number = first(
        RESIDENT,
        lambda event: event.unit is Unit.VX and graph.ops[event.subject].operator == "b",
    )

    with pytest.raises(VerifyError, match="reads resident tile .* before it is there"):
        without(RESIDENT, number).verify()


def test_a_whole_result_may_not_leave_before_it_is_complete():
    number = first(RESIDENT, moved(RESIDENT, EventKind.STORE, "d"))
    event = RESIDENT.events[number]
    events = list(RESIDENT.events)
    events[number] = replace(event, start=event.start - 1)

    with pytest.raises(VerifyError, match="reads resident tile .* before it is there"):
        replace(RESIDENT, events=tuple(events)).verify()


def test_a_tile_must_be_off_chip_before_it_is_loaded():
    made = {
        STREAMED.graph.tiles[event.subject].tensor
        for event in STREAMED.events
        if event.kind is EventKind.STORE
    }
    number = first(
        STREAMED,
        lambda event: (
            event.kind is EventKind.LOAD and STREAMED.graph.tiles[event.subject].tensor in made
        ),
    )
    tensor = STREAMED.graph.tiles[STREAMED.events[number].subject].tensor
    late = without(STREAMED, first(STREAMED, moved(STREAMED, EventKind.STORE, tensor)))

    with pytest.raises(VerifyError, match="before it is off chip"):
        late.verify()


def test_a_tile_may_not_lie_on_a_resident_tensor():
    base = next(
        tile.address
        for tile in RESIDENT.graph.tiles
        if tile.tensor == "b" and tile.address is not None
    )
    item = next(
        item
        for item in RESIDENT.placements
        if RESIDENT.graph.tiles[item.tile].tensor in ("b_w", "c_w")
    )
    moved_ = replace(item, address=base)
    placements = tuple(moved_ if other == item else other for other in RESIDENT.placements)

    with pytest.raises(VerifyError, match="overlap at cycle"):
        replace(RESIDENT, placements=placements).verify()

"""Store resident results as soon as they are complete, so that they can be compared."""

from collections.abc import Iterable
from dataclasses import replace

from ....ir.arch import Architecture
from ....ir.graph_schedule import Residence
from ....ir.isa.instructions import Unit
from ....ir.tiles.events import Event, EventKind
from ....ir.tiles.regions import base_of
from ....ir.tiles.schedule import TileSchedule
from ....ir.types import TensorType
from ..timing.retime import timed
from .join import whole_tile


def store_results(
    schedule: TileSchedule, results: Iterable[tuple[Residence, TensorType]], arch: Architecture
) -> TileSchedule:
    """Return the schedule of a network in which resident results leave the chip, too.

    Args:
        schedule: The schedule.
        results: Places and types of results that no event stores yet.
        arch: The machine.
    """
    for place, type in results:
        schedule = _with_store(schedule, place, type)
    return timed(schedule, arch)


def _with_store(schedule: TileSchedule, place: Residence, type: TensorType) -> TileSchedule:
    """Return the schedule with a store right after the last write to a resident tensor."""
    last = max(_writes(schedule, place))
    position = last + 1
    tiles = schedule.graph.tiles
    store = Event(
        kind=EventKind.STORE,
        subject=len(tiles),
        unit=Unit.DMA,
        index=0,
        start=0,
        end=0,
        step=schedule.events[last].step,
    )
    placements = tuple(
        replace(
            item,
            first_event=item.first_event + (item.first_event >= position),
            last_event=item.last_event + (item.last_event >= position),
        )
        for item in schedule.placements
    )
    return replace(
        schedule,
        graph=replace(schedule.graph, tiles=(*tiles, whole_tile(place, type))),
        events=(*schedule.events[:position], store, *schedule.events[position:]),
        placements=placements,
    )


def _writes(schedule: TileSchedule, place: Residence) -> list[int]:
    """Return the events that complete parts of a resident tensor."""
    graph = schedule.graph
    windows = {
        number
        for number, tile in enumerate(graph.tiles)
        if tile.tensor == place.tensor and tile.is_resident and base_of(tile) == place.address
    }
    return [
        number
        for number, event in enumerate(schedule.events)
        if event.kind is EventKind.COMPUTE and graph.ops[event.subject].out in windows
    ]

"""What no order of given events can beat: the work of the busiest kind of engine."""

from collections.abc import Iterable
from dataclasses import replace

from ...ir.arch import Architecture
from ...ir.isa import Unit
from ...ir.proof import Scope
from ...ir.tile_events import Event
from ...ir.tile_schedule import TileSchedule
from .across.npus import are_alike


def with_work_bound(schedule: TileSchedule, arch: Architecture) -> TileSchedule:
    """Return a schedule with the bound that its events have."""
    bound = work_bound(schedule.events, arch)
    scope = Scope.GIVEN_EVENTS if bound else None
    return replace(schedule, cycles_lower_bound=bound, scope=scope)


def work_bound(events: Iterable[Event], arch: Architecture) -> int:
    """Return the work of the busiest kind of engine over its number [cycle].

    No order of these events is faster. NPUs that differ need different times for the same work, so
    that only transfers count on such machines.
    """
    work: dict[Unit, int] = {}
    for event in events:
        if event.unit is Unit.DMA or are_alike(arch):
            work[event.unit] = work.get(event.unit, 0) + event.end - event.start
    engines = {unit: len(arch.npus) for unit in work} | {Unit.DMA: arch.dma.channels}
    return max((-(-cycles // engines[unit]) for unit, cycles in work.items()), default=0)

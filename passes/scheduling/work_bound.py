"""What no order of given events can beat: the work of the busiest engines, and of the ports."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from ...ir.arch import Architecture
from ...ir.isa import Unit
from ...ir.proof import Scope
from ...ir.tile_schedule import TileSchedule
from ...ir.touches import Accesses
from ..analysis.traffic import Direction
from .across.npus import are_alike
from .timing.retime import memory_owner
from .timing.work import Work, Works


def with_work_bound(schedule: TileSchedule, arch: Architecture) -> TileSchedule:
    """Return a schedule with the bound that its events have."""
    bound = work_bound(schedule, arch)
    scope = Scope.GIVEN_EVENTS if bound else None
    return replace(schedule, cycles_lower_bound=bound, scope=scope)


def work_bound(schedule: TileSchedule, arch: Architecture) -> int:
    """Return the work of the busiest kind of engine, or off-chip port, that events ask for [cycle].

    An event keeps its engine busy as long as it takes alone, or longer; the array only while it
    computes, since it fills and drains beside that. No order of these events is faster. NPUs that
    differ need different times for the same work, so that only transfers count on such machines.
    """
    works, accesses = Works(schedule.graph, arch), Accesses(schedule)
    asked = [
        (event.unit, works.of(event, memory_owner(accesses, number)))
        for number, event in enumerate(schedule.events)
    ]
    return max(_of_engines(asked, works, arch), _of_ports(asked, works))


def _of_engines(asked: Iterable[tuple[Unit, Work]], works: Works, arch: Architecture) -> int:
    busy: Counter[Unit] = Counter()
    for unit, work in asked:
        if unit is Unit.DMA or are_alike(arch):
            busy[unit] += work.length(works.ports.bandwidths) + work.lead
    engines = {unit: len(arch.npus) for unit in busy} | {Unit.DMA: arch.dma.channels}
    return max((-(-cycles // engines[unit]) for unit, cycles in busy.items()), default=0)


def _of_ports(asked: Iterable[tuple[Unit, Work]], works: Works) -> int:
    """Return what the off-chip ports take for all bytes; whoever moves them [cycle]."""
    ports = works.ports
    shared = {*ports.off_chip(Direction.READ), *ports.off_chip(Direction.WRITE)}
    moved: Counter[str] = Counter()
    for _, work in asked:
        for port, size in work.moved:
            if port in shared:
                moved[port] += size
    times = [size / Fraction(ports.bandwidths[port]) for port, size in moved.items()]
    return max((-(-time.numerator // time.denominator) for time in times), default=0)

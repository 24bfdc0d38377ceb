"""Tell when the events of a schedule run on the machine: waits, work and the clock."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

import numpy as np

from ....ir.arch import Architecture
from ....ir.isa.instructions import Unit
from ....ir.proof import Scope
from ....ir.tiles.events import Event
from ....ir.tiles.hazards import ScheduleHazards, waits_for
from ....ir.tiles.schedule import TileSchedule
from ....ir.tiles.touches import Accesses
from .issued import IssuedEvents, times_of
from .work import Work, Works


def timed(schedule: TileSchedule, arch: Architecture) -> TileSchedule:
    """Return a schedule with the times that the machine needs for its events, in their order.

    Lowering follows the same hazards, so that this is what the simulator counts. Where nothing
    better is proven of all schedules, the bound is what no order of these events can beat.

    Args:
        schedule: Its times do not matter.
        arch: The machine.
    """
    works = Works(schedule.graph, arch)
    return clocked(schedule, works, issued_events(schedule, works))


def issued_events(schedule: TileSchedule, works: Works) -> IssuedEvents:
    """Return what each event of a schedule waits for, and does.

    Args:
        schedule: Its times do not matter.
        works: Of its tiles on the machine.
    """
    hazards = ScheduleHazards(schedule)
    numbers = queue_numbers(schedule.events)
    queues = [numbers[event.unit, event.index] for event in schedule.events]
    lengths, distinct = [0] * len(numbers), dict[Work, int]()
    work, counts, waits = list[int](), list[int](), list[tuple[int, int]]()
    for number, (event, queue) in enumerate(zip(schedule.events, queues, strict=True)):
        upcoming = hazards.before(number)
        found = works.of(event, memory_owner(hazards.accesses, number))
        work.append(distinct.setdefault(found, len(distinct)))
        before = sorted(waits_for((upcoming.waits,), queue).items())
        counts.append(len(before))
        waits += before
        lengths[queue] += 1
        upcoming.note(queue, lengths[queue])
    return IssuedEvents(
        engines=tuple(numbers),
        queue=np.array(queues, np.int64),
        work=np.array(work, np.int64),
        works=tuple(distinct),
        waits_from=np.array([0, *accumulate(counts)], np.int64),
        waits=np.array(waits, np.int64).reshape(-1, 2),
    )


def queue_numbers(events: Iterable[Event]) -> Mapping[tuple[Unit, int], int]:
    """Return the number of each engine's queue, in the order in which they get events.

    Args:
        events: Of all queues.
    """
    engines = dict.fromkeys((event.unit, event.index) for event in events)
    return {engine: number for number, engine in enumerate(engines)}


def clocked(schedule: TileSchedule, works: Works, issued: IssuedEvents) -> TileSchedule:
    """Return a schedule with its times, where it is known what each event waits for.

    Args:
        schedule: Its times do not matter.
        works: Of its tiles on the machine.
        issued: What its events wait for and do.
    """
    spans = issued.spans(works).tolist()
    events = tuple(_at(event, span) for event, span in zip(schedule.events, spans, strict=True))
    found = schedule.rescheduled(events=events, cycles=last_end(events))
    if found.scope is Scope.ALL_SCHEDULES:
        return found
    bound = issued.bound(works)
    scope = Scope.GIVEN_EVENTS if bound else None
    return found.rescheduled(cycles_lower_bound=bound, scope=scope)


def _at(event: Event, span: Sequence[int]) -> Event:
    start, end, fill, drain = times_of(event.unit, span)
    return event.at(start, end, fill=fill, drain=drain)


def lone_works(schedule: TileSchedule, arch: Architecture) -> tuple[Work, ...]:
    """Return what each event of a schedule asks of the machine."""
    works, accesses = Works(schedule.graph, arch), Accesses(schedule)
    return tuple(
        works.of(event, memory_owner(accesses, number))
        for number, event in enumerate(schedule.events)
    )


def memory_owner(accesses: Accesses, number: int) -> int:
    """Return whose memory a transfer goes to or comes from, or the NPU that works."""
    event, tiles = accesses.schedule.events[number], accesses.schedule.graph.tiles
    if event.unit is not Unit.DMA:
        return event.index
    tile = tiles[event.subject]
    if tile.is_resident or tile.space.is_shared:
        return 0
    return accesses.placement(event.subject, number).npu


def last_end(events: Iterable[Event]) -> int:
    """Return when the last event has ended [cycle]."""
    return max((event.end for event in events), default=0)

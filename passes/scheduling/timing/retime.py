"""Tell when the events of a schedule run on the machine: waits, work and the clock."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ....ir.arch import Architecture
from ....ir.isa.instructions import Unit
from ....ir.proof import Scope
from ....ir.tiles.events import Event
from ....ir.tiles.hazards import ScheduleHazards, Ticks, waits_for
from ....ir.tiles.schedule import TileSchedule
from ....ir.tiles.touches import Accesses
from .clock import Share, Span, Task, run_queues
from .work import Work, Works
from .work_bound import work_bound


class Issued(NamedTuple):
    """What is known of an event when it is issued, before it has a time.

    Attributes:
        waits: Per queue, the number of its last event that has to end before; not of its own.
        work: What it does.
    """

    waits: Ticks
    work: Work


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


def issued_events(schedule: TileSchedule, works: Works) -> tuple[Issued, ...]:
    """Return what each event of a schedule waits for, and does.

    Args:
        schedule: Its times do not matter.
        works: Of its tiles on the machine.
    """
    hazards = ScheduleHazards(schedule)
    queues, lengths = queue_numbers(schedule.events), Counter[int]()
    found: list[Issued] = []
    for number, event in enumerate(schedule.events):
        queue = queues[event.unit, event.index]
        upcoming = hazards.before(number)
        work = works.of(event, memory_owner(hazards.accesses, number))
        found.append(Issued(waits_for((upcoming.waits,), queue), work))
        lengths[queue] += 1
        upcoming.note(queue, lengths[queue])
    return tuple(found)


def queue_numbers(events: Iterable[Event]) -> Mapping[tuple[Unit, int], int]:
    """Return the number of each engine's queue, in the order in which they get events.

    Args:
        events: Of all queues.
    """
    engines = dict.fromkeys((event.unit, event.index) for event in events)
    return {engine: number for number, engine in enumerate(engines)}


def clocked(schedule: TileSchedule, works: Works, issued: Sequence[Issued]) -> TileSchedule:
    """Return a schedule with its times, where it is known what each event waits for.

    Args:
        schedule: Its times do not matter.
        works: Of its tiles on the machine.
        issued: Of each event, what it waits for and does; queues as :func:`queue_numbers` has them.
    """
    run = _Clocking(schedule, works, issued)
    for number in range(len(schedule.events)):
        run.add(number)
    return run.finish()


def lone_works(schedule: TileSchedule, arch: Architecture) -> tuple[Work, ...]:
    """Return what each event of a schedule asks of the machine."""
    works, accesses = Works(schedule.graph, arch), Accesses(schedule)
    return tuple(
        works.of(event, memory_owner(accesses, number))
        for number, event in enumerate(schedule.events)
    )


@dataclass
class _Clocking:
    """One schedule on its way to the clock.

    Attributes:
        schedule: Its times do not matter.
        works: Of its tiles.
        issued: Of each event, what it waits for and does.
        tasks: Per queue.
        members: Per queue the numbers of its events.
    """

    schedule: TileSchedule
    works: Works
    issued: Sequence[Issued]
    tasks: list[list[Task]] = field(init=False)
    members: list[list[int]] = field(init=False)
    _shapes: dict[Work, Task] = field(default_factory=dict[Work, Task])

    def __post_init__(self) -> None:
        self.queues = queue_numbers(self.schedule.events)
        self.tasks = [[] for _ in self.queues]
        self.members = [[] for _ in self.queues]
        self.bandwidths = self.works.ports.bandwidths
        self.ports = {name: number for number, name in enumerate(self.bandwidths)}

    def add(self, number: int) -> None:
        """Take the next event."""
        event, (waits, work) = self.schedule.events[number], self.issued[number]
        queue = self.queues[event.unit, event.index]
        self.members[queue].append(number)
        # as `_replace` would, but for many events
        self.tasks[queue].append(Task(tuple(sorted(waits.items())), *self._task(work)[1:]))

    def _task(self, work: Work) -> Task:
        if work not in self._shapes:
            length = self.works.length(work)
            self._shapes[work] = Task(
                ahead=work.lead + work.fill,
                length=length,
                after=work.drain,
                shares=tuple(
                    Share(self.ports[port], size / (self.bandwidths[port] * length))
                    for port, size in work.moved
                ),
            )
        return self._shapes[work]

    def finish(self) -> TileSchedule:
        """Return the schedule with its times and its bound."""
        pipelined = [unit is Unit.MX for unit, _ in self.queues]
        spans = run_queues(self.tasks, pipelined, len(self.ports))
        events: list[Event] = list(self.schedule.events)
        for queue, numbers in enumerate(self.members):
            for number, span in zip(numbers, spans[queue], strict=True):
                events[number] = _at(events[number], span)
        found = self.schedule.rescheduled(events=tuple(events), cycles=last_end(events))
        if found.scope is Scope.ALL_SCHEDULES:
            return found
        pairs = zip(events, self.issued, strict=True)
        bound = work_bound(((event.unit, item.work) for event, item in pairs), self.works)
        scope = Scope.GIVEN_EVENTS if bound else None
        return found.rescheduled(cycles_lower_bound=bound, scope=scope)


def _at(event: Event, span: Span) -> Event:
    if event.unit is Unit.MX:
        fill, drain = span.begin - span.start, span.end - span.done
        return event.at(span.start, span.end, fill=fill, drain=drain)
    return event.at(span.start, span.end)


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

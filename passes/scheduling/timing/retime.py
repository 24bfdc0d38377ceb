"""Tell when the events of a schedule run on the machine: waits, work and the clock."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ....ir.arch import Architecture
from ....ir.isa.instructions import Unit
from ....ir.proof import Scope
from ....ir.tiles.events import Event
from ....ir.tiles.hazards import ScheduleHazards, waits_for
from ....ir.tiles.schedule import TileSchedule
from ....ir.tiles.touches import Accesses
from .clock import Share, Span, Task, run_queues
from .work import Work, Works
from .work_bound import work_bound


def timed(schedule: TileSchedule, arch: Architecture) -> TileSchedule:
    """Return a schedule with the times that the machine needs for its events, in their order.

    Lowering follows the same hazards, so that this is what the simulator counts. Where nothing
    better is proven of all schedules, the bound is what no order of these events can beat.
    """
    run = _Retiming(schedule, arch)
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
class _Retiming:
    """One schedule on its way to the clock.

    Attributes:
        schedule: Its times do not matter.
        arch: The machine.
        queues: Number of each engine's queue.
        tasks: Per queue.
        members: Per queue the numbers of its events.
        asked: Per event the kind of its engine and its work.
    """

    schedule: TileSchedule
    arch: Architecture
    queues: dict[tuple[Unit, int], int] = field(default_factory=dict[tuple[Unit, int], int])
    tasks: list[list[Task]] = field(default_factory=list[list[Task]])
    members: list[list[int]] = field(default_factory=list[list[int]])
    asked: list[tuple[Unit, Work]] = field(default_factory=list[tuple[Unit, Work]])
    _shapes: dict[Work, Task] = field(default_factory=dict[Work, Task])

    def __post_init__(self) -> None:
        self.works = Works(self.schedule.graph, self.arch)
        self.hazards = ScheduleHazards(self.schedule)
        self.bandwidths = self.works.ports.bandwidths
        self.ports = {name: number for number, name in enumerate(self.bandwidths)}

    def add(self, number: int) -> None:
        """Take the next event."""
        event = self.schedule.events[number]
        queue = self.queues.setdefault((event.unit, event.index), len(self.queues))
        if queue == len(self.tasks):
            self.tasks.append([])
            self.members.append([])
        upcoming = self.hazards.before(number)
        waits = tuple(sorted(waits_for((upcoming.waits,), queue).items()))
        work = self.works.of(event, memory_owner(self.hazards.accesses, number))
        self.members[queue].append(number)
        self.asked.append((event.unit, work))
        # as `_replace` would, but for many events
        self.tasks[queue].append(Task(waits, *self._task(work)[1:]))
        self.hazards.note(upcoming, queue, len(self.tasks[queue]))

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
        bound = work_bound(self.asked, self.works)
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

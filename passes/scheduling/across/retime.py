"""Tell when the events of a schedule run: in order per queue, each when what it needs is there."""

from dataclasses import replace

from ....ir.hazards import waits_for
from ....ir.isa import Unit
from ....ir.schedule_hazards import ScheduleHazards
from ....ir.tile_events import Event
from ....ir.tile_schedule import TileSchedule


def retimed(schedule: TileSchedule) -> TileSchedule:
    """Return a schedule of several operators with the times that the machine will need.

    Lowering follows the same hazards, so that this is what the simulator counts.
    """
    hazards = ScheduleHazards(schedule)
    queues: dict[tuple[Unit, int], int] = {}
    ends: list[list[int]] = []
    events: list[Event] = []
    for number, event in enumerate(schedule.events):
        queue = queues.setdefault((event.unit, event.index), len(queues))
        if queue == len(ends):
            ends.append([0])
        touches, ticks = hazards.before(number)
        waits = waits_for((ticks,), queue)
        start = max(ends[queue][-1], *(ends[other][tick] for other, tick in waits.items()), 0)
        ends[queue].append(start + event.end - event.start)
        hazards.note(number, touches, queue, len(ends[queue]) - 1)
        events.append(replace(event, start=start, end=ends[queue][-1]))
    cycles = max((event.end for event in events), default=0)
    return replace(schedule, events=tuple(events), cycles=cycles)

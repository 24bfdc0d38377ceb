"""Operators of a network as programs of their own, timed by the model and by the simulator."""

from accnn.backend.lower import lower
from accnn.compiler.alone import alone
from accnn.ir.module import Module
from accnn.ir.program import Program
from accnn.ir.tile_events import Event
from accnn.ir.tile_schedule import TileSchedule
from accnn.runtime_sim.timing import Timing, time_of

Times = list[tuple[str, int, int]]
"""Per instruction its queue, when it begins to work, and when it retires [cycle]."""


def predicted(schedule: TileSchedule) -> Times:
    """Return the times that a schedule tells, queue by queue."""

    def line(event: Event) -> tuple[str, int, int]:
        return f"{event.unit}{event.index}", event.begin, event.end

    return sorted(map(line, schedule.events), key=lambda item: item[0])


def simulated(program: Program, timing: Timing | None = None) -> Times:
    """Return the simulator's times without those of the halts, queue by queue."""
    found = (timing or time_of(program)).queues
    return sorted(
        (
            (queue.name, issue.start, issue.end)
            for queue, line in zip(program.queues, found, strict=True)
            for issue in line[:-1]
        ),
        key=lambda item: item[0],
    )


def program_of(module: Module, schedule: TileSchedule) -> Program:
    """Return the program of one operator."""
    return lower(alone(module, schedule)).program

"""When the events of a tile schedule ran in the simulator.

Lowering turns every event into one instruction of its engine's queue, in order: the events of an
engine and the instructions of its queue go in pairs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .....ir.isa.instructions import Unit
from .....ir.tiles.schedule import TileSchedule
from .....runtime_sim.result import QueueTimeline, SimulationResult

Span = tuple[int, int]
"""First cycle, and the one after the last."""


@dataclass(frozen=True)
class EventTimes:
    """Times of every event of a schedule.

    Attributes:
        spans: One per event, in the schedule's order.
        are_simulated: Whether the simulator measured them; the schedule predicted them otherwise.
    """

    spans: tuple[Span, ...]
    are_simulated: bool


def event_times(schedule: TileSchedule, simulation: SimulationResult | None) -> EventTimes:
    """Return the simulator's times of all events, or the predicted ones if it did not run.

    Predicted times of the MAC array are those in which it computes, without fill and drain.
    """
    if simulation is not None and simulation.timelines is not None:
        queues = _queues(simulation, simulation.timelines)
        found = tuple(next(queues[event.unit, event.index]) for event in schedule.events)
        return EventTimes(found, are_simulated=True)
    predicted = tuple((event.begin, event.done) for event in schedule.events)
    return EventTimes(predicted, are_simulated=False)


def _queues(
    simulation: SimulationResult, timelines: tuple[QueueTimeline, ...]
) -> Mapping[tuple[Unit, int], Iterator[Span]]:
    """Return the times of the instructions of each queue, in order."""
    return {
        (queue.unit, queue.index): zip(line.starts.tolist(), line.shown_ends.tolist(), strict=True)
        for queue, line in zip(simulation.program.queues, timelines, strict=True)
    }

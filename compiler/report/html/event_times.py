"""When the events of tile schedules ran in the simulator.

Lowering turns every event into one instruction of its engine's queue, in order, and every whole
tensor that the plan moves into a copy on the DMA channel with the fewest instructions (unless it
is an event itself, as in a schedule of several operators). Walking through both in that order
pairs events with instructions.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ....ir.graph_schedule import GraphSchedule
from ....ir.isa import Unit
from ....ir.module import Module
from ....ir.tile_schedule import TileSchedule
from ....runtime_sim.result import SimulationResult, Timeline

Span = tuple[int, int]
"""First cycle, and the one after the last."""


@dataclass(frozen=True)
class EventTimes:
    """Times of every event of some schedules.

    Attributes:
        spans: Per schedule, one per event, in the schedule's order.
        are_simulated: Whether the simulator measured them; schedules predicted them otherwise.
    """

    spans: tuple[tuple[Span, ...], ...]
    are_simulated: bool


def event_times(module: Module, simulation: SimulationResult | None) -> EventTimes:
    """Return the simulator's times of all events, or the predicted ones if it did not run.

    Predicted times of the MAC array are those in which it computes, without fill and drain.
    """
    found = None if simulation is None else _simulated(module, simulation)
    if found is not None:
        return EventTimes(found, are_simulated=True)
    predicted = tuple(
        tuple((event.begin, event.done) for event in item.events) for item in module.tile_schedules
    )
    return EventTimes(predicted, are_simulated=False)


def _simulated(module: Module, simulation: SimulationResult) -> tuple[tuple[Span, ...], ...] | None:
    """Return the times, or ``None`` where events and instructions do not pair."""
    plan = module.graph_schedule
    if plan is None or simulation.timelines is None:
        return None
    walk = _Walk.through(simulation, simulation.timelines)
    schedules = {name: item for item in module.tile_schedules for name in item.graph.operators}
    if set(schedules) != set(plan.order):
        return None
    are_joint = any(len(item.graph.operators) > 1 for item in module.tile_schedules)
    found: dict[int, tuple[Span, ...]] = {}
    for step, name in enumerate(plan.order):
        walk.skip_copies(0 if are_joint else _moves_before(plan, step))
        schedule = schedules[name]
        if id(schedule) not in found:
            found[id(schedule)] = walk.follow(schedule)
        walk.skip_copies(0 if are_joint else sum(item.step == step for item in plan.stores))
    if not walk.is_at_the_end:
        return None
    return tuple(found[id(item)] for item in module.tile_schedules)


def _moves_before(plan: GraphSchedule, step: int) -> int:
    """Return how many whole tensors are moved before the operator of a step."""
    return sum(item.step == step for item in (*plan.spills, *plan.loads, *plan.retrieves))


@dataclass
class _Walk:
    """Where we are in every queue.

    Attributes:
        times: Per queue, times of its instructions.
        lengths: Per queue, number of instructions but for the final halt.
        at: Per queue, the next instruction.
    """

    times: Mapping[tuple[Unit, int], tuple[list[int], list[int]]]
    lengths: Mapping[tuple[Unit, int], int]
    at: dict[tuple[Unit, int], int]

    @classmethod
    def through(cls, simulation: SimulationResult, timelines: tuple[Timeline, ...]) -> "_Walk":
        queues = simulation.program.queues
        return cls(
            times={
                (queue.unit, queue.index): (line.starts.tolist(), line.shown_ends.tolist())
                for queue, line in zip(queues, timelines, strict=True)
            },
            lengths={(queue.unit, queue.index): len(queue.instructions) - 1 for queue in queues},
            at={(queue.unit, queue.index): 0 for queue in queues},
        )

    @property
    def is_at_the_end(self) -> bool:
        return self.at == self.lengths

    def skip_copies(self, count: int) -> None:
        channels = [key for key in self.at if key[0] is Unit.DMA]
        for _ in range(count):
            self.at[min(channels, key=self.at.__getitem__)] += 1

    def follow(self, schedule: TileSchedule) -> tuple[Span, ...]:
        return tuple(self._next((event.unit, event.index)) for event in schedule.events)

    def _next(self, queue: tuple[Unit, int]) -> Span:
        position = self.at[queue]
        self.at[queue] += 1
        starts, ends = self.times[queue]
        return (starts[position], ends[position]) if position < len(starts) else (0, 0)

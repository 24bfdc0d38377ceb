"""Operators of a network as programs of their own, timed by the model and by the simulator."""

from dataclasses import replace

from accnn.backend.lowering.lower import lower
from accnn.ir.graph import Graph, Value
from accnn.ir.graph_schedule import GraphSchedule
from accnn.ir.isa.program import Program
from accnn.ir.module import Module
from accnn.ir.tiles.events import Event
from accnn.ir.tiles.schedule import TileSchedule
from accnn.runtime_sim.timing.events import ProgramTiming, time_of

Times = list[tuple[str, int, int]]
"""Per instruction its queue, when it begins to work, and when it retires [cycle]."""


def alone(module: Module, schedule: TileSchedule) -> Module:
    """Return a module of one operator; what was resident at its step lies there from the start."""
    graph, plan = module.graph, module.graph_schedule
    assert plan is not None
    (name,) = schedule.graph.operators
    op, step = graph.producer[name], plan.step_of[name]
    inputs = dict.fromkeys(item for item in op.inputs if not graph.is_constant(item))
    return replace(
        module,
        graph=Graph(
            name=name,
            inputs=tuple(Value(item, graph.types[item]) for item in inputs),
            constants=tuple(item for item in graph.constants if item.name in op.inputs),
            ops=(op,),
            outputs=(name,),
        ),
        graph_schedule=GraphSchedule(
            budget=plan.budget,
            order=(name,),
            residences=tuple(
                replace(item, first_step=0, last_step=0)
                for item in plan.residences
                if item.first_step <= step <= item.last_step
            ),
            workspaces=tuple(
                replace(item, step=0) for item in plan.workspaces if item.step == step
            ),
            streams=tuple(replace(item, step=0) for item in plan.streams if item.step == step),
        ),
        tile_schedule=schedule,
    )


def predicted(schedule: TileSchedule) -> Times:
    """Return the times that a schedule tells, queue by queue."""

    def line(event: Event) -> tuple[str, int, int]:
        return f"{event.unit}{event.index}", event.begin, event.end

    return sorted(map(line, schedule.events), key=lambda item: item[0])


def simulated(program: Program, timing: ProgramTiming | None = None) -> Times:
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

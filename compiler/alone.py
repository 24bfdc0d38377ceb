"""One operator of a scheduled network as a module of its own, to be lowered and timed alone."""

from dataclasses import replace

from ..ir.graph import Graph, Value
from ..ir.graph_schedule import GraphSchedule
from ..ir.module import Module
from ..ir.tile_schedule import TileSchedule


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
        tile_schedules=(schedule,),
    )

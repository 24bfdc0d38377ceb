"""Programs for ``--verify=layers``: every intermediate tensor goes off chip, to be compared."""

from dataclasses import replace

from ..backend.layout import observed_name
from ..ir.graph_schedule import GraphSchedule, Transfer
from ..ir.module import Module
from ..ir.program import Program
from ..ir.tile_schedule import TileSchedule
from ..passes.base import require_arch
from ..passes.scheduling.across.store_results import store_results


def observed(module: Module) -> Module:
    """Return the module with a store of every resident result right after its operator.

    It fills a copy, which nothing reads back. Streamed results go off chip anyway. Only the graph
    schedule changes, and a tile schedule of all operators, where such moves are events.
    """
    plan = module.graph_schedule
    assert plan is not None
    extra = _stores(module, plan)
    return replace(
        module,
        graph_schedule=replace(plan, stores=(*plan.stores, *extra)),
        tile_schedules=tuple(
            item if len(item.graph.operators) == 1 else _with_events(module, plan, item, extra)
            for item in module.tile_schedules
        ),
    )


def symbol_of(program: Program, tensor: str) -> str | None:
    """Return the symbol that shows what a tensor is, ``None`` where it does not go off chip."""
    names = (observed_name(tensor), tensor)
    return next((name for name in names if name in program.symbol), None)


def _with_events(
    module: Module, plan: GraphSchedule, schedule: TileSchedule, stores: tuple[Transfer, ...]
) -> TileSchedule:
    places = [plan.resident(item.tensor, item.step) for item in stores]
    results = [(place, module.graph.types[place.tensor]) for place in places if place is not None]
    return store_results(schedule, results, require_arch(module))


def _stores(module: Module, plan: GraphSchedule) -> tuple[Transfer, ...]:
    stored = {item.tensor for item in plan.stores}
    return tuple(
        Transfer(tensor=value.name, step=step, bytes=value.type.bytes)
        for step, name in enumerate(plan.order)
        for value in module.graph.producer[name].results
        if value.name not in stored and plan.resident(value.name, step) is not None
    )

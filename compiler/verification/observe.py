"""Programs for ``--verify=layers``: every intermediate tensor goes off chip, to be compared."""

from dataclasses import replace

from ...backend.lowering.layout import observed_name
from ...ir.graph_schedule import GraphSchedule, Transfer
from ...ir.isa.program import Program
from ...ir.module import Module
from ...passes.base import require_arch
from ...passes.scheduling.network.store_results import store_results
from ...passes.tiling.residency import unit_of


def observed(module: Module) -> Module:
    """Return the module with a store of every resident result right after its operator.

    It fills a copy, which nothing reads back. Streamed results go off chip anyway.
    """
    plan, schedule = module.graph_schedule, module.tile_schedule
    assert plan is not None and schedule is not None
    extra = _stores(module, plan)
    places = [plan.resident(item.tensor, item.step) for item in extra]
    results = [(place, module.graph.types[place.tensor]) for place in places if place is not None]
    return replace(
        module,
        graph_schedule=replace(plan, stores=(*plan.stores, *extra)),
        tile_schedule=store_results(schedule, results, require_arch(module)),
    )


def symbol_of(program: Program, tensor: str) -> str | None:
    """Return the symbol that shows what a tensor is, ``None`` where it does not go off chip."""
    names = (observed_name(tensor), tensor)
    return next((name for name in names if name in program.symbol), None)


def _stores(module: Module, plan: GraphSchedule) -> tuple[Transfer, ...]:
    stored = {item.tensor for item in plan.stores}
    return tuple(
        Transfer(tensor=value.name, step=step, bytes=value.type.bytes)
        for step, name in enumerate(plan.order)
        for value in unit_of(module.graph, plan, name).results
        if value.name not in stored and plan.resident(value.name, step) is not None
    )

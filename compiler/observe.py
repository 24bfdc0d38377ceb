"""Programs for ``--verify=layers``: every intermediate tensor goes off chip, to be compared."""

from dataclasses import replace

from ..ir.graph_schedule import GraphSchedule, Transfer
from ..ir.module import Module


def observed(module: Module) -> Module:
    """Return the module with a store of every resident result right after its operator.

    Streamed results go off chip anyway. Only the graph schedule changes.
    """
    plan = module.graph_schedule
    assert plan is not None
    return replace(module, graph_schedule=_with_stores(module, plan))


def _with_stores(module: Module, plan: GraphSchedule) -> GraphSchedule:
    stored = {item.tensor for item in plan.stores}
    extra = tuple(
        Transfer(tensor=value.name, step=step, bytes=value.type.bytes)
        for step, name in enumerate(plan.order)
        for value in module.graph.producer[name].results
        if value.name not in stored and plan.resident(value.name, step) is not None
    )
    return replace(plan, stores=(*plan.stores, *extra))

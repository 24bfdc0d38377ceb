"""Pass: plan the scratchpad in the graph's own order."""

from dataclasses import dataclass, replace
from typing import ClassVar

from ...ir.module import Module, Stage
from ..base import Context, Pass, require_arch
from .cosma.budgets import requested_budget
from .in_order import schedule_in_order


@dataclass(frozen=True)
class ScheduleInOrder(Pass):
    """Schedule operators in the graph's order and place tensors greedily.

    ::

        graph, arch    ->    graph_schedule: order, residences, streams, workspaces

    ``scratchpad`` is a number of bytes, or ``mr``, ``mh`` or ``mp``, which follow from the graph.
    """

    name: ClassVar[str] = "schedule-in-order"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH, Stage.ARCH})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH_SCHEDULE})

    scratchpad: str | None = None

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with a graph schedule."""
        arch = require_arch(module)
        budget = requested_budget(self.scratchpad, module.graph, arch)
        plan = schedule_in_order(module.graph, arch, budget=budget)
        ctx.counters.add("residences", len(plan.residences))
        ctx.counters.add("streams", len(plan.streams))
        return replace(module, graph_schedule=plan)

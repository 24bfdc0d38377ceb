"""Pass: plan the scratchpad as one of the four schemes that COSMA's paper compares with.

References:
    Li, Gupta, Malik. Combined Scheduling, Memory Allocation and Tensor Replacement for
    Minimizing Off-Chip Data Accesses of DNN Accelerators. FMCAD, 2024, section V-A2.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from ...ir.arch import Architecture
from ...ir.graph import Graph
from ...ir.graph_schedule import GraphSchedule
from ...ir.module import Module, Stage
from ...ir.workload import Operand
from ..base import Context, Pass, require_arch
from .check import check_schedule
from .cosma.baselines import Replacement, schedule_linear
from .cosma.budgets import requested_budget
from .cosma.menu import resident_menu
from .cosma.problem import problem_of
from .cosma.search.peak import least_peak
from .cosma.workspaces import grow_workspaces
from .in_order import scratchpad_budget, workspace_reserve


class Order(StrEnum):
    """In which order operators run.

    ``default``: that of the graph. ``mpmf``: one of minimum peak memory footprint.
    """

    DEFAULT = "default"
    MPMF = "mpmf"


@dataclass(frozen=True)
class ScheduleLinear(Pass):
    """Schedule in a fixed order, with a linear arena and a rule of replacement.

    ::

        graph, arch    ->    graph_schedule: order, residences, spills, streams, workspaces
    """

    name: ClassVar[str] = "schedule-linear"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH, Stage.ARCH})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH_SCHEDULE})

    scratchpad: str | None = None
    order: Order = Order.DEFAULT
    replacement: Replacement = Replacement.BELADY

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with a graph schedule, replayed by the independent checker."""
        arch = require_arch(module)
        budget = requested_budget(self.scratchpad, module.graph, arch)
        plan = plan_linear(module.graph, arch, self.order, self.replacement, budget=budget)
        check_schedule(module.graph, plan, arch)
        ctx.counters.add("residences", len(plan.residences))
        ctx.counters.add("spills", len(plan.spills))
        ctx.counters.add("streams", len(plan.streams))
        return replace(module, graph_schedule=plan)


def plan_linear(
    graph: Graph,
    arch: Architecture,
    order: Order,
    rule: Replacement,
    *,
    budget: int | None = None,
) -> GraphSchedule:
    """Return the plan of an order and a rule on a machine, at any size of the scratchpad.

    Where anything passes in tiles, half of the scratchpad is kept for them.

    Args:
        graph: The network.
        arch: The accelerator.
        order: In which order operators run.
        rule: Which tensors leave the arena.
        budget: Scratchpad size to use instead of the architecture's [byte].

    Raises:
        InfeasibleError: The budget is below one byte, or above what the machine has.
    """
    allowed = scratchpad_budget(arch, budget)
    problem = problem_of(graph, allowed, menu=resident_menu(graph, arch))
    steps = tuple(range(len(graph.ops)))
    if order is Order.MPMF:
        _, steps, _ = least_peak(problem)
    weights_pass = Operand.W in arch.scratchpad_level.holds and bool(graph.constants)
    plan = schedule_linear(problem, steps, rule)
    if plan.streams or weights_pass:
        plan = schedule_linear(problem, steps, rule, reserve=workspace_reserve(allowed))
    return grow_workspaces(plan)

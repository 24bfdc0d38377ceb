"""COSMA as one function: a graph and a machine in, a graph schedule with its bound out."""

from dataclasses import replace
from functools import partial

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError, OptionError
from ....ir.graph import Graph
from ....ir.graph_schedule import GraphSchedule, Group, SolveStatus
from ....ir.groups import contracted
from ....ir.proof import Scope
from ...deadline import NEVER, Deadline
from ..fusion import Fuse
from ..fusion.choice import fused_plan
from ..in_order import schedule_in_order, scratchpad_budget
from .decode import decode
from .menu import replaced_operands, resident_menu, streaming_menu
from .problem import PlanProblem, problem_of
from .refine import CorrectedTraffic, Measured, refine
from .smallest import explained_shortage
from .solve import CosmaOptions, PlanEngine, PlanOrder, solve
from .traffic.delay import delay_on
from .traffic.model import Ahead, TrafficModel, at_its_time
from .traffic.streaming import analytic_traffic
from .workspaces import grow_workspaces

_AFTER_A_GAP = 20
"""Rounds after one that was not proven search so many times fewer nodes.

What they search in vain is lost: of a search without proof only the bound is used, and plans with
measured bytes have another one. The beam finds the plan then.
"""


_ROUNDS_WITH_GROUPS = 4
"""How often to plan with given groups, of which several are tried."""


def schedule_cosma(
    graph: Graph,
    arch: Architecture,
    *,
    budget: int | None = None,
    include_parameters: bool = False,
    streaming: bool = True,
    exact: TrafficModel | None = None,
    ahead: Ahead = at_its_time,
    rounds: int = 12,
    latency: float = 0.0,
    fuse: Fuse = Fuse.OFF,
    options: CosmaOptions | None = None,
    deadline: Deadline = NEVER,
) -> GraphSchedule:
    """Return the plan of least off-chip traffic: order, residences, transfers, workspaces.

    Args:
        graph: The network.
        arch: The accelerator.
        budget: Scratchpad size to use instead of the architecture's [byte].
        include_parameters: Whether constants reside in the scratchpad whole while their
            operators run (the paper's second setting), instead of passing in tiles.
        streaming: Whether operators may stream activations in tiles (needed below ``M_R``);
            ``False`` is the paper's model.
        exact: Tells what an operator moves off chip with given tensors resident and a given
            workspace, where an analytic model only estimates it; the options that a plan relies
            on are measured with it, and the bytes of the plan are measured ones.
        ahead: Tells ``exact`` what it will be asked.
        rounds: How often to plan where ``exact`` is given.
        latency: Where ``exact`` is given, the weight of cycles: from 0, bytes alone count, to 1,
            cycles alone count.
        fuse: Where ``exact`` is given, which operators may be executed together.
        options: Engine, limits and seed. ``auto`` is ``search`` where ``exact`` is given: a program
            takes minutes for a proof that does not hold of measured bytes.
        deadline: When the best plan so far is taken, where ``exact`` is given.

    Raises:
        InfeasibleError: An operator does not fit.
        OptionError: The literal engine is asked for together with streaming.
    """
    options = options or CosmaOptions()
    if streaming and options.engine is PlanEngine.LITERAL:
        raise OptionError(
            "the literal engine knows no streaming", hint="set streaming = false, or use 'ilp'"
        )
    if exact is not None and options.engine is PlanEngine.AUTO:
        options = replace(options, engine=PlanEngine.SEARCH)
    room = scratchpad_budget(arch, budget)
    delay = delay_on(arch, 0.0 if exact is None else latency)

    def problem_with(
        seen: Graph, model: TrafficModel | None, size: int, *, in_place: bool = True
    ) -> PlanProblem:
        if model is None:
            menu, replaced = resident_menu(seen, arch), None
        else:
            replaced = replaced_operands(graph, seen) if in_place else None
            menu = streaming_menu(
                seen,
                arch,
                size,
                model,
                include_parameters=include_parameters,
                delay=delay,
                replaced=replaced,
            )
        return problem_of(
            seen, size, include_parameters=include_parameters, menu=menu, replaced=replaced
        )

    def plan_with(
        seen: Graph,
        model: TrafficModel | None,
        *,
        brief: bool = False,
        order: PlanOrder = options.order,
        in_place: bool = True,
    ) -> tuple[GraphSchedule, bool]:
        nodes = options.search_nodes // (_AFTER_A_GAP if brief else 1)
        chosen = replace(options, search_nodes=nodes, order=order)
        found = solve(problem_with(seen, model, room, in_place=in_place), chosen)
        is_proven = found.status is SolveStatus.OPTIMAL
        scope = Scope.WHOLE_TENSORS if model is None else Scope.TRAFFIC_MODEL
        if delay.weight and model is not None:
            scope = None  # what is proven is proven of bytes and delays together
        return decode(found, scope), is_proven

    if not streaming:
        return plan_with(graph, None)[0]
    fast = analytic_traffic(graph, arch)
    try:
        problem_with(graph, fast, room).restrict_menus()
    except InfeasibleError as error:
        sized = partial(problem_with, graph, fast)
        raise explained_shortage(error, arch.scratchpad, room, sized) from None
    if exact is None:
        return grow_workspaces(plan_with(graph, fast)[0])
    corrected = CorrectedTraffic(fast, exact, delay, ahead)

    def planned(
        groups: tuple[Group, ...],
        in_order: tuple[str, ...] | None = None,
        in_place: bool = True,
    ) -> Measured | None:
        seen, order = contracted(graph, groups), options.order
        if in_order is not None:
            ops = tuple(map(graph.producer.__getitem__, in_order))
            seen, order = replace(graph, ops=ops), PlanOrder.GIVEN
        is_first = not groups and in_order is None and in_place
        return refine(
            graph,
            groups,
            corrected,
            partial(plan_with, seen, order=order, in_place=in_place),
            rounds=rounds if is_first else min(rounds, _ROUNDS_WITH_GROUPS),
            delay=delay,
            others=() if include_parameters else (schedule_in_order(seen, arch, budget=room),),
            deadline=deadline,
        )

    best = planned(())
    if best is None:
        return plan_with(graph, corrected)[0]
    if include_parameters or fuse is Fuse.OFF:
        return best.plan
    alone = partial(planned, ())
    return fused_plan(graph, arch, best, planned, alone, corrected, delay, fuse, deadline).plan

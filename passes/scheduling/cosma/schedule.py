"""COSMA for one machine: a graph in, a graph schedule with its bound out."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError, OptionError
from ....ir.graph import Graph
from ....ir.graph_schedule import GraphSchedule, Group, SolveStatus
from ....ir.groups import contracted
from ....ir.proof import Scope
from ...deadline import NEVER, Deadline
from ...mapping.problem import Objective
from ..fusion import Fuse
from ..fusion.choice import PlanComparison, fused_plan, plan_if_any
from ..fusion.subsampled import keeps_space, regrouped, subsampled
from ..in_order import schedule_in_order, scratchpad_budget
from .decode import decode
from .menu import replaced_operands, resident_menu, streaming_menu
from .problem import PlanProblem, problem_of
from .refine import CorrectedTraffic, Measured, Planned, refine
from .smallest import explained_shortage
from .solve import CosmaOptions, PlanEngine, PlanOrder, solve
from .traffic.delay import Delay, delay_on
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


@dataclass(frozen=True, kw_only=True)
class Cosma:
    """Plans networks for one machine.

    Attributes:
        arch: The accelerator.
        budget: Scratchpad size to use instead of the architecture's [byte].
        include_parameters: Whether constants reside in the scratchpad whole while their
            operators run (the paper's second setting), instead of passing in tiles.
        streaming: Whether operators may stream activations in tiles (needed below ``M_R``);
            ``False`` is the paper's model.
        rounds: How often to plan where traffic is measured.
        latency: Where traffic is measured, the weight of cycles: from 0, bytes alone count, to 1,
            cycles alone count.
        fuse: Where traffic is measured, which operators may be executed together.
        objective: What groups of them are compared by.
        options: Engine, limits and seed. ``auto`` is ``search`` where traffic is measured: a
            program takes minutes for a proof that does not hold of measured bytes.
        deadline: When the best plan so far is taken, where traffic is measured.

    Raises:
        OptionError: The literal engine is asked for together with streaming.
    """

    arch: Architecture
    budget: int | None = None
    include_parameters: bool = False
    streaming: bool = True
    rounds: int = 12
    latency: float = 0.0
    fuse: Fuse = Fuse.OFF
    objective: Objective = Objective.LATENCY
    options: CosmaOptions = CosmaOptions()
    deadline: Deadline = NEVER

    def __post_init__(self) -> None:
        """Check what goes together."""
        if self.streaming and self.options.engine is PlanEngine.LITERAL:
            raise OptionError(
                "the literal engine knows no streaming", hint="set streaming = false, or use 'ilp'"
            )

    def plan(self, graph: Graph) -> GraphSchedule:
        """Return the plan that moves least in an analytic model of traffic.

        Args:
            graph: The network.

        Raises:
            InfeasibleError: An operator does not fit.
        """
        planner = _Planner(graph, self, delay_on(self.arch, 0.0))
        if not self.streaming:
            return planner.solved(graph, None).schedule
        return grow_workspaces(planner.solved(graph, planner.estimates()).schedule)

    def measured(
        self,
        graph: Graph,
        exact: TrafficModel,
        ahead: Ahead = at_its_time,
        elsewhere: Callable[[Graph], TrafficModel] | None = None,
    ) -> tuple[Graph, GraphSchedule]:
        """Return the plan that moves least as measured, and the network that it is a plan of.

        Args:
            graph: The network.
            exact: Tells what an operator moves off chip with given tensors resident and a given
                workspace, where an analytic model only estimates it; the options that a plan
                relies on are measured with it, and the bytes of the plan are measured ones.
            ahead: Tells ``exact`` what it will be asked.
            elsewhere: Tells the same of other networks, if the network may become another one that
                computes the same (``fusion/subsampled.py``).

        Raises:
            InfeasibleError: An operator does not fit.
        """
        planner = self._measuring(graph, exact, ahead)
        plain = planner.planned(())
        if plain is None:
            return graph, planner.solved(graph, planner.traffic).schedule
        if self.include_parameters or self.fuse is Fuse.OFF:
            return graph, plain.plan
        best = fused_plan(
            graph,
            self.arch,
            plain,
            planner.planned,
            partial(planner.planned, ()),
            planner.traffic,
            planner.delay,
            self.fuse,
            self.deadline,
        )
        if elsewhere is None or self.deadline.is_over:
            return graph, best.plan
        return self._or_subsampled(graph, plain, best, elsewhere)

    def _or_subsampled(
        self,
        graph: Graph,
        plain: Measured,
        best: Measured,
        elsewhere: Callable[[Graph], TrafficModel],
    ) -> tuple[Graph, GraphSchedule]:
        """Return the plan, or a better one of the network with strided filters split."""
        other = subsampled(graph, best.plan)
        if other is graph:
            return graph, best.plan
        replanner = self._measuring(other, elsewhere(other))
        for groups in regrouped(graph, best.plan, other):
            found = plan_if_any(replanner.planned, groups)
            if found is None or not keeps_space(best.plan, found.plan):
                continue
            if PlanComparison(plain, replanner.delay).is_better(best, found):
                graph, best = other, found
        return graph, best.plan

    def _measuring(
        self, graph: Graph, exact: TrafficModel, ahead: Ahead = at_its_time
    ) -> "_MeasuringPlanner":
        options = self.options
        delay = delay_on(self.arch, self.latency, self.objective)
        if options.engine is PlanEngine.AUTO:
            options = replace(options, engine=PlanEngine.SEARCH)
        cosma = replace(self, options=options)
        fast = _Planner(graph, cosma, delay).estimates()
        traffic = CorrectedTraffic(fast, exact, delay, ahead)
        return _MeasuringPlanner(graph, cosma, delay, traffic=traffic)


@dataclass(frozen=True)
class _Planner:
    """Plans one network.

    Attributes:
        graph: The network.
        cosma: Machine, and what to plan.
        delay: What cycles are worth.
    """

    graph: Graph
    cosma: Cosma
    delay: Delay

    @property
    def room(self) -> int:
        """Size of the scratchpad [byte]."""
        return scratchpad_budget(self.cosma.arch, self.cosma.budget)

    def estimates(self) -> TrafficModel:
        """Return an analytic model of traffic.

        Raises:
            InfeasibleError: An operator does not fit: the message tells what would help.
        """
        arch, room = self.cosma.arch, self.room
        fast = analytic_traffic(self.graph, arch, room)
        try:
            self.problem(self.graph, fast, room).restrict_menus()
        except InfeasibleError as error:
            sized = partial(self.problem, self.graph, fast)
            raise explained_shortage(error, arch.scratchpad, room, sized) from None
        return fast

    def problem(
        self, seen: Graph, model: TrafficModel | None, size: int, *, in_place: bool = True
    ) -> PlanProblem:
        """Return what is to be solved.

        Args:
            seen: The network, groups being operators.
            model: Of what is streamed; ``None`` if nothing is.
            size: Of the scratchpad [byte].
            in_place: Whether results may lie in the place of operands.
        """
        arch, include = self.cosma.arch, self.cosma.include_parameters
        if model is None:
            menu, replaced = resident_menu(seen, arch), None
        else:
            replaced = replaced_operands(self.graph, seen) if in_place else None
            menu = streaming_menu(
                seen,
                arch,
                size,
                model,
                include_parameters=include,
                delay=self.delay,
                replaced=replaced,
            )
        return problem_of(seen, size, include_parameters=include, menu=menu, replaced=replaced)

    def solved(
        self,
        seen: Graph,
        model: TrafficModel | None,
        *,
        after: Planned | None = None,
        order: PlanOrder | None = None,
        in_place: bool = True,
    ) -> Planned:
        """Return a plan in a traffic model.

        Args:
            seen: The network, groups being operators.
            model: Of what is streamed; ``None`` if nothing is.
            after: The plan before, if there was one (:class:`~.refine.Planner`).
            order: Of the operators; as the options say by default.
            in_place: Whether results may lie in the place of operands.
        """
        options = self.cosma.options
        unproven = None if after is None or after.is_proven else after
        nodes = options.search_nodes // (_AFTER_A_GAP if unproven else 1)
        chosen = replace(options, search_nodes=nodes, order=order or options.order)
        problem = self.problem(seen, model, self.room, in_place=in_place)
        found = solve(problem, chosen, reserves=unproven.reserves if unproven else None)
        scope = Scope.WHOLE_TENSORS if model is None else Scope.TRAFFIC_MODEL
        if self.delay.weight and model is not None:
            scope = None  # what is proven is proven of bytes and delays together
        is_proven = found.status is SolveStatus.OPTIMAL
        return Planned(decode(found, scope), is_proven, found.reserves)


@dataclass(frozen=True)
class _MeasuringPlanner(_Planner):
    """Plans one network, and measures what plans move.

    Attributes:
        traffic: What has been measured, and estimates of the rest.
    """

    traffic: CorrectedTraffic = field(kw_only=True)

    def planned(
        self,
        groups: tuple[Group, ...],
        in_order: tuple[str, ...] | None = None,
        in_place: bool = True,
    ) -> Measured | None:
        """Return the best plan with groups; ``None`` where one of them cannot be tiled.

        Args:
            groups: The groups.
            in_order: The order to take; any by default.
            in_place: Whether results may lie in the place of operands.

        Raises:
            InfeasibleError: There is no plan that fits the scratchpad.
        """
        cosma, seen, order = self.cosma, contracted(self.graph, groups), self.cosma.options.order
        if in_order is not None:
            ops = tuple(map(self.graph.producer.__getitem__, in_order))
            seen, order = replace(self.graph, ops=ops), PlanOrder.GIVEN
        is_first = not groups and in_order is None and in_place
        return refine(
            self.graph,
            groups,
            self.traffic,
            partial(self.solved, seen, order=order, in_place=in_place),
            rounds=cosma.rounds if is_first else min(cosma.rounds, _ROUNDS_WITH_GROUPS),
            delay=self.delay,
            others=() if cosma.include_parameters else (self._in_order(seen),),
            deadline=cosma.deadline,
        )

    def _in_order(self, seen: Graph) -> GraphSchedule:
        return schedule_in_order(seen, self.cosma.arch, budget=self.room)

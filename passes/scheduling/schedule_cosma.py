"""Pass: plan order, residences, spills and streaming together, proven optimal where possible.

References:
    Li, Gupta, Malik. Combined Scheduling, Memory Allocation and Tensor Replacement for
    Minimizing Off-Chip Data Accesses of DNN Accelerators. FMCAD, 2024.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from ...ir.arch import Architecture
from ...ir.errors import OptionError
from ...ir.graph import Graph
from ...ir.module import Module, Stage
from ...ir.workload import Operand
from ..base import CUT_SHORT, Context, Pass, require_arch
from ..mapping.jobs import KnownNests
from ..mapping.problem import Objective
from ..mip import Solver
from .check import check_schedule
from .cosma.budgets import requested_budget
from .cosma.schedule import Cosma
from .cosma.solve import CosmaOptions, PlanEngine, PlanOrder
from .cosma.traffic.tiled import Terms, TiledTraffic
from .fusion import Fuse


@dataclass(frozen=True)
class ScheduleCosma(Pass):
    """Schedule operators and scratchpad for the least off-chip traffic (COSMA).

    ::

        graph, arch    ->    graph_schedule: order, residences, spills, streams, workspaces
                             graph: the same, or with strided filters split

    With ``rounds`` above zero, what operators stream is measured with the mapper that will map
    them, so that the plan's bytes are those of the program. Zero trusts the analytic model.
    ``latency`` weighs measured cycles: 0 counts bytes alone, 1 cycles alone. The default lets
    cycles decide between plans that move nearly the same.

    ``order`` takes the graph's order (``given``), or one of least peak footprint (``mpmf``), as it
    is; ``free`` chooses.

    ``fuse`` allows groups of operators that are executed together, so that what they hand on is
    kept on chip: ``epilogues`` joins operators of one element, and pools whose windows do not
    overlap, to the convolution or product before them, ``groups`` whole stretches of the network,
    stripe by stripe. Groups are used where they move less and take no longer; where ``objective``
    has energy in it, also where they take longer and that is worth the bytes. They need ``rounds``.
    Where groups hand on less that way, strided filters of 1x1 read what was subsampled before.
    """

    name: ClassVar[str] = "schedule-cosma"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH, Stage.ARCH})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH, Stage.GRAPH_SCHEDULE})
    is_slow: ClassVar[bool] = True

    scratchpad: str | None = None
    parameters: bool = False
    streaming: bool = True
    engine: PlanEngine = PlanEngine.AUTO
    order: PlanOrder = PlanOrder.FREE
    solver: Solver = Solver.HIGHS
    nodes: int = 100_000
    mapper: str = "output-stationary"
    objective: Objective = Objective.LATENCY
    rounds: int = 12
    latency: float = 0.02
    fuse: Fuse = Fuse.GROUPS

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with a graph schedule, replayed by the independent checker."""
        arch = require_arch(module)
        if not (self.streaming or self.parameters):
            _check_constants(module.graph, arch)
        budget = requested_budget(
            self.scratchpad, module.graph, arch, include_parameters=self.parameters
        )
        cosma = Cosma(
            arch=arch,
            budget=budget,
            include_parameters=self.parameters,
            streaming=self.streaming,
            rounds=self.rounds,
            latency=self.latency,
            fuse=self.fuse,
            objective=self.objective,
            options=CosmaOptions(
                engine=self.engine,
                order=self.order,
                solver=self.solver,
                search_nodes=self.nodes,
                seed=ctx.seed,
            ),
            deadline=ctx.deadline,
        )
        graph = module.graph
        if self.rounds and self.streaming:
            exact = self._exact(module, ctx)
            graph, plan = cosma.measured(graph, exact, exact.ahead, exact.of)
        else:
            plan = cosma.plan(graph)
        if ctx.deadline.is_over:
            ctx.counters.add(CUT_SHORT)
        account = check_schedule(graph, plan, arch)
        ctx.counters.add("objective-bytes", plan.objective)
        ctx.counters.add("bound-bytes", plan.bound)
        ctx.counters.add("non-compulsory-bytes", account.non_compulsory)
        ctx.counters.add("spills", len(plan.spills))
        ctx.counters.add("streams", len(plan.streams))
        ctx.counters.add("groups", len(plan.groups))
        return replace(module, graph=graph, graph_schedule=plan)

    def check(self, module: Module) -> None:
        """Replay a plan by the independent checker, too."""
        super().check(module)
        assert module.graph_schedule is not None
        check_schedule(module.graph, module.graph_schedule, require_arch(module))

    def _exact(self, module: Module, ctx: Context) -> TiledTraffic:
        terms = Terms(
            module.graph,
            require_arch(module),
            mapper=self.mapper,
            objective=self.objective,
            seed=ctx.seed,
        )
        return TiledTraffic(terms, ctx.helpers, ctx.deadline, ctx.notes.of(KnownNests))


def _check_constants(graph: Graph, arch: Architecture) -> None:
    """Refuse plans without streaming where constants would have to pass the scratchpad in tiles.

    Raises:
        OptionError: They would.
    """
    holds = arch.scratchpad_level.holds
    read = [name for op in graph.ops for name in op.inputs if graph.is_constant(name)]
    if Operand.W in holds and read:
        raise OptionError(
            f"without streaming %{read[0]} cannot pass {arch.scratchpad}, which holds weights",
            hint="parameters=true plans constants as tensors of the scratchpad",
        )

"""Pass: schedule the tiles of every operator out of order on all NPUs."""

import logging
import math
from dataclasses import dataclass, replace
from typing import ClassVar

from ....ir.errors import InfeasibleError
from ....ir.graph import Op
from ....ir.module import Module, Stage
from ....ir.tiles.schedule import TileSchedule
from ...base import CUT_SHORT, Context, Pass, require_arch
from ...deadline import NEVER, Deadline
from ...tiling.residency import unit_of
from ..network.join import join
from ..static.known_schedules import KnownSchedules
from ..static.schedule_tiles import schedule_operator
from ..timing.work_bound import are_alike
from .candidate import SearchOutcome, adopt, schedule_of
from .kernel.goal import metric
from .options import FlexerOptions, Metric, Priority, SpaceRule
from .side_by_side import search_all
from .site import Likeness, Site, is_eligible, likeness, site_of

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class ScheduleFlexer(Pass):
    """Choose tiling and order of each operator of the MAC array together, out of order.

    ::

        graph_schedule, mappings    ->    tile_schedule: events, placements

    Other operators, those whose weights do not pass through the scratchpad, and those whose
    workspace does not hold their accumulators, keep the order of their loop nest; so do operators,
    and networks, that are better that way: the schedule of ``schedule-tiles`` is never better. Of
    operators that differ only in names and addresses one is searched.

    References:
        Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023.
    """

    name: ClassVar[str] = "schedule-flexer"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH_SCHEDULE, Stage.MAPPINGS})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.TILE_SCHEDULE})
    is_slow: ClassVar[bool] = True

    metric: Metric = Metric.PRODUCT
    weight: float = 1.0
    priority: Priority = Priority.BEST
    memory: SpaceRule = SpaceRule.BEST
    mapper: str = "output-stationary"
    steps: int = 8_000
    steps_in_order: int = 30_000_000
    trade: bool = False

    def __post_init__(self) -> None:
        self.options()

    def options(self) -> FlexerOptions:
        """Return the options of a search.

        Raises:
            OptionError: One is out of range.
        """
        return FlexerOptions(
            metric=self.metric,
            weight=self.weight,
            priority=self.priority,
            memory=self.memory,
            steps=self.steps,
            steps_in_order=self.steps_in_order,
            trade=self.trade,
        )

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with its tile schedule."""
        arch, plan = require_arch(module), module.graph_schedule
        assert plan is not None
        ops = [unit_of(module.graph, plan, name) for name in plan.order]
        sites = {
            op.name: site_of(module.graph, plan, op, arch) for op in ops if is_eligible(op, arch)
        }
        if not sites:
            _LOG.info("no operator can be scheduled out of order on %s: see its weights", arch.name)
        ctx.counters.add("operators in order only", len(ops) - len(sites))
        # what differs from the regular NPU cannot run its loop nests, so that each needs a search
        deadline = ctx.deadline if are_alike(arch) else NEVER
        answers = self._search(tuple(sites.values()), ctx, deadline)
        if deadline.is_over:
            ctx.counters.add(CUT_SHORT)
        known = ctx.notes.of(KnownSchedules)
        in_order: list[TileSchedule | None] = []
        chosen: list[TileSchedule] = []
        for step, op in enumerate(ops):
            ctx.progress("tiles", step, len(ops))
            site = sites.get(op.name)
            found = None if site is None else answers[likeness(site)]
            if site is None or found is None:
                chosen.append(known.of(module, op, schedule_operator))
                in_order.append(chosen[-1])
                continue
            free = schedule_of(adopt(found.best, site), found.bound)
            in_order.append(_in_order(module, op, known))
            options = [free, *(item for item in in_order[-1:] if item is not None)]
            chosen.append(min(options, key=self._value))
        schedule = self._best(module, in_order, chosen)
        ctx.counters.add("events", len(schedule.events))
        return replace(module, tile_schedule=schedule)

    def _best(
        self, module: Module, in_order: list[TileSchedule | None], chosen: list[TileSchedule]
    ) -> TileSchedule:
        """Return the better schedule of the network: that of the loop nests is never better.

        Args:
            module: The network.
            in_order: Each operator along its loop nest; ``None`` where that is impossible.
            chosen: Each operator in the order that is best for itself.
        """
        free = join(module, chosen, "flexer")
        others = [item for item in in_order if item is not None]
        if len(others) < len(in_order):
            return free
        static = free if others == chosen else join(module, others, "static")
        within = free.cycles <= static.cycles and free.transferred_bytes <= static.transferred_bytes
        is_better = self._value(free) < self._value(static)
        return free if is_better and (self.trade or within) else static

    def _value(self, schedule: TileSchedule) -> float:
        """Return the metric of a schedule; of its energy, what tiles take is left out."""
        goal = self.options().goal(math.inf, byte_pj=1.0)
        return metric(goal, schedule.cycles, schedule.transferred_bytes)

    def _search(
        self, sites: tuple[Site, ...], ctx: Context, deadline: Deadline
    ) -> dict[Likeness, SearchOutcome | None]:
        """Return what was found for each distinct operator."""
        distinct: dict[Likeness, Site] = {}
        for site in sites:
            distinct.setdefault(likeness(site), site)
        answers = search_all(
            tuple(distinct.values()), self.options(), self.mapper, ctx.helpers, deadline
        )
        for found in answers:
            if found is not None:
                _count(found, ctx)
        return dict(zip(distinct, answers, strict=True))


def _in_order(module: Module, op: Op, known: KnownSchedules) -> TileSchedule | None:
    """Return the tiles of an operator along its loop nest, where that is possible.

    A loop nest is one of the regular NPU: those that differ cannot run it.

    Args:
        module: The network with its plan and its loop nests.
        op: The operator, or the one that stands for a group.
        known: What was made for operators that are alike.
    """
    if not are_alike(require_arch(module)):
        return None
    try:
        return known.of(module, op, schedule_operator)
    except InfeasibleError:
        return None


def _count(found: SearchOutcome, ctx: Context) -> None:
    ctx.counters.add("distinct operators")
    ctx.counters.add("schedules in order", found.effort.static)
    ctx.counters.add("tilings not tried", found.effort.skipped)
    ctx.counters.add("schedules out of order", found.effort.free + found.effort.blocks)
    ctx.counters.add("won out of order", found.best.scheduler == "flexer")

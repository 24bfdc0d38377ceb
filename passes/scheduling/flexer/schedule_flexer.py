"""Pass: schedule the tiles of every operator out of order on all NPUs."""

from dataclasses import dataclass, replace
from typing import ClassVar

from ....ir.graph import Op
from ....ir.module import Module, Stage
from ....ir.tile_schedule import TileSchedule
from ...base import Context, Pass, require_arch
from ..schedule_tiles import schedule_operator
from .latency import TileTimer
from .options import FlexerOptions, Memory, Metric, Priority
from .search import Found, Search, adopt, schedule_of
from .site import Likeness, is_eligible, likeness, site_of


@dataclass(frozen=True)
class ScheduleFlexer(Pass):
    """Choose tiling and order of each operator of the MAC array together, out of order.

    ::

        graph_schedule, mappings    ->    tile_schedules: events, placements

    Other operators, and those whose weights do not pass through the scratchpad, keep the order of
    their loop nest. Of operators that differ only in names and addresses one is searched.

    References:
        Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023.
    """

    name: ClassVar[str] = "schedule-flexer"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH_SCHEDULE, Stage.MAPPINGS})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.TILE_SCHEDULES})

    metric: Metric = Metric.PRODUCT
    weight: float = 1.0
    priority: Priority = Priority.BEST
    memory: Memory = Memory.BEST
    mapper: str = "output-stationary"
    steps: int = 8_000

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
        )

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with one tile schedule per operator."""
        arch, plan = require_arch(module), module.graph_schedule
        assert plan is not None
        timer = TileTimer(arch, self.mapper)
        known: dict[Likeness, Found] = {}
        schedules: list[TileSchedule] = []
        for step, name in enumerate(plan.order):
            ctx.progress("tiles", step, len(plan.order))
            op = module.graph.producer[name]
            schedules.append(self._schedule(module, op, timer, known, ctx))
        ctx.counters.add("events", sum(len(item.events) for item in schedules))
        return replace(module, tile_schedules=tuple(schedules))

    def _schedule(
        self,
        module: Module,
        op: Op,
        timer: TileTimer,
        known: dict[Likeness, Found],
        ctx: Context,
    ) -> TileSchedule:
        arch, plan = require_arch(module), module.graph_schedule
        assert plan is not None
        if not is_eligible(op, arch):
            return schedule_operator(module, op)
        site = site_of(module.graph, plan, op, arch)
        key = likeness(site)
        if key not in known:
            known[key] = Search(site, self.options(), timer).run()
            _count(known[key], ctx)
        found = known[key]
        return schedule_of(adopt(found.best, site), found.bound)


def _count(found: Found, ctx: Context) -> None:
    ctx.counters.add("distinct operators")
    ctx.counters.add("schedules in order", found.effort.static)
    ctx.counters.add("schedules out of order", found.effort.free)
    ctx.counters.add("won out of order", found.best.scheduler == "flexer")

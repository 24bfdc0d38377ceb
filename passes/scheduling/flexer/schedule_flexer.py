"""Pass: schedule the tiles of every operator out of order on all NPUs."""

from dataclasses import dataclass, replace
from typing import ClassVar

from ....ir.module import Module, Stage
from ....ir.tile_schedule import TileSchedule
from ...base import Context, Pass, require_arch
from ..schedule_tiles import schedule_operator
from .candidate import Found, adopt, schedule_of
from .options import FlexerOptions, Memory, Metric, Priority
from .side_by_side import search_all
from .site import Likeness, Site, is_eligible, likeness, site_of


@dataclass(frozen=True)
class ScheduleFlexer(Pass):
    """Choose tiling and order of each operator of the MAC array together, out of order.

    ::

        graph_schedule, mappings    ->    tile_schedules: events, placements

    Other operators, those whose weights do not pass through the scratchpad, and those whose
    workspace does not hold their accumulators, keep the order of their loop nest. Of operators that
    differ only in names and addresses one is searched, on several cores.

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
    trade: bool = False
    processes: int = 2

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
            trade=self.trade,
        )

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with one tile schedule per operator."""
        arch, plan = require_arch(module), module.graph_schedule
        assert plan is not None
        ops = [module.graph.producer[name] for name in plan.order]
        sites = {
            op.name: site_of(module.graph, plan, op, arch) for op in ops if is_eligible(op, arch)
        }
        known = self._search(tuple(sites.values()), ctx)
        schedules: list[TileSchedule] = []
        for step, op in enumerate(ops):
            ctx.progress("tiles", step, len(ops))
            site = sites.get(op.name)
            found = None if site is None else known[likeness(site)]
            if site is None or found is None:
                schedules.append(schedule_operator(module, op))
            else:
                schedules.append(schedule_of(adopt(found.best, site), found.bound))
        ctx.counters.add("events", sum(len(item.events) for item in schedules))
        return replace(module, tile_schedules=tuple(schedules))

    def _search(self, sites: tuple[Site, ...], ctx: Context) -> dict[Likeness, Found | None]:
        """Return what was found for each distinct operator."""
        distinct: dict[Likeness, Site] = {}
        for site in sites:
            distinct.setdefault(likeness(site), site)
        answers = search_all(tuple(distinct.values()), self.options(), self.mapper, self.processes)
        for found in answers:
            if found is not None:
                _count(found, ctx)
        return dict(zip(distinct, answers, strict=True))


def _count(found: Found, ctx: Context) -> None:
    ctx.counters.add("distinct operators")
    ctx.counters.add("schedules in order", found.effort.static)
    ctx.counters.add("schedules out of order", found.effort.free + found.effort.woven)
    ctx.counters.add("won out of order", found.best.scheduler == "flexer")

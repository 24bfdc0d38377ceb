"""Pass: cut operators into tiles and schedule these on the NPUs."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError, VerifyError
from ....ir.graph import Op
from ....ir.graph_schedule import GraphSchedule
from ....ir.isa.instructions import Space
from ....ir.isa.spaces import level_of_space, space_bytes
from ....ir.module import Mapping as OperatorMapping
from ....ir.module import Module, Stage
from ....ir.ops import is_mac
from ....ir.tiles.graph import TileGraph
from ....ir.tiles.schedule import TileSchedule
from ...base import Context, Notes, Pass, Progress, require_arch, silent
from ...tiling.group import GroupTiles
from ...tiling.inner_nest import managed_bytes
from ...tiling.mac import tile_mac
from ...tiling.residency import Residency, parameter_range, residency, unit_of
from ...tiling.vector import tile_vector
from ..network.join import join
from .known_schedules import KnownSchedules
from .lags import Lags, LagSearch
from .static import best_of, schedule_static

_MOST_LAGS = 4
"""Lags that are scheduled, and compared where they fit."""

_MOST_OF_SOME = 2
"""The same where only some stripes are scheduled, for an estimate."""


@dataclass(frozen=True)
class ScheduleTiles(Pass):
    """Cut every operator along its loop nest and schedule its tiles in that order.

    ::

        mappings, graph_schedule    ->    tile_schedule: events, placements

    Operators run in turn; no tile crosses a boundary.
    """

    name: ClassVar[str] = "schedule-tiles"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH_SCHEDULE, Stage.MAPPINGS})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.TILE_SCHEDULE})
    is_slow: ClassVar[bool] = True

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with its tile schedule."""
        found = tiles_in_turn(module, ctx.notes, ctx.progress)
        ctx.counters.add("events", len(found.events))
        return replace(module, tile_schedule=found)


@dataclass
class _KnownNetworks:
    """Tiles of a network in turn, by its mappings; of one plan and machine, local to one run."""

    plan: GraphSchedule | None = None
    arch: Architecture | None = None
    by_mappings: dict[tuple[OperatorMapping, ...], TileSchedule] = field(
        default_factory=dict[tuple[OperatorMapping, ...], TileSchedule]
    )


def tiles_in_turn(module: Module, notes: Notes, progress: Progress = silent) -> TileSchedule:
    """Return the tiles of all operators in turn, made once for all passes that ask.

    Args:
        module: The network with its plan and its loop nests.
        notes: What is known already.
        progress: Where to tell how far it is.

    Raises:
        InfeasibleError: The tiles of an operator do not fit.
    """
    plan, known = module.graph_schedule, notes.of(_KnownNetworks)
    assert plan is not None
    if known.plan is not plan or known.arch is not module.arch:
        known.plan, known.arch, known.by_mappings = plan, module.arch, {}
    if module.mappings not in known.by_mappings:
        schedules: list[TileSchedule] = []
        for step, name in enumerate(plan.order):
            progress("tiles", step, len(plan.order))
            op = unit_of(module.graph, plan, name)
            schedules.append(notes.of(KnownSchedules).of(module, op, schedule_operator))
        known.by_mappings[module.mappings] = join(module, schedules, "static")
    return known.by_mappings[module.mappings]


def schedule_operator(module: Module, op: Op) -> TileSchedule:
    """Return the tiles of one operator of a module that is planned and mapped, by themselves.

    Which chains of a group lag is decided by cycles and bytes alike.

    Args:
        module: The network with its plan and its loop nests.
        op: The operator, or the one that stands for a group.

    Raises:
        InfeasibleError: The tiles do not fit.
    """
    arch, plan = require_arch(module), module.graph_schedule
    assert plan is not None
    if plan.group(op.name) is None:
        place = residency(module.graph, plan, op)
        return schedule_static(tile_operator(module, op, place), arch, _ranges(module, op, place))
    return best_of(GroupSchedules(module, op).all)


def schedule_in_turn(module: Module, op: Op) -> TileSchedule:
    """Return the tiles of a group by themselves, where no chain lags.

    Args:
        module: The network with its plan and its loop nests.
        op: The operator that stands for the group.

    Raises:
        InfeasibleError: The tiles do not fit.
    """
    return GroupSchedules(module, op).in_turn


@dataclass(frozen=True)
class GroupSchedules:
    """Schedules of a group: in turn, and with some of its chains lagging.

    Attributes:
        module: The network with its plan and its loop nests.
        op: The operator that stands for the group.
        first: How many stripes to schedule, for an estimate; all of them by default.
    """

    module: Module
    op: Op
    first: int | None = None

    @cached_property
    def in_turn(self) -> TileSchedule:
        """The schedule in which no chain lags.

        Raises:
            InfeasibleError: It does not fit.
        """
        return self._first[1]

    @property
    def _tiles(self) -> GroupTiles:
        return self._first[0]

    @cached_property
    def _first(self) -> tuple[GroupTiles, TileSchedule]:
        """Tiles and schedule in which no chain lags; rows are kept early only where they must."""
        once = self._group_tiles
        early = replace(once, is_early=True)
        if once.line_bytes <= self._place.workspace_bytes:
            try:
                return once, self._late(once, ())
            except InfeasibleError:
                if once.line_bytes == early.line_bytes:
                    raise
        return early, self._late(early, ())

    @cached_property
    def by_lag(self) -> Mapping[Lags, TileSchedule]:
        """Schedules that fit, by the chains that lag: none, the most promising ones, the last one.

        The last one hands nothing on, so that its lag leaves the order of all others as it is.

        Raises:
            InfeasibleError: Not even the first one fits.
        """
        found: dict[Lags, TileSchedule] = {(): self.in_turn}
        last = self._tiles.may_lag[-1:]
        for behind in (*self._promising, last):
            with suppress(InfeasibleError):
                found[behind] = found.get(behind) or self.with_lag(behind)
        return found

    @property
    def all(self) -> tuple[TileSchedule, ...]:
        """The schedules that fit; at least one.

        Raises:
            InfeasibleError: Not even the first one fits.
        """
        return tuple(self.by_lag.values())

    @property
    def best_lag(self) -> Lags:
        """Which chains lag in the best schedule.

        Raises:
            InfeasibleError: Not even the one fits in which none does.
        """
        best = best_of(self.all)
        return next(behind for behind, schedule in self.by_lag.items() if schedule is best)

    @property
    def _promising(self) -> tuple[Lags, ...]:
        tiles, arch = self._tiles, require_arch(self.module)
        search = LagSearch(
            in_turn=self.in_turn,
            ranges=self._ranges,
            npus=len(arch.npus),
            may_lag=tiles.may_lag,
            stripes=tiles.count,
            ordered=tiles.in_order,
        )
        return search.options(_MOST_LAGS if self.first is None else _MOST_OF_SOME)

    def with_lag(self, behind: Lags) -> TileSchedule:
        """Return the schedule in which some chains lag.

        Args:
            behind: Numbers of these chains.

        Raises:
            InfeasibleError: It does not fit.
        """
        return self._late(self._tiles, behind) if behind else self.in_turn

    def _late(self, tiles: GroupTiles, behind: Lags) -> TileSchedule:
        graph = tiles.in_order(behind=behind)
        return schedule_static(graph, require_arch(self.module), self._ranges)

    @cached_property
    def _ranges(self) -> Mapping[Space, tuple[int, int]]:
        return _ranges(self.module, self.op, self._place)

    @cached_property
    def _place(self) -> Residency:
        plan = self.module.graph_schedule
        assert plan is not None
        return residency(self.module.graph, plan, self.op)

    @cached_property
    def _group_tiles(self) -> GroupTiles:
        module, plan = self.module, self.module.graph_schedule
        assert plan is not None
        group = plan.group(self.op.name)
        assert group is not None
        mappings = map(module.mapping, group.members)
        nests = {item.operator: item.nest for item in mappings if item is not None}
        arch, place = require_arch(module), self._place
        return GroupTiles(module.graph, group.members, group.rows, nests, arch, place, self.first)


def _ranges(module: Module, op: Op, place: Residency) -> Mapping[Space, tuple[int, int]]:
    """Return first byte and size of what an operator may use of each space."""
    arch, plan = require_arch(module), module.graph_schedule
    assert plan is not None
    sizes = space_bytes(arch)
    ranges = {space: (0, size) for space, size in sizes.items()}
    ranges[Space.GB] = (place.workspace_address, place.workspace_bytes)
    ranges[Space.PB] = parameter_range(arch, plan, op.name)
    found = map(module.mapping, plan.members(op.name))
    nests = [mapping.nest for mapping in found if mapping is not None]
    for space in (Space.WB, Space.AB):
        if space in sizes and nests:
            level = level_of_space(arch)[space]
            taken = max(managed_bytes(nest, arch, level) for nest in nests)
            ranges[space] = (0, max(0, sizes[space] - taken))
    return ranges


def tile_operator(module: Module, op: Op, place: Residency) -> TileGraph:
    """Return the tile graph of one operator, which is no group.

    Args:
        module: The network with its loop nests.
        op: The operator.
        place: What the plan says about its step.

    Raises:
        VerifyError: An operator of the MAC array has no loop nest.
    """
    arch = require_arch(module)
    if not is_mac(op):
        return tile_vector(module.graph, op, arch, place)
    mapping = module.mapping(op.name)
    if mapping is None:
        raise VerifyError(f"{op.kind} %{op.name} has no loop nest")
    return tile_mac(module.graph, op, mapping.nest, arch, place)

"""Pass: cut operators into tiles and schedule these on the NPUs."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, TypeAlias

from ....ir.errors import InfeasibleError, VerifyError
from ....ir.graph import Op
from ....ir.isa.instructions import Space
from ....ir.isa.spaces import level_of_space, space_bytes
from ....ir.module import Module, Stage
from ....ir.ops import is_mac
from ....ir.tiles.graph import TileGraph
from ....ir.tiles.schedule import TileSchedule
from ...base import Choice, Context, Pass, require_arch
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


Way: TypeAlias = tuple[bool, Lags]
"""How a group is scheduled: whether rows are kept early, and which chains lag."""


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

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with its tile schedule."""
        plan = module.graph_schedule
        assert plan is not None
        network = _Network(module, ctx)
        if plan.groups:
            found = ctx.choose(self, module, ctx.seed, network.follow, network.search)
        else:
            found = network.in_turn()
        ctx.counters.add("events", len(found.events))
        return replace(module, tile_schedule=found)


@dataclass
class _Network:
    """Schedules the operators of a network in turn; local to one run of the pass.

    Attributes:
        module: The network with its plan and its loop nests.
        ctx: Of the run.
        known: How groups were scheduled before, by their steps.
        ways: How they are now.
    """

    module: Module
    ctx: Context
    known: Mapping[int, Way] = field(default_factory=dict[int, Way])
    ways: dict[int, Way] = field(default_factory=dict[int, Way])

    def search(self) -> tuple[Choice, TileSchedule]:
        """Return the schedule of the network, and which chains of its groups lag.

        A choice tells of each distinct group its step, whether rows are kept early, how many chains
        lag, and which ones.
        """
        found, choice = self.in_turn(), list[int]()
        for step, (is_early, behind) in self.ways.items():
            choice += [step, int(is_early), len(behind), *behind]
        return tuple(choice), found

    def follow(self, choice: Choice) -> TileSchedule | None:
        """Return the schedule of a choice; ``None`` if it does not tell the ways of all groups.

        Args:
            choice: As :meth:`search` gives it.
        """
        self.known = _ways(choice)
        found = self.in_turn()
        return found if self.known == self.ways else None

    def in_turn(self) -> TileSchedule:
        """Return the schedule of all operators, one after the other."""
        plan = self.module.graph_schedule
        assert plan is not None
        schedules: list[TileSchedule] = []
        made = self.ctx.notes.of(KnownSchedules)
        for step, name in enumerate(plan.order):
            self.ctx.progress("tiles", step, len(plan.order))
            op = unit_of(self.module.graph, plan, name)
            schedules.append(made.of(self.module, op, self._schedule))
        return join(self.module, schedules, "static")

    def _schedule(self, module: Module, op: Op) -> TileSchedule:
        """Return the tiles of one operator by themselves; of a group as before, where that fits."""
        plan = module.graph_schedule
        assert plan is not None
        if plan.group(op.name) is None:
            return schedule_operator(module, op)
        group, step = GroupSchedules(module, op), plan.step_of[op.name]
        if step in self.known:
            with suppress(InfeasibleError):
                self.ways[step] = self.known[step]
                return group.in_way(self.known[step])
        found, self.ways[step] = group.best
        return found


def _ways(choice: Choice) -> Mapping[int, Way]:
    """Return the ways of groups that a choice stands for, as far as it is one."""
    found: dict[int, Way] = {}
    rest = list(choice)
    while len(rest) >= 3:
        step, is_early, count, *rest = rest
        if not 0 <= count <= len(rest):
            break
        found[step] = bool(is_early), tuple(rest[:count])
        rest = rest[count:]
    return found


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
    return GroupSchedules(module, op).best[0]


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
        return self.best[1][1]

    @property
    def best(self) -> tuple[TileSchedule, Way]:
        """The best schedule, and how it was made.

        Raises:
            InfeasibleError: Not even the one fits in which no chain lags.
        """
        best = best_of(self.all)
        behind = next(behind for behind, schedule in self.by_lag.items() if schedule is best)
        return best, (self._tiles.is_early, behind)

    def in_way(self, way: Way) -> TileSchedule:
        """Return the schedule that is made in a certain way.

        Args:
            way: The way.

        Raises:
            InfeasibleError: It does not fit, or the group has no such chains.
        """
        is_early, behind = way
        tiles = replace(self._group_tiles, is_early=is_early)
        if not set(behind) <= set(tiles.may_lag):
            raise InfeasibleError(f"there are no chains {behind} that can lag in %{self.op.name}")
        return self._late(tiles, behind)

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

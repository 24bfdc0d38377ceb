"""Schedules of a fused group, in the orders and ways to share the work that may be worth it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from ....ir.errors import InfeasibleError
from ....ir.graph import Op
from ....ir.isa.instructions import Space
from ....ir.isa.spaces import level_of_space, space_bytes
from ....ir.module import Module
from ....ir.tiles.graph import TileGraph
from ....ir.tiles.schedule import TileSchedule
from ...base import require_arch
from ...tiling.groups.group import GroupTiles
from ...tiling.inner_nest import managed_bytes
from ...tiling.residency import Residency, parameter_range, residency
from .demand import check_demand
from .issue_order import Dealing, Turn, issue_order
from .lags import Lags, LagSearch
from .static import best_of, dealt_schedules, rating_of, schedule_turns

_MOST_LAGS = 4
"""Lags that are scheduled, and compared where they fit."""

_MOST_OF_SOME = 2
"""The same where only some stripes are scheduled, for an estimate."""

_CLEARLY = 0.995
"""What a schedule with lines that roll is rated at, at most, as part of the best one without."""

_STRIPES = 8
"""Stripes of which the tiles tell whether lines that roll fit."""


@dataclass(frozen=True)
class StripeOrder:
    """In which order, and by which NPUs, the operations of a group's stripes are executed.

    Attributes:
        behind: Numbers of the chains that lag.
        dealing: How accumulations are dealt out.
        shares_copies: Whether all NPUs share each copy of rows that are kept.
        is_apart: Whether the array's first additions are operations of their own, where that helps.
        rolls: Results whose lines roll, so that the rows which they keep are not copied.
    """

    behind: Lags = ()
    dealing: Dealing = Dealing.FROM_FIRST
    shares_copies: bool = False
    is_apart: bool = False
    rolls: frozenset[str] = frozenset()


@dataclass(frozen=True)
class GroupSchedules:
    """Schedules of a group: in turn, and with some of its chains lagging.

    Attributes:
        module: The network with its plan and its loop nests.
        op: The operator that stands for the group.
        first: How many stripes to schedule, for an estimate; all of them by default.
        other_ways: Whether to try other ways, too, in which NPUs share the work, and to tile what
            the array computes.
    """

    module: Module
    op: Op
    first: int | None = None
    other_ways: bool = True

    @cached_property
    def in_turn(self) -> TileSchedule:
        """The schedule in which no chain lags, and no copy is shared.

        Raises:
            InfeasibleError: It does not fit.
        """
        return best_of(self._first[1].values())

    @property
    def _tiles(self) -> GroupTiles:
        return self._first[0]

    @cached_property
    def _shared(self) -> GroupTiles:
        return replace(self._tiles, shares_copies=True)

    @cached_property
    def _in_turn(self) -> Mapping[StripeOrder, TileSchedule]:
        """Schedules in which no chain lags, by their order."""
        found = {StripeOrder((), dealing): schedule for dealing, schedule in self._first[1].items()}
        several = self.other_ways and len(require_arch(self.module).npus) > 1
        if several and self._shared.in_order() != self.in_turn.graph:
            order = StripeOrder((), Dealing.ON_BY_UNIT, shares_copies=True)
            with suppress(InfeasibleError):
                found[order] = self._scheduled(order)
        return found

    @cached_property
    def _first(self) -> tuple[GroupTiles, Mapping[Dealing, TileSchedule]]:
        """Tiles and the schedules in which no chain lags, by how accumulations are dealt out.

        Rows are kept early only where they must be.
        """
        once = self._group_tiles
        early = replace(once, is_early=True)
        if once.line_bytes <= self._place.workspace_bytes:
            try:
                return once, self._dealt(once)
            except InfeasibleError:
                if once.line_bytes == early.line_bytes:
                    raise
        return early, self._dealt(early)

    @cached_property
    def by_order(self) -> Mapping[StripeOrder, TileSchedule]:
        """Schedules that fit, by their order: no chain lags, the most promising ones, the last one.

        The last one hands nothing on, so that its lag leaves the order of all others as it is. The
        best of them in which lines can roll comes once more, so that they do, and then the best of
        all, with the array's first additions apart.

        Raises:
            InfeasibleError: Not even those fit in which none does.
        """
        found: dict[StripeOrder, TileSchedule] = {}
        for first, in_turn in self._in_turn.items():
            found[first] = in_turn
            for behind in (*self._promising(first), self._tiles.may_lag[-1:]):
                order = replace(first, behind=behind)
                with suppress(InfeasibleError):
                    found[order] = found.get(order) or self._scheduled(order)
        if self.other_ways:
            found.update(self._rolled(found))
            found.update(self._apart(found))
        return found

    def _rolled(
        self, found: Mapping[StripeOrder, TileSchedule]
    ) -> Mapping[StripeOrder, TileSchedule]:
        """Return the best of some schedules in which lines can roll again, where they do.

        What is not clearly better than all of them is left out: nests are compared by what they
        promise alone, and those that do so by little are often worse in the network.
        """
        orders = _by_rating(found)
        for order in islice(filter(lambda order: order.rolls, map(self._rolling, orders)), 1):
            with suppress(InfeasibleError):
                schedule = self._scheduled(order)
                if rating_of(schedule) < _CLEARLY * rating_of(found[orders[0]]):
                    return {order: schedule}
        return {}

    def _rolling(self, order: StripeOrder) -> StripeOrder:
        """Return an order with all lines rolling that can, as far as they fit, large ones first."""
        tiles = replace(self._tiles_of(order), first=_STRIPES)
        for name in tiles.rolling_first(order.behind):
            more = replace(order, rolls=order.rolls | {name})
            with suppress(InfeasibleError):
                graph = _rolled(tiles, more).in_order(order.behind)
                check_demand(graph, self._turns(graph, more), self._ranges)
                order = more
        return order

    def _apart(
        self, found: Mapping[StripeOrder, TileSchedule]
    ) -> Mapping[StripeOrder, TileSchedule]:
        """Return the best of some schedules again, first additions apart, where that differs."""
        order = _best_order(found)
        apart = replace(order, is_apart=True)
        graph = self._ordered(apart)
        with suppress(InfeasibleError):
            return {} if graph == found[order].graph else {apart: self._issued(graph, apart)}
        return {}

    @property
    def all(self) -> tuple[TileSchedule, ...]:
        """The schedules that fit; at least one.

        Raises:
            InfeasibleError: Not even those fit in which no chain lags.
        """
        return tuple(self.by_order.values())

    @property
    def best_order(self) -> StripeOrder:
        """The order of the best schedule.

        Raises:
            InfeasibleError: Not even those fit in which no chain lags.
        """
        return _best_order(self.by_order)

    def _promising(self, first: StripeOrder) -> tuple[Lags, ...]:
        """Return the lags that are expected to take less time than an order in which none does."""
        tiles, arch = self._tiles_of(first), require_arch(self.module)
        search = LagSearch(
            in_turn=self._in_turn[first],
            ranges=self._ranges,
            npus=len(arch.npus),
            dealing=first.dealing,
            may_lag=tiles.may_lag,
            stripes=tiles.count,
            ordered=tiles.in_order,
        )
        return search.options(_MOST_LAGS if self.first is None else _MOST_OF_SOME)

    def with_order(self, order: StripeOrder) -> TileSchedule:
        """Return the schedule of an order.

        Args:
            order: The order.

        Raises:
            InfeasibleError: It does not fit.
        """
        return self._in_turn.get(order) or self._scheduled(order)

    def _tiles_of(self, order: StripeOrder) -> GroupTiles:
        tiles = self._shared if order.shares_copies else self._tiles
        if order.is_apart:
            tiles = replace(tiles, is_apart=True)
        return _rolled(tiles, order) if order.rolls else tiles

    def _scheduled(self, order: StripeOrder) -> TileSchedule:
        return self._issued(self._ordered(order), order)

    def _ordered(self, order: StripeOrder) -> TileGraph:
        return self._tiles_of(order).in_order(behind=order.behind)

    def _issued(self, graph: TileGraph, order: StripeOrder) -> TileSchedule:
        turns = self._turns(graph, order)
        return schedule_turns(graph, require_arch(self.module), self._ranges, turns)

    def _turns(self, graph: TileGraph, order: StripeOrder) -> tuple[Turn, ...]:
        return issue_order(graph, len(require_arch(self.module).npus), order.dealing)

    def _dealt(self, tiles: GroupTiles) -> Mapping[Dealing, TileSchedule]:
        graph, arch = tiles.in_order(), require_arch(self.module)
        return dealt_schedules(graph, arch, self._ranges, other_ways=self.other_ways)

    @cached_property
    def _ranges(self) -> Mapping[Space, tuple[int, int]]:
        return ranges_of(self.module, self.op, self._place)

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


def _rolled(tiles: GroupTiles, order: StripeOrder) -> GroupTiles:
    """Return tiles with the lines rolling that do in an order."""
    rows = tiles.may_roll(order.behind)
    return replace(tiles, rolls={name: rows[name] for name in sorted(order.rolls)})


def _best_order(found: Mapping[StripeOrder, TileSchedule]) -> StripeOrder:
    return _by_rating(found)[0]


def _by_rating(found: Mapping[StripeOrder, TileSchedule]) -> Sequence[StripeOrder]:
    """Return orders, the one with the best schedule first."""
    return sorted(found, key=lambda order: rating_of(found[order]))


def ranges_of(module: Module, op: Op, place: Residency) -> Mapping[Space, tuple[int, int]]:
    """Return first byte and size of what an operator may use of each space.

    Args:
        module: The network with its plan and its loop nests.
        op: The operator, or the one that stands for a group.
        place: What the plan says about its step.
    """
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

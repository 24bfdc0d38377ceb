"""Schedules of a fused group, in the orders and ways to share the work that may be worth it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

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
from ..engine.kernel.arrays import IssueOrder, TileArrays
from .attempts import Attempt
from .demand import fits_together
from .issue_order import Dealing, issue_order
from .lags import MANY, Lags, LagSearch, MixedStripes
from .ready_order import Preference, ReadyStripes
from .static import best_of, dealt_schedules, rating_of, schedule_turns
from .tables import GraphTables

Ints = NDArray[np.int64]

_MOST_LAGS = 4
"""Lags that are scheduled, and compared where they fit."""

_MOST_OF_SOME = 2
"""The same where only some stripes are scheduled, for an estimate."""

_MOST_READY = 2
"""Lags that are scheduled for each preference, where operations begin when they can start."""

_CLEARLY = 0.995
"""What a schedule with lines that roll, or that does what is ready, is rated at, at most, as part
of the best one without."""


@dataclass(frozen=True)
class StripeOrder:
    """In which order, and by which NPUs, the operations of a group's stripes are executed.

    Attributes:
        behind: Numbers of the chains that lag.
        dealing: How accumulations are dealt out.
        shares_copies: Whether all NPUs share each copy of rows that are kept.
        is_apart: Whether the array's first additions are operations of their own, where that helps.
        rolls: Results whose lines roll, so that the rows which they keep are not copied.
        preference: Which operations go first that can start at once, where all begin when they can
            start, whoever lags, on the NPUs that are free. ``None``: what lags differently is mixed
            evenly, and dealt out so.
    """

    behind: Lags = ()
    dealing: Dealing = Dealing.FROM_FIRST
    shares_copies: bool = False
    is_apart: bool = False
    rolls: frozenset[str] = frozenset()
    preference: Preference | None = None


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
    _known_tiles: dict[tuple[StripeOrder, int | None], GroupTiles] = field(
        init=False,
        repr=False,
        compare=False,
        default_factory=dict[tuple[StripeOrder, int | None], GroupTiles],
    )
    _known_stripes: dict[tuple[StripeOrder, int], ReadyStripes] = field(
        init=False,
        repr=False,
        compare=False,
        default_factory=dict[tuple[StripeOrder, int], ReadyStripes],
    )
    _known_to_fit: dict[StripeOrder, bool] = field(
        init=False, repr=False, compare=False, default_factory=dict[StripeOrder, bool]
    )

    @cached_property
    def in_turn(self) -> TileSchedule:
        """The schedule in which no chain lags, and no copy is shared.

        Raises:
            InfeasibleError: It does not fit.
        """
        return best_of(self._first[1].values()).schedule

    @property
    def _tiles(self) -> GroupTiles:
        return self._first[0]

    @cached_property
    def _shared(self) -> GroupTiles:
        return replace(self._tiles, shares_copies=True)

    @cached_property
    def _in_turn(self) -> Mapping[StripeOrder, Attempt]:
        """Schedules in which no chain lags, by their order."""
        found = {StripeOrder((), dealing): schedule for dealing, schedule in self._first[1].items()}
        several = self.other_ways and len(require_arch(self.module).npus) > 1
        if several and self._shared.in_order() != self.in_turn.graph:
            order = StripeOrder((), Dealing.ON_BY_UNIT, shares_copies=True)
            with suppress(InfeasibleError):
                found[order] = self._scheduled(order)
        return found

    @cached_property
    def _first(self) -> tuple[GroupTiles, Mapping[Dealing, Attempt]]:
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
    def by_order(self) -> Mapping[StripeOrder, Attempt]:
        """Schedules that fit, by their order: no chain lags, the most promising ones, the last one.

        The last one hands nothing on, so that its lag leaves the order of all others as it is. The
        best of them in which lines can roll comes once more, so that they do; then the best one in
        which operations begin when they can start; and the best of all, with the array's first
        additions apart.

        Raises:
            InfeasibleError: Not even those fit in which none does.
        """
        found: dict[StripeOrder, Attempt] = {}
        for first, in_turn in self._in_turn.items():
            found[first] = in_turn
            for behind in (*self._promising(first), self._tiles.may_lag[-1:]):
                order = replace(first, behind=behind)
                with suppress(InfeasibleError):
                    found[order] = found.get(order) or self._scheduled(order)
        if self.other_ways:
            found.update(self._clearly_better(self._rolled(found), found))
            found.update(self._clearly_better(self._ready(found), found))
            found.update(self._apart(found))
        return found

    def _rolled(self, found: Mapping[StripeOrder, Attempt]) -> Mapping[StripeOrder, Attempt]:
        """Return the best of some schedules in which lines can roll again, where they do."""
        rolling = map(self._rolling, _by_rating(found))
        return self._fitting(islice(filter(lambda order: order.rolls, rolling), 1))

    def _rolling(self, order: StripeOrder) -> StripeOrder:
        """Return an order with all lines rolling that can, as far as they fit, large ones first."""
        names = self._tiles.rolling_first(order.behind)
        every = replace(order, rolls=frozenset(names))
        if self._fits(every):
            return every
        for name in names:
            more = replace(order, rolls=order.rolls | {name})
            if self._fits(more):
                order = more
        return order

    def _fits(self, order: StripeOrder) -> bool:
        """Whether the tiles of each operation fit together, of the first stripes."""
        if order not in self._known_to_fit:
            tiles, turns = self._first_turns(order)
            self._known_to_fit[order] = fits_together(tiles, turns, self._ranges)
        return self._known_to_fit[order]

    def _ready(self, found: Mapping[StripeOrder, Attempt]) -> Mapping[StripeOrder, Attempt]:
        """Return schedules in which operations begin when they can start: the promising ones.

        Lines roll as far as they fit. What is not expected to be clearly faster than some schedules
        that are known is left out: memories and ports, at which nobody looked, make it slower.
        """
        most = _CLEARLY * min(schedule.cycles for schedule in found.values())
        options = map(self._when_ready, Preference)
        return self._fitting(
            order for order, cycles in chain.from_iterable(options) if cycles < most
        )

    def _ready_stripes(self, order: StripeOrder, most: int) -> ReadyStripes:
        """Return some stripes to be put in the order in which they can start, made once.

        Args:
            order: Which chains lag, and which lines roll, whether they fit or not.
            most: How many stripes.
        """
        key = replace(order, preference=None), most
        if key not in self._known_stripes:
            tiles = self._tiles_of(order, first=MANY)
            graph, places = tiles.in_order(order.behind, most), tiles.places(order.behind, most)
            self._known_stripes[key] = ReadyStripes(GraphTables(graph, tiles.arch), places)
        return self._known_stripes[key]

    def _when_ready(self, preference: Preference) -> Iterator[tuple[StripeOrder, float]]:
        """Yield the orders of a preference that are promising, with what they may take [cycle]."""
        known: dict[Lags, StripeOrder] = {}

        def fits(behind: Lags) -> bool:
            if behind not in known:
                known[behind] = self._rolling(StripeOrder(behind, preference=preference))
            return self._fits(known[behind])

        def stripes(behind: Lags, most: int) -> ReadyStripes:
            rolls = frozenset(self._tiles.may_roll(behind))
            return self._ready_stripes(StripeOrder(behind, rolls=rolls), most)

        def makespan(behind: Lags, most: int) -> int:
            return stripes(behind, most).order(preference).cycles

        def work(most: int) -> float:
            return stripes((), most).work

        search = LagSearch(self._tiles.may_lag, self._tiles.count, makespan, work, fits)
        for behind, cycles in islice(search.options(), _MOST_READY):
            yield known[behind], cycles

    def _fitting(self, orders: Iterable[StripeOrder]) -> Mapping[StripeOrder, Attempt]:
        """Return the schedules of those orders that fit."""
        found: dict[StripeOrder, Attempt] = {}
        for order in orders:
            with suppress(InfeasibleError):
                found[order] = self._scheduled(order)
        return found

    def _clearly_better(
        self,
        new: Mapping[StripeOrder, Attempt],
        known: Mapping[StripeOrder, Attempt],
    ) -> Mapping[StripeOrder, Attempt]:
        """Return the best of some schedules, if it is clearly better than all that are known.

        Nests are compared by what they promise alone, and those that promise little more are often
        worse in the network.
        """
        if not new:
            return {}
        order, least = _best_order(new), min(map(rating_of, known.values()))
        return {order: new[order]} if rating_of(new[order]) < _CLEARLY * least else {}

    def _apart(self, found: Mapping[StripeOrder, Attempt]) -> Mapping[StripeOrder, Attempt]:
        """Return the best of some schedules again, first additions apart, where that differs."""
        order = _best_order(found)
        apart = replace(order, is_apart=True)
        graph = self._ordered(apart)
        with suppress(InfeasibleError):
            return {} if graph == found[order].graph else {apart: self._issued(graph, apart)}
        return {}

    @property
    def best(self) -> TileSchedule:
        """The best schedule.

        Raises:
            InfeasibleError: Not even those fit in which no chain lags.
        """
        return self.by_order[self.best_order].schedule

    @property
    def best_order(self) -> StripeOrder:
        """The order of the best schedule.

        Raises:
            InfeasibleError: Not even those fit in which no chain lags.
        """
        return _best_order(self.by_order)

    def _promising(self, first: StripeOrder) -> tuple[Lags, ...]:
        """Return the lags that are expected to take less time than an order in which none does."""
        tiles = self._tiles_of(first)
        estimate = MixedStripes(self._in_turn[first], first.dealing, tiles.numbers)
        search = LagSearch(
            tiles.may_lag,
            tiles.count,
            estimate.makespan,
            estimate.work,
            lambda behind: self._fits(replace(first, behind=behind)),
        )
        most = _MOST_LAGS if self.first is None else _MOST_OF_SOME
        return tuple(behind for behind, _ in islice(search.options(), most))

    def with_order(self, order: StripeOrder) -> TileSchedule:
        """Return the schedule of an order.

        Args:
            order: The order.

        Raises:
            InfeasibleError: It does not fit.
        """
        return (self._in_turn.get(order) or self._scheduled(order)).schedule

    def _tiles_of(self, order: StripeOrder, first: int | None = None) -> GroupTiles:
        """Return the tiles of an order, made once.

        Args:
            order: The order.
            first: How many stripes are needed; all by default.
        """
        tiles = self._shared if order.shares_copies else self._tiles
        if not order.is_apart and not order.rolls:
            return tiles
        plain = StripeOrder(
            shares_copies=order.shares_copies, is_apart=order.is_apart, rolls=order.rolls
        )
        if (plain, first) not in self._known_tiles:
            few = tiles.first if first is None else first
            self._known_tiles[plain, first] = replace(
                tiles, is_apart=order.is_apart, rolls=order.rolls, first=few
            )
        return self._known_tiles[plain, first]

    def _scheduled(self, order: StripeOrder) -> Attempt:
        known = self._known_turns(order)
        if known is None:
            return self._issued(self._ordered(order), order)
        tables, numbers, turns = known
        return schedule_turns(tables, self._ranges, turns, numbers)

    def _known_turns(
        self, order: StripeOrder, most: int | None = None
    ) -> tuple[GraphTables, Ints, IssueOrder] | None:
        """Return an order in the tables of that in which no chain lags, if its tiles are the same.

        Args:
            order: The order.
            most: Of how many stripes; all of them by default.

        Returns:
            The tables, the operations by their numbers there, and the turns.
        """
        if not order.behind or order.is_apart or order.rolls or order.preference is not None:
            return None
        tables = self._in_turn[replace(order, behind=())].tables
        numbers = self._tiles_of(order).numbers(order.behind, most)
        return tables, numbers, issue_order(tables.tiles, order.dealing, numbers)

    def _ordered(self, order: StripeOrder) -> TileGraph:
        return self._tiles_of(order).in_order(behind=order.behind)

    def _issued(self, graph: TileGraph, order: StripeOrder) -> Attempt:
        tables = GraphTables(graph, require_arch(self.module))
        return schedule_turns(tables, self._ranges, self._turns(tables, order))

    def _turns(self, tables: GraphTables, order: StripeOrder) -> IssueOrder:
        """Return the turns of the tiles of an order."""
        tiles = self._tiles_of(order)
        if order.preference is None:
            return issue_order(tables.tiles, order.dealing)
        stripes = ReadyStripes(tables, tiles.places(order.behind))
        return stripes.order(order.preference).turns

    def _first_turns(self, order: StripeOrder) -> tuple[TileArrays, IssueOrder]:
        """Return the tiles of the first stripes, and their turns."""
        if order.preference is not None:
            stripes = self._ready_stripes(order, MANY)
            return stripes.tables.tiles, stripes.order(order.preference).turns
        known = self._known_turns(order, MANY)
        if known is not None:
            tables, _, turns = known
            return tables.tiles, turns
        own = self._tiles_of(order, first=MANY)
        tiles = GraphTables(own.in_order(order.behind, MANY), own.arch).tiles
        return tiles, issue_order(tiles, order.dealing)

    def _dealt(self, tiles: GroupTiles) -> Mapping[Dealing, Attempt]:
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


def _best_order(found: Mapping[StripeOrder, Attempt]) -> StripeOrder:
    return _by_rating(found)[0]


def _by_rating(found: Mapping[StripeOrder, Attempt]) -> Sequence[StripeOrder]:
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

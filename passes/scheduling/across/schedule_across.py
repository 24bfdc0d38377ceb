"""Pass: let engines that wait in one operator work for the next ones."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import ClassVar

from ....ir.arch import Architecture
from ....ir.graph_schedule import GraphSchedule
from ....ir.isa.instructions import Space, Unit
from ....ir.isa.spaces import level_of_space
from ....ir.module import Module, Stage
from ....ir.tiles.schedule import TileSchedule
from ...base import CUT_SHORT, Context, Notes, Pass, require_arch
from ...tiling.inner_nest import managed_bytes
from ..timing.retime import timed
from ..timing.work_bound import are_alike
from .insertion import Inserted, InsertionPolicy, insert
from .tables import InTurn

_MOVING = (frozenset[Space](), frozenset(Space) - {Space.WB}, frozenset(Space))
"""Where single tiles may lie elsewhere, all of which are tried: nowhere, everywhere but with the
weights, everywhere. Each is the best one of some networks."""

_ORDERED = (frozenset({Unit.VX, Unit.ST}), frozenset({Unit.MX}))
"""Which engines keep the order that events have in their operator, all of which are tried. None,
the vector units, or the arrays: each is the best one of some networks."""

_IN_ORDER = 2
"""Of the ways that keep no order, so many are tried in order, too: those that promise most."""


@dataclass(frozen=True)
class ScheduleAcross(Pass):
    """Let the tiles of operators cross their boundaries.

    ::

        tile_schedule: operators in turn    ->    tile_schedule: tiles cross their boundaries

    A tile of the next operator is loaded while engines wait for the last tiles of this one, and
    computed once the tiles that its window overlaps are there. Tilings do not change; tiles may lie
    elsewhere in their memory, NPUs that are alike may change places. Nothing crosses where a memory
    beneath the scratchpad holds tiles with addresses beside others, which an operator's loops pass
    through it: how much of it is free changes from operator to operator. The result is never slower
    than layer by layer.
    """

    name: ClassVar[str] = "schedule-across"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH_SCHEDULE, Stage.TILE_SCHEDULE})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.TILE_SCHEDULE})
    is_slow: ClassVar[bool] = True

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with the fastest schedule; the same if none is faster than in turn."""
        arch, plan, in_turn = require_arch(module), module.graph_schedule, module.tile_schedule
        assert plan is not None and in_turn is not None
        if any(before.step > after.step for before, after in pairwise(in_turn.events)):
            return module
        if _are_shared(module, arch):
            return module
        if ctx.deadline.is_over:
            ctx.counters.add(CUT_SHORT)
            return module
        known = ctx.notes.of(_KnownInsertions)
        schedule = _fastest(known.of(in_turn, plan, arch))
        known.last = None
        ctx.counters.add("cycles in turn", in_turn.cycles)
        ctx.counters.add("cycles across", schedule.cycles)
        return module if schedule is in_turn else replace(module, tile_schedule=schedule)


@dataclass(frozen=True)
class _Insertions:
    """Ways to insert the events of a schedule.

    Attributes:
        given: The schedule, its operators in turn.
    """

    given: InTurn

    def of(self, policy: InsertionPolicy) -> Inserted:
        """Return what a way to insert makes."""
        return self.anywhere if policy == self._anywhere else insert(self.given, policy)

    @cached_property
    def anywhere(self) -> Inserted:
        """What is made where tiles may lie anywhere; asked for twice, and made once."""
        return insert(self.given, self._anywhere)

    @property
    def _anywhere(self) -> InsertionPolicy:
        return InsertionPolicy(moving=self.moving[-1])

    @cached_property
    def moving(self) -> tuple[frozenset[Space], ...]:
        """Where single tiles may lie elsewhere, as far as that can differ; at last everywhere."""
        filled = {space for _, space, _ in self.given.layouts}
        return tuple(dict.fromkeys(spaces & filled for spaces in _MOVING))


@dataclass
class _KnownInsertions:
    """What was inserted last; it takes much memory. Local to one run of passes."""

    last: _Insertions | None = None

    def of(self, schedule: TileSchedule, plan: GraphSchedule, arch: Architecture) -> _Insertions:
        """Return the ways to insert the events of a schedule."""
        if self.last is None or self.last.given.schedule is not schedule:
            self.last = _Insertions(InTurn(schedule, plan, arch))
        return self.last


def promised(module: Module, notes: Notes) -> int:
    """Return about how long tiles take that cross operators; the pass finds out exactly [cycle].

    Args:
        module: With a tile schedule, its operators in turn.
        notes: What is known already.
    """
    arch, plan, in_turn = require_arch(module), module.graph_schedule, module.tile_schedule
    assert plan is not None and in_turn is not None
    if _are_shared(module, arch):
        return in_turn.cycles
    ways = notes.of(_KnownInsertions).of(in_turn, plan, arch)
    return min(in_turn.cycles, ways.anywhere.cycles)


def _are_shared(module: Module, arch: Architecture) -> bool:
    """Whether memories of tiles with addresses hold others, too, in some operator."""
    found = level_of_space(arch)
    levels = [found[space] for space in (Space.WB, Space.AB) if space in found]
    nests = [mapping.nest for mapping in module.mappings]
    return any(managed_bytes(nest, arch, level) for nest in nests for level in levels)


def _fastest(insertions: _Insertions) -> TileSchedule:
    """Return the fastest of a schedule, layer by layer, and of the most promising ways to insert.

    Insertion tells about how fast its result is. The clock tells exactly, but takes longer: of the
    ways that keep the same engines in order, it times the one that promises most.
    """
    given = insertions.given
    ways = _by_promise(insertions, _free_ways(insertions))
    found = [next(iter(ways.values()))]
    for engines in _ORDERED:
        in_order = (replace(policy, ordered=engines) for policy in islice(ways, _IN_ORDER))
        found.append(next(iter(_by_promise(insertions, in_order).values())))
    distinct = {item.differs_by: item.schedule for item in found}
    timed_ones = (timed(item, given.arch) for item in distinct.values())
    return min([given.schedule, *timed_ones], key=lambda item: item.cycles)


def _by_promise(
    insertions: _Insertions, ways: Iterable[InsertionPolicy]
) -> Mapping[InsertionPolicy, Inserted]:
    """Return what ways to insert make, those first that promise most."""
    found = {policy: insertions.of(policy) for policy in ways}

    def promise(policy: InsertionPolicy) -> tuple[int, bool, int]:
        return found[policy].cycles, policy.deal, -len(policy.moving)

    return {policy: found[policy] for policy in sorted(found, key=promise)}


def _free_ways(insertions: _Insertions) -> Iterator[InsertionPolicy]:
    """Yield the ways to insert that keep no order, and can differ."""
    arch = insertions.given.arch
    deals = (False, True) if are_alike(arch) and len(arch.npus) > 1 else (False,)
    for moving in insertions.moving:
        yield from (InsertionPolicy(moving=moving, deal=deal) for deal in deals)

"""Pass: cut operators into tiles and schedule these on the NPUs."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError, VerifyError
from ....ir.graph import Op
from ....ir.graph_schedule import GraphSchedule
from ....ir.module import Mapping as OperatorMapping
from ....ir.module import Module, Stage
from ....ir.ops import is_mac
from ....ir.tiles.graph import TileGraph
from ....ir.tiles.schedule import TileSchedule
from ...base import Context, Notes, Pass, Progress, require_arch, silent
from ...tiling.mac import tile_mac
from ...tiling.residency import Residency, residency, unit_of
from ...tiling.vector import tile_vector
from ..network.join import join
from .group_schedules import GroupSchedules, ranges_of
from .known_schedules import KnownSchedules
from .static import best_of, schedule_static


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


def schedule_operator(module: Module, op: Op, *, other_ways: bool = True) -> TileSchedule:
    """Return the tiles of one operator of a module that is planned and mapped, by themselves.

    Which chains of a group lag, and how operations are dealt out to NPUs, is decided by cycles and
    bytes alike.

    Args:
        module: The network with its plan and its loop nests.
        op: The operator, or the one that stands for a group.
        other_ways: Whether to try other ways, too, in which NPUs share the work, and first
            additions apart from the others.

    Raises:
        InfeasibleError: The tiles do not fit.
    """
    arch, plan = require_arch(module), module.graph_schedule
    assert plan is not None
    if plan.group(op.name) is None:
        place = residency(module.graph, plan, op)
        ranges, tiles = ranges_of(module, op, place), tile_operator(module, op, place)
        found = [schedule_static(tiles, arch, ranges, other_ways=other_ways)]
        if other_ways and is_mac(op):
            apart = tile_operator(module, op, place, is_apart=True)
            with suppress(InfeasibleError):
                found += [schedule_static(apart, arch, ranges)] if apart != tiles else []
        return best_of(found)
    return GroupSchedules(module, op, other_ways=other_ways).best


def schedule_in_turn(module: Module, op: Op) -> TileSchedule:
    """Return the tiles of a group by themselves, where no chain lags.

    Args:
        module: The network with its plan and its loop nests.
        op: The operator that stands for the group.

    Raises:
        InfeasibleError: The tiles do not fit.
    """
    return GroupSchedules(module, op).in_turn


def tile_operator(module: Module, op: Op, place: Residency, *, is_apart: bool = False) -> TileGraph:
    """Return the tile graph of one operator, which is no group.

    Args:
        module: The network with its loop nests.
        op: The operator.
        place: What the plan says about its step.
        is_apart: Whether first additions are operations of their own, where that helps.

    Raises:
        VerifyError: An operator of the MAC array has no loop nest.
    """
    arch = require_arch(module)
    if not is_mac(op):
        return tile_vector(module.graph, op, arch, place)
    mapping = module.mapping(op.name)
    if mapping is None:
        raise VerifyError(f"{op.kind} %{op.name} has no loop nest")
    return tile_mac(module.graph, op, mapping.nest, arch, place, is_apart=is_apart)

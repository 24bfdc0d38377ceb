"""Pass: cut operators into tiles and schedule these on the NPUs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from ...ir.errors import InfeasibleError, VerifyError
from ...ir.graph import Op
from ...ir.isa.instructions import Space
from ...ir.isa.spaces import level_of_space, space_bytes
from ...ir.module import Module, Stage
from ...ir.ops import is_mac
from ...ir.tiles.graph import TileGraph
from ...ir.tiles.schedule import TileSchedule
from ..base import Context, Pass, require_arch
from ..tiling.group import chains, tile_group, working
from ..tiling.inner_nest import managed_bytes
from ..tiling.mac import tile_mac
from ..tiling.residency import Residency, residency, unit_of
from ..tiling.vector import tile_vector
from .known_schedules import KnownSchedules
from .network.join import join
from .static import schedule_static

_SACRIFICE = 1.1
"""How much more a group may move where it takes fewer cycles so."""


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
        schedules: list[TileSchedule] = []
        known = ctx.notes.of(KnownSchedules)
        for step, name in enumerate(plan.order):
            ctx.progress("tiles", step, len(plan.order))
            op = unit_of(module.graph, plan, name)
            schedules.append(known.of(module, op, schedule_operator))
        found = join(module, schedules, "static")
        ctx.counters.add("events", len(found.events))
        return replace(module, tile_schedule=found)


def schedule_operator(module: Module, op: Op, *, first: int | None = None) -> TileSchedule:
    """Return the tiles of one operator of a module that is planned and mapped, by themselves.

    Args:
        module: The network with its plan and its loop nests.
        op: The operator, or the one that stands for a group.
        first: How many stripes of a group to schedule, for an estimate; all of them by default.

    Raises:
        InfeasibleError: The tiles do not fit.
    """
    arch, plan = require_arch(module), module.graph_schedule
    assert plan is not None
    place = residency(module.graph, plan, op)
    sizes = space_bytes(arch)
    half = sizes[Space.PB] // 2
    ranges = {space: (0, size) for space, size in sizes.items()}
    ranges[Space.GB] = (place.workspace_address, place.workspace_bytes)
    ranges[Space.PB] = (half * (plan.step_of[op.name] % 2), half)
    found = map(module.mapping, plan.members(op.name))
    nests = [mapping.nest for mapping in found if mapping is not None]
    for space in (Space.WB, Space.AB):
        if space in sizes and nests:
            level = level_of_space(arch)[space]
            taken = max(managed_bytes(nest, arch, level) for nest in nests)
            ranges[space] = (0, max(0, sizes[space] - taken))
    group = plan.group(op.name)
    if group is None:
        return schedule_static(tile_operator(module, op, place), arch, ranges)

    def schedule(late: int) -> TileSchedule:
        tiles = tile_operator(module, op, place, late=late, first=first)
        return schedule_static(tiles, arch, ranges)

    count = working(chains(module.graph, group.members))
    return _fastest(schedule, sorted({0, min(1, count - 1), count - 1}))


def _fastest(schedule: Callable[[int], TileSchedule], lates: Iterable[int]) -> TileSchedule:
    """Return the fastest schedule of a group that moves hardly more than the one in turn.

    Args:
        schedule: The schedule with so many chains lagging.
        lates: How many chains may lag, none first.

    Raises:
        InfeasibleError: Not even the first one fits.
    """
    found: list[TileSchedule] = []
    for late in lates:
        try:
            found.append(schedule(late))
        except InfeasibleError:
            if not found:
                raise
            break
    limit = _SACRIFICE * found[0].transferred_bytes
    fitting = [item for item in found if item.transferred_bytes <= limit]
    return min(fitting, key=lambda item: item.cycles)


def tile_operator(
    module: Module, op: Op, place: Residency, *, late: int = 0, first: int | None = None
) -> TileGraph:
    """Return the tile graph of one operator.

    Args:
        module: The network with its loop nests.
        op: The operator, or the one that stands for a group.
        place: What the plan says about its step.
        late: How many of the last chains of a group lag, each a stripe behind the one before.
        first: How many stripes of a group to tile; all of them by default.

    Raises:
        VerifyError: An operator of the MAC array has no loop nest.
    """
    arch, plan = require_arch(module), module.graph_schedule
    group = None if plan is None else plan.group(op.name)
    if group is not None:
        found = map(module.mapping, group.members)
        nests = {item.operator: item.nest for item in found if item is not None}
        return tile_group(
            module.graph, group.members, group.rows, nests, arch, place, late=late, first=first
        )
    if not is_mac(op):
        return tile_vector(module.graph, op, arch, place)
    mapping = module.mapping(op.name)
    if mapping is None:
        raise VerifyError(f"{op.kind} %{op.name} has no loop nest")
    return tile_mac(module.graph, op, mapping.nest, arch, place)

"""Pass: let engines that wait in one operator work for the next ones."""

from dataclasses import dataclass, replace
from typing import ClassVar

from ....ir.arch import Architecture
from ....ir.graph_schedule import GraphSchedule
from ....ir.module import Module, Stage
from ....ir.tile_schedule import TileSchedule
from ...base import Context, Pass, require_arch
from ..timing.retime import retimed
from ..work_bound import with_work_bound
from .insertion import insert
from .join import Joined, join
from .npus import are_alike
from .rooms import NoRoom


@dataclass(frozen=True)
class ScheduleAcross(Pass):
    """Join the tile schedules of all operators into one that crosses their boundaries.

    ::

        tile_schedules: one per operator    ->    tile_schedules: one for all

    A tile of the next operator is loaded while engines wait for the last tiles of this one, and
    computed once the tiles that its window overlaps are there. Tilings stay as they are; tiles may
    move in their memory, NPUs that are alike may change places. The result is never slower than
    layer by layer.
    """

    name: ClassVar[str] = "schedule-across"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH_SCHEDULE, Stage.TILE_SCHEDULES})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.TILE_SCHEDULES})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with one tile schedule; the same if it has no more than that."""
        arch, plan = require_arch(module), module.graph_schedule
        assert plan is not None
        if len(module.tile_schedules) < 2:
            return module
        joined = join(module)
        in_turn = retimed(joined.schedule, arch)
        schedule = best_across(joined, in_turn, plan, arch)
        ctx.counters.add("cycles in turn", in_turn.cycles)
        ctx.counters.add("cycles across", schedule.cycles)
        return replace(module, tile_schedules=(schedule,))


def best_across(
    joined: Joined, in_turn: TileSchedule, plan: GraphSchedule, arch: Architecture
) -> TileSchedule:
    """Return the fastest of the operators in turn, and of all ways to insert their events."""
    ways = [in_turn]
    for deal in (False, True) if are_alike(arch) and len(arch.npus) > 1 else (False,):
        for move in (False, True):
            ways.append(retimed(_inserted(joined, plan, arch, move=move, deal=deal), arch))
    best = min(ways, key=lambda way: way.cycles)
    return with_work_bound(replace(best, scheduler="across"), arch)


def _inserted(
    joined: Joined, plan: GraphSchedule, arch: Architecture, *, move: bool, deal: bool
) -> TileSchedule:
    """Return a schedule; where tiles move, those of steps whose room is in pieces stay."""
    keep = [not move] * len(plan.order)
    while True:
        try:
            return insert(joined, plan, arch, keep, deal=deal)
        except NoRoom as found:
            keep[found.step] = True

"""Pass: let the plan of the scratchpad tell what its tiles really move off chip."""

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import ClassVar

from ...ir.graph import Graph
from ...ir.graph_schedule import GraphSchedule, SolveStatus
from ...ir.module import Module, Stage
from ...ir.proof import Scope
from ...ir.tiles.events import TRANSFERS
from ...ir.tiles.schedule import TileSchedule
from ..analysis.compulsory import compulsory_network_bytes
from ..base import Context, Pass


@dataclass(frozen=True)
class CountTraffic(Pass):
    """Put the bytes of the tile schedule into the graph schedule.

    ::

        streams: %x 4096, objective 8192    ->    streams: %x 5120, objective 9344

    A scheduler of graphs predicts what streaming moves, some count a tensor once only. Tiles tell
    exactly: with halos, with what is fetched again, and with constants. A plan that moves inputs,
    constants (the program's own, too) and outputs once and nothing else is then optimal; otherwise
    nothing is proven of bytes that turn out to be others than those that were planned.
    """

    name: ClassVar[str] = "count-traffic"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH_SCHEDULE, Stage.TILE_SCHEDULE})
    gives: ClassVar[frozenset[Stage]] = frozenset(
        {Stage.GRAPH_SCHEDULE, Stage.MAPPINGS, Stage.TILE_SCHEDULE}
    )

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with a graph schedule whose bytes are those of its tiles."""
        plan, schedule = module.graph_schedule, module.tile_schedule
        assert plan is not None and schedule is not None
        counted = count_traffic(module.graph, plan, schedule)
        ctx.counters.add("planned-bytes", plan.objective)
        ctx.counters.add("counted-bytes", counted.objective)
        return module if counted == plan else replace(module, graph_schedule=counted)


def count_traffic(graph: Graph, plan: GraphSchedule, schedule: TileSchedule) -> GraphSchedule:
    """Return a plan with the bytes that tiles move.

    Args:
        graph: The network.
        plan: The plan of its scratchpad.
        schedule: The tiles of its operators.
    """
    moved = _moved(schedule)
    counted = replace(
        plan,
        streams=tuple(
            replace(item, bytes=moved.get((item.step, item.tensor), 0)) for item in plan.streams
        ),
        objective=schedule.transferred_bytes,
    )
    least = compulsory_network_bytes(graph).total + _factors(graph, schedule)
    return _judged(plan, counted, least)


def _judged(plan: GraphSchedule, counted: GraphSchedule, least: int) -> GraphSchedule:
    """Return the plan with what can be said of its counted bytes; no plan moves less than some.

    What was proven of whole tensors is proven of counted bytes, if these are all that moves. What
    was proven in a traffic model is not.
    """
    is_exact = plan.scope is Scope.WHOLE_TENSORS and counted.objective == plan.objective
    if is_exact and plan.bound > least:
        return counted
    found = replace(counted, bound=least, scope=Scope.ALL_PLANS if least else None)
    if counted.objective == least:
        return replace(found, status=SolveStatus.OPTIMAL)
    kept = plan.status if plan.status is SolveStatus.HEURISTIC else SolveStatus.FEASIBLE
    return replace(found, status=kept)


def _moved(schedule: TileSchedule) -> dict[tuple[int, str], int]:
    """Return the bytes that pass in tiles, by step and tensor; what moves whole is left out."""
    moved: defaultdict[tuple[int, str], int] = defaultdict(int)
    tiles = schedule.graph.tiles
    for event in schedule.events:
        if event.kind in TRANSFERS and not tiles[event.subject].is_resident:
            moved[event.step, tiles[event.subject].tensor] += tiles[event.subject].bytes
    return dict(moved)


def _factors(graph: Graph, schedule: TileSchedule) -> int:
    """Return the bytes of what the program has beside the graph's tensors: factors, tables."""
    tiles = schedule.graph.tiles
    loaded = {event.subject for event in schedule.events if event.kind in TRANSFERS}
    return sum(tiles[item].bytes for item in loaded if tiles[item].tensor not in graph.types)

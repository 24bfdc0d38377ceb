"""Pass: let the plan of the scratchpad tell what its tiles really move off chip."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from ...ir.graph import Graph
from ...ir.graph_schedule import GraphSchedule, SolveStatus, Stream
from ...ir.module import Module, Stage
from ...ir.proof import Scope
from ...ir.tile_events import TRANSFERS
from ...ir.tile_schedule import TileSchedule
from ..analysis.compulsory import compulsory_network_bytes
from ..base import Context, Pass


@dataclass(frozen=True)
class CountTraffic(Pass):
    """Put the bytes of the tile schedules into the graph schedule.

    ::

        streams: %x 4096, objective 8192    ->    streams: %x 5120, objective 9344

    A scheduler of graphs predicts what streaming moves, some count a tensor once only. Tiles tell
    exactly: with halos, with what is fetched again, and with constants. A plan that moves inputs,
    constants (the program's own, too) and outputs once and nothing else is then optimal; otherwise
    nothing is proven of bytes that turn out to be others than those that were planned.
    """

    name: ClassVar[str] = "count-traffic"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH_SCHEDULE, Stage.TILE_SCHEDULES})
    gives: ClassVar[frozenset[Stage]] = frozenset(
        {Stage.GRAPH_SCHEDULE, Stage.MAPPINGS, Stage.TILE_SCHEDULES}
    )

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with a graph schedule whose bytes are those of its tiles."""
        plan = module.graph_schedule
        assert plan is not None
        counted = count_traffic(module.graph, plan, module.tile_schedules)
        ctx.counters.add("planned-bytes", plan.objective)
        ctx.counters.add("counted-bytes", counted.objective)
        return module if counted == plan else replace(module, graph_schedule=counted)


def count_traffic(
    graph: Graph, plan: GraphSchedule, schedules: Iterable[TileSchedule]
) -> GraphSchedule:
    """Return a plan with the bytes that tiles move.

    Args:
        graph: The network.
        plan: The plan of its scratchpad.
        schedules: The tiles of every operator.
    """
    streams: dict[tuple[str, int], int] = {(item.tensor, item.step): 0 for item in plan.streams}
    total = 0
    least = compulsory_network_bytes(graph)
    for schedule in schedules:
        moved = _moved(schedule)
        total += sum(moved.values())
        least += _factors(graph, schedule)
        for name in schedule.graph.operators:
            step = plan.step_of[name]
            for tensor in [item for item, at in streams if at == step]:
                streams[tensor, step] = moved.pop(tensor, 0)
    whole = (*plan.loads, *plan.spills, *plan.retrieves, *plan.stores)
    counted = replace(
        plan,
        streams=tuple(
            Stream(tensor=tensor, step=step, bytes=size) for (tensor, step), size in streams.items()
        ),
        objective=total + sum(item.bytes for item in whole),
    )
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


def _moved(schedule: TileSchedule) -> dict[str, int]:
    """Return the bytes that pass in tiles, by tensor; tensors that move whole are left out."""
    moved: defaultdict[str, int] = defaultdict(int)
    tiles = schedule.graph.tiles
    for event in schedule.events:
        if event.kind in TRANSFERS and not tiles[event.subject].is_resident:
            moved[tiles[event.subject].tensor] += tiles[event.subject].bytes
    return dict(moved)


def _factors(graph: Graph, schedule: TileSchedule) -> int:
    """Return the bytes of what the program has beside the graph's tensors: factors, tables."""
    tiles = schedule.graph.tiles
    loaded = {event.subject for event in schedule.events if event.kind in TRANSFERS}
    return sum(tiles[item].bytes for item in loaded if tiles[item].tensor not in graph.types)

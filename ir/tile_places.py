"""Check that the tiles of one operator find its tensors where the graph schedule has them.

A tile schedule of several operators answers for itself; that of a single one does not know what
the steps before it left on chip and off chip.
"""

from collections.abc import Mapping

from .errors import VerifyError
from .graph import Graph
from .graph_schedule import GraphSchedule
from .regions import base_of
from .tile_events import EventKind
from .tile_schedule import TileSchedule
from .tiles import Role, Tile


def verify_places(graph: Graph, plan: GraphSchedule, schedules: tuple[TileSchedule, ...]) -> None:
    """Check every tile schedule of a single operator against a plan.

    Args:
        graph: The network.
        plan: The plan of the scratchpad.
        schedules: The tile schedules.

    Raises:
        VerifyError: Names the tensor and operator: a tile is loaded that is not off chip, one is
            taken for resident that is not, or a result does not go where it is expected.
    """
    since = _off_chip_since(graph, plan)
    for schedule in schedules:
        if len(schedule.graph.operators) == 1:
            _verify_operator(graph, plan, schedule, since)


def _off_chip_since(graph: Graph, plan: GraphSchedule) -> Mapping[str, int]:
    """Return the first step at which tiles of each computed tensor may be loaded."""
    since: dict[str, int] = {}
    for item in plan.spills:
        since[item.tensor] = min(since.get(item.tensor, item.step), item.step)
    for item in plan.stores:
        if item.tensor in graph.outputs:
            since[item.tensor] = min(since.get(item.tensor, item.step + 1), item.step + 1)
    for item in plan.streams:
        if item.tensor in graph.producer and plan.order[item.step] == item.tensor:
            since[item.tensor] = item.step + 1
    return since


def _verify_operator(
    graph: Graph, plan: GraphSchedule, schedule: TileSchedule, since: Mapping[str, int]
) -> None:
    (name,) = schedule.graph.operators
    step = plan.step_of[name]
    for tile in schedule.graph.tiles:
        if tile.is_resident:
            _verify_resident(plan, tile, step, name)
        elif tile.role is Role.O and not plan.streamed(tile.tensor, step):
            raise VerifyError(f"%{name} stores tiles of %{tile.tensor}, which is not streamed")
    loaded = {
        schedule.graph.tiles[event.subject].tensor
        for event in schedule.events
        if event.kind is EventKind.LOAD
    }
    for tensor in sorted(loaded):
        if tensor in graph.producer and since.get(tensor, len(plan.order)) > step:
            raise VerifyError(f"%{name} loads tiles of %{tensor}, which is not off chip")


def _verify_resident(plan: GraphSchedule, tile: Tile, step: int, name: str) -> None:
    place = plan.resident(tile.tensor, step)
    if place is None or place.address != base_of(tile):
        raise VerifyError(f"%{name} takes %{tile.tensor} to be resident at {base_of(tile)}")

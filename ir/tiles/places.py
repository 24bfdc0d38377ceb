"""Check that a tile schedule finds the tensors of its network where the graph schedule has them."""

from collections import Counter
from collections.abc import Iterable, Mapping

from ..errors import VerifyError
from ..graph_schedule import GraphSchedule, Transfer
from .events import TRANSFERS, EventKind
from .graph import Role, Tile
from .regions import base_of
from .schedule import TileSchedule

_Moves = Counter[tuple[EventKind, str, int]]
"""How often a tensor is moved whole in some way at a step."""


def verify_places(plan: GraphSchedule, schedule: TileSchedule) -> None:
    """Check the tile schedule of a network against the plan of its scratchpad.

    Args:
        plan: The plan.
        schedule: The tile schedule.

    Raises:
        VerifyError: Operators are missing or in another order; or names the tensor that is moved
            although the plan does not say so, or is not moved although it does, or is taken to be
            resident where it is not, or goes off chip in tiles although it is not streamed.
    """
    if schedule.graph.operators != plan.order:
        raise VerifyError("the tile schedule does not have the operators of the graph schedule")
    _verify_moves(plan, schedule)
    for op in schedule.graph.ops:
        for name in filter(None, (op.works_for, op.joined)):
            if name not in plan.members(op.operator):
                raise VerifyError(f"%{name} does not belong to %{op.operator}")
        step = plan.step_of[op.operator]
        for tile in (schedule.graph.tiles[number] for number in (*op.reads, op.out)):
            if tile.is_resident:
                _verify_resident(plan, tile, step, op.operator)
            elif tile.role is Role.O and not plan.streamed(tile.tensor, step):
                raise VerifyError(
                    f"%{op.operator} stores tiles of %{tile.tensor}, which is not streamed"
                )


def _verify_resident(plan: GraphSchedule, tile: Tile, step: int, name: str) -> None:
    place = plan.resident(tile.tensor, step)
    if place is None or place.address != base_of(tile):
        raise VerifyError(f"%{name} takes %{tile.tensor} to be resident at {base_of(tile)}")


def _verify_moves(plan: GraphSchedule, schedule: TileSchedule) -> None:
    planned, made = _planned(plan), _made(schedule)
    for kind, tensor, step in made - planned:
        raise VerifyError(
            f"an event moves %{tensor} at step {step} ({kind}), the graph schedule does not"
        )
    for kind, tensor, step in planned - made:
        raise VerifyError(
            f"%{tensor} is moved by the graph schedule at step {step} ({kind}), but by no event"
        )


def _planned(plan: GraphSchedule) -> _Moves:
    moves: Mapping[EventKind, Iterable[Transfer]] = {
        EventKind.LOAD: plan.loads,
        EventKind.SPILL: plan.spills,
        EventKind.RETRIEVE: plan.retrieves,
        EventKind.STORE: plan.stores,
    }
    return Counter((kind, item.tensor, item.step) for kind in moves for item in moves[kind])


def _made(schedule: TileSchedule) -> _Moves:
    tiles = schedule.graph.tiles
    return Counter(
        (event.kind, tiles[event.subject].tensor, event.step)
        for event in schedule.events
        if event.kind in TRANSFERS and tiles[event.subject].is_resident
    )

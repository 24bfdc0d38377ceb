"""Which step of the graph schedule each event of a schedule of all operators works for."""

from collections import deque
from collections.abc import Iterable

from ..ir.errors import PassError
from ..ir.graph_schedule import GraphSchedule, Transfer
from ..ir.tile_events import EventKind
from ..ir.tile_schedule import TileSchedule


def event_steps(schedule: TileSchedule, plan: GraphSchedule) -> list[int]:
    """Return the step of the operator that each event works for.

    Raises:
        PassError: A move of the plan is missing, or there is one that it does not have.
    """
    graph, step_of = schedule.graph, plan.step_of
    owner: dict[int, int] = {}
    for op in graph.ops:
        for tile in (*op.reads, op.out, *(() if op.acc is None else (op.acc,))):
            owner.setdefault(tile, step_of[op.operator])
    inwards, outwards = _moves(plan.loads, plan.retrieves), _moves(plan.stores, plan.spills)
    steps: list[int] = []
    for number, event in enumerate(schedule.events):
        if event.kind in (EventKind.COMPUTE, EventKind.FINISH):
            steps.append(step_of[graph.ops[event.subject].operator])
        elif not graph.tiles[event.subject].is_resident:
            steps.append(owner[event.subject])
        else:
            moves = inwards if event.kind in (EventKind.LOAD, EventKind.RETRIEVE) else outwards
            tensor = graph.tiles[event.subject].tensor
            if not moves.get(tensor):
                raise PassError(f"event {number} moves %{tensor}, the graph schedule does not")
            steps.append(moves[tensor].popleft())
    left = [name for moves in (inwards, outwards) for name, items in moves.items() if items]
    if left:
        raise PassError(f"%{left[0]} is moved by the graph schedule, but by no event")
    return steps


def _moves(*transfers: Iterable[Transfer]) -> dict[str, deque[int]]:
    """Return the steps at which tensors are moved whole, in order."""
    found: dict[str, list[int]] = {}
    for item in (move for moves in transfers for move in moves):
        found.setdefault(item.tensor, []).append(item.step)
    return {tensor: deque(sorted(steps)) for tensor, steps in found.items()}

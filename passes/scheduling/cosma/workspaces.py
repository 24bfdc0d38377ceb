"""Let the workspaces of a plan grow into the room that nobody uses."""

from collections.abc import Sequence
from dataclasses import replace

from ....ir.graph_schedule import GraphSchedule, Workspace


def grow_workspaces(plan: GraphSchedule) -> GraphSchedule:
    """Return the plan with every workspace moved to the largest free block of its step."""
    return replace(plan, workspaces=tuple(grown(plan, item) for item in plan.workspaces))


def grown(plan: GraphSchedule, workspace: Workspace) -> Workspace:
    """Return the largest free block of a workspace's step, or the workspace if that is it."""
    taken = sorted(
        (item.address, item.address + item.bytes) for item in plan.residences_at(workspace.step)
    )
    size, address = _largest_hole(taken, plan.budget)
    if size <= workspace.bytes:
        return workspace
    return Workspace(step=workspace.step, address=address, bytes=size)


def _largest_hole(taken: Sequence[tuple[int, int]], budget: int) -> tuple[int, int]:
    """Return size and address of the largest gap between blocks that are in order."""
    best, start = (0, 0), 0
    for first, end in taken:
        best = max(best, (first - start, start))
        start = max(start, end)
    return max(best, (budget - start, start))

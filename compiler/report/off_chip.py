"""Off-chip bytes in words: what the plan moves, what the program moved, what must move.

*Planned* are those of the graph schedule: as its scheduler predicted them at first (some leave
constants to the tiles), as the tiles will move them once there are tiles. *Simulated* are those
that the program moved. *Compulsory* are inputs, constants and outputs, each once.
"""

from ...ir.report import GraphScheduleReport
from .figures import amount, capacity, counted, percent


def planned_scope(plan: GraphScheduleReport) -> str:
    """Return what the planned bytes are of."""
    if plan.constant_bytes:
        return f"activations, and {amount(plan.constant_bytes, 'B')} of constants"
    return "activations; constants come on top"


def proof(plan: GraphScheduleReport) -> str:
    """Return what is proven of a plan: its status, bound, of which plans, and the gap between."""
    if not plan.bound_bytes:
        return f"{plan.status}, no bound proven"
    bound = f"bound of {plan.scope} {amount(plan.bound_bytes, 'B')}"
    return f"{plan.status}, {bound}, gap {percent(plan.gap)}"


def plan_line(plan: GraphScheduleReport) -> str:
    """Return one line on the plan of the scratchpad: capacity, and what lies and moves there."""
    moved = ", ".join(
        (
            counted(len(plan.streams), "stream"),
            counted(len(plan.spills), "spill"),
            counted(len(plan.retrieves), "retrieve"),
        )
    )
    residences = counted(len(plan.residences), "residence")
    size = capacity(plan.budget_bytes)
    return f"scratchpad plan: {residences} in {size}, {moved} ({proof(plan)})"

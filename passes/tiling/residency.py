"""Where an operator finds its tensors: resident at an address, or to be moved in tiles."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...ir.graph import Graph, Op
from ...ir.graph_schedule import GraphSchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Residency:
    """The scratchpad during one step.

    Attributes:
        addresses: First byte of every tensor of the operator that is resident.
        workspace_address: First byte that tiles may use.
        workspace_bytes: How much tiles may use.
    """

    addresses: Mapping[str, int]
    workspace_address: int
    workspace_bytes: int


def residency(graph: Graph, schedule: GraphSchedule, op: Op) -> Residency:
    """Return what the plan says about the step of an operator.

    Args:
        graph: The network.
        schedule: The plan.
        op: The operator.
    """
    step = schedule.step_of[op.name]
    found: dict[str, int] = {}
    for name in (*op.inputs, *(value.name for value in op.results)):
        place = schedule.resident(name, step)
        if place is not None and not graph.is_constant(name):
            found[name] = place.address
    workspace = schedule.workspace(step)
    return Residency(
        addresses=found,
        workspace_address=0 if workspace is None else workspace.address,
        workspace_bytes=0 if workspace is None else workspace.bytes,
    )

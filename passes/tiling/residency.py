"""Where an operator finds its tensors: resident at an address, or to be moved in tiles."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...ir.arch import Architecture
from ...ir.graph import Graph, Op
from ...ir.graph_schedule import GraphSchedule
from ...ir.groups import group_op
from ...ir.isa.instructions import Space
from ...ir.isa.spaces import space_bytes


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


def unit_of(graph: Graph, schedule: GraphSchedule, name: str) -> Op:
    """Return the operator of a name of the plan's order, or the one that stands for a group.

    Args:
        graph: The network.
        schedule: The plan.
        name: Of the operator or group.
    """
    group = schedule.group(name)
    return graph.producer[name] if group is None else group_op(graph, group)


def residency(graph: Graph, schedule: GraphSchedule, op: Op) -> Residency:
    """Return what the plan says about the step of an operator or group.

    Args:
        graph: The network.
        schedule: The plan.
        op: The operator, or the one that stands for a group.
    """
    step = schedule.step_of[op.name]
    found: dict[str, int] = {}
    for name in op.touched:
        place = schedule.resident(name, step)
        if place is not None and not graph.is_constant(name):
            found[name] = place.address
    workspace = schedule.workspace(step)
    return Residency(
        addresses=found,
        workspace_address=0 if workspace is None else workspace.address,
        workspace_bytes=0 if workspace is None else workspace.bytes,
    )


def parameter_range(arch: Architecture, schedule: GraphSchedule, name: str) -> tuple[int, int]:
    """Return first byte and size of what an operator may use of each memory for parameters.

    Steps take halves in turn, so that one loads its parameters while the one before works.

    Args:
        arch: The machine.
        schedule: The plan.
        name: Of the operator or group.
    """
    half = space_bytes(arch)[Space.PB] // 2
    return half * (schedule.step_of[name] % 2), half

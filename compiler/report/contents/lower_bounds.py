"""Lower bounds of cycles and bytes, for the report."""

import math

from ....ir.arch import Architecture
from ....ir.graph_schedule import Group
from ....ir.groups import group_op
from ....ir.module import Module
from ....ir.ops import workload
from ....ir.workload import Operand
from ....passes.analysis.bounds import OffChipBytes, compulsory_bytes
from ....passes.analysis.compulsory import padding_of


def roofline(arch: Architecture, macs: int, moved: OffChipBytes) -> int:
    """Return the cycles that no schedule beats: MACs over the array, bytes through the ports.

    Args:
        arch: The accelerator, all its NPUs together.
        macs: Multiply-accumulates.
        moved: Bytes that cross the off-chip ports.
    """
    return max(math.ceil(macs / arch.all_macs), moved.cycles(arch))


def compulsory_group_bytes(module: Module, group: Group) -> OffChipBytes:
    """Return the bytes that a fused group moves at least, given the plan.

    Constants and the result; of what comes from outside nothing is counted, since a member may
    read a part of it only.
    """
    plan, graph = module.graph_schedule, module.graph
    assert plan is not None
    op = group_op(graph, group)
    read = sum(graph.types[name].bytes for name in op.inputs if graph.is_constant(name))
    is_resident = plan.resident(op.name, plan.step_of[op.name]) is not None
    return OffChipBytes(read, written=0 if is_resident else op.result.type.bytes)


def compulsory_operator_bytes(module: Module, name: str) -> OffChipBytes:
    """Return the bytes that an operator of the MAC array moves at least, given the plan."""
    plan, op = module.graph_schedule, module.graph.producer[name]
    load = workload(op, module.graph.types)
    assert plan is not None
    assert load is not None
    step = plan.step_of[name]
    names = {Operand.W: op.operands[1], Operand.I: op.operands[0], Operand.O: name}
    resident = frozenset(
        operand for operand, tensor in names.items() if plan.resident(tensor, step) is not None
    )
    moved = compulsory_bytes(load, resident, padding=padding_of(module.graph, op))
    written = compulsory_bytes(load, resident | {Operand.W, Operand.I})
    return OffChipBytes(moved - written, written)

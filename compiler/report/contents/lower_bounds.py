"""Lower bounds of cycles and bytes, for the report."""

import math

from ....ir.arch import Architecture
from ....ir.graph_schedule import Group
from ....ir.groups import group_op
from ....ir.module import Module
from ....ir.ops import workload
from ....ir.workload import Operand
from ....passes.analysis.bounds import compulsory_bytes
from ....passes.analysis.compulsory import padding_of


def roofline(arch: Architecture, macs: int, off_chip_bytes: int) -> int:
    """Return the cycles that no schedule beats: MACs over the array, bytes over the bandwidth.

    Args:
        arch: The accelerator, all its NPUs together.
        macs: Multiply-accumulates.
        off_chip_bytes: Bytes that cross the off-chip port [byte].
    """
    bandwidth = arch.off_chip.read_bandwidth
    transfer = 0 if bandwidth is None else math.ceil(off_chip_bytes / bandwidth)
    return max(math.ceil(macs / arch.all_macs), transfer)


def compulsory_group_bytes(module: Module, group: Group) -> int:
    """Return the bytes that a fused group moves at least, given the plan [byte].

    Constants and the result; of what comes from outside nothing is counted, since a member may
    read a part of it only.
    """
    plan, graph = module.graph_schedule, module.graph
    assert plan is not None
    op = group_op(graph, group)
    read = sum(graph.types[name].bytes for name in op.inputs if graph.is_constant(name))
    is_resident = plan.resident(op.name, plan.step_of[op.name]) is not None
    return read + (0 if is_resident else op.result.type.bytes)


def compulsory_operator_bytes(module: Module, name: str) -> int:
    """Return the bytes that an operator of the MAC array moves at least, given the plan [byte]."""
    plan, op = module.graph_schedule, module.graph.producer[name]
    load = workload(op, module.graph.types)
    assert plan is not None
    assert load is not None
    step = plan.step_of[name]
    names = {Operand.W: op.operands[1], Operand.I: op.operands[0], Operand.O: name}
    resident = frozenset(
        operand for operand, tensor in names.items() if plan.resident(tensor, step) is not None
    )
    return compulsory_bytes(load, resident, padding=padding_of(module.graph, op))

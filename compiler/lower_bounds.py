"""Lower bounds of cycles and bytes, for the report."""

import math

from ..ir.arch import Architecture
from ..ir.graph import Graph, Op
from ..ir.module import Module
from ..ir.op_views import window_of
from ..ir.ops import workload
from ..ir.workload import Operand
from ..passes.analysis.bounds import Padding, compulsory_bytes


def peak_macs(arch: Architecture) -> int:
    """Return the MACs per cycle of all NPUs."""
    return sum(arch.npu_macs(npu) for npu in arch.npus)


def roofline(arch: Architecture, macs: int, off_chip_bytes: int) -> int:
    """Return the cycles that no schedule beats: MACs over the array, bytes over the bandwidth."""
    bandwidth = arch.off_chip.read_bandwidth
    transfer = 0 if bandwidth is None else math.ceil(off_chip_bytes / bandwidth)
    return max(math.ceil(macs / peak_macs(arch)), transfer)


def compulsory_network_bytes(graph: Graph) -> int:
    """Return the bytes of inputs, constants and outputs, each moved once, unread ones left out.

    What the windows of a first convolution step over is not counted.
    """
    total = sum(graph.types[name].bytes for name in graph.outputs if name in graph.producer)
    for value in (*graph.inputs, *graph.constants):
        read = sum(_read_bytes(graph, op, value.name) for op in graph.consumers[value.name])
        total += min(value.type.bytes, read)
    return total


def _read_bytes(graph: Graph, op: Op, name: str) -> int:
    """Return the bytes of a tensor that an operator reads at least."""
    load, padding = workload(op, graph.types), _padding(graph, op)
    if load is None or padding is None or name != op.operands[0]:
        return graph.types[name].bytes
    return padding.elements_read(load) * graph.types[name].dtype.bytes


def compulsory_operator_bytes(module: Module, name: str) -> int:
    """Return the bytes that an operator of the MAC array moves at least, given the plan [byte]."""
    plan, op = module.graph_schedule, module.graph.producer[name]
    load = workload(op, module.graph.types)
    assert plan is not None
    assert load is not None
    step = plan.step_of[name]
    names = {Operand.I: op.operands[0], Operand.O: name}
    resident = frozenset(
        operand for operand, tensor in names.items() if plan.resident(tensor, step) is not None
    )
    return compulsory_bytes(load, resident, padding=_padding(module.graph, op))


def _padding(graph: Graph, op: Op) -> Padding | None:
    if op.kind != "conv2d":
        return None
    top, left, _, _ = window_of(op, (1, 1)).pads
    rows, columns = graph.types[op.operands[0]].shape[2:]
    return Padding(rows=rows, columns=columns, top=top, left=left)

"""Operands that go straight from off-chip memory to the NPUs, around the scratchpad."""

from .arch import Architecture
from .graph import Graph, Op
from .ops import OPS, is_mac
from .workload import Operand


def direct_operands(graph: Graph, op: Op, arch: Architecture) -> frozenset[str]:
    """Return the activations that an operator reads as what never lies in the scratchpad.

    These are biases and tables, and weights where the scratchpad does not hold such, if they are
    computed or inputs of the network. They have to be off chip while the operator runs.

    Args:
        graph: The network.
        op: One of its operators.
        arch: The accelerator.
    """
    first = OPS[op.kind].parameters if op.kind in OPS else None
    if first is None:
        return frozenset()
    if is_mac(op) and Operand.W not in arch.scratchpad_level.holds:
        first = 1
    names = op.operands[first:]
    return frozenset(name for name in names if name and not graph.is_constant(name))

"""Operands that go straight from off-chip memory to the NPUs, around the scratchpad."""

from .arch import Architecture
from .graph import Graph, Op
from .workload import Operand


def direct_operands(graph: Graph, op: Op, arch: Architecture) -> frozenset[str]:
    """Return the activations that an operator reads as what never lies in the scratchpad.

    These are biases and tables, and weights where the scratchpad does not hold such, if they are
    computed or inputs of the network. They have to be off chip while the operator runs.
    """
    match op.kind:
        case "conv2d" | "dense":
            holds_weights = Operand.W in arch.scratchpad_level.holds
            names = op.operands[2 if holds_weights else 1 :]
        case "lookup":
            names = op.operands[1:]
        case _:
            names = ()
    return frozenset(name for name in names if name and not graph.is_constant(name))

"""Which operands an operator, or a group of them, reads around the scratchpad."""

from .arch import Architecture
from .graph import Graph, Op
from .groups import GROUP, parameters_of_group, weights_of_group
from .ops import parameters_of, weights_of
from .workload import Operand


def direct_operands(graph: Graph, op: Op, arch: Architecture) -> frozenset[str]:
    """Return the activations that an operator reads as what never lies in the scratchpad.

    These are biases and tables, and weights where the scratchpad does not hold such, if they are
    computed or inputs of the network. They have to be off chip while the operator runs.

    Args:
        graph: The network.
        op: One of its operators, or one that stands for a group.
        arch: The accelerator.
    """
    is_group = op.kind == GROUP
    found = parameters_of_group(op) if is_group else parameters_of(op)
    if Operand.W not in arch.scratchpad_level.holds:
        found = (*found, *(weights_of_group(op) if is_group else weights_of(op)))
    return frozenset(name for name in found if not graph.is_constant(name))

"""What one element costs on the vector unit; the machine's rule, restated for the simulator.

The compiler has its own table (``ir/latency.py``): a mistake in one shows as a difference.
"""

import math

from ..ir.isa import Activate, Activation, AnyInstruction, Binary, BinaryKind, Pool

_SLOW = frozenset(
    {
        Activation.SIGMOID,
        Activation.TANH,
        Activation.EXP,
        Activation.SQRT,
        Activation.RECIPROCAL,
        Activation.ERF,
    }
)
_SLOW_CYCLES = 4


def lane_cycles(instruction: AnyInstruction) -> int:
    """Return the lane cycles per element of a vector instruction [cycle].

    One, but for a slow activation function or a division four, and for a pool one per tap.
    """
    match instruction:
        case Activate(act=act):
            return _SLOW_CYCLES if act in _SLOW else 1
        case Binary(kind=kind, act=act):
            return _SLOW_CYCLES if kind is BinaryKind.DIV or act in _SLOW else 1
        case Pool(kernel=kernel):
            return math.prod(kernel)
        case _:
            return 1

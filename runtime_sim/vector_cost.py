"""What one element costs on the vector unit, from the instruction alone."""

import math

from ..ir.isa import Activate, AnyInstruction, Binary, Pool
from ..ir.operators.functions import FUNCTIONS, PAIRS


def lane_cycles(instruction: AnyInstruction) -> int:
    """Return the lane cycles per element of a vector instruction [cycle].

    What its function costs as the instruction set says, the slower one where there are two; for a
    pool one per tap, and one for all else.
    """
    match instruction:
        case Activate(act=act):
            return FUNCTIONS[act].cycles
        case Binary(kind=kind, act=act):
            return max(PAIRS[kind].cycles, FUNCTIONS[act].cycles)
        case Pool(kernel=kernel):
            return math.prod(kernel)
        case _:
            return 1

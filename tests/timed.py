"""When the instructions of a program run; values are not computed."""

from accnn.ir.isa.program import Program
from accnn.runtime_sim.timing.events import time_of


def program_cycles(program: Program) -> int:
    """Return when the last instruction retires, halts left out [cycle]."""
    return max((issue.end for queue in time_of(program).queues for issue in queue[:-1]), default=0)

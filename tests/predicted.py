"""Times of a program if every instruction takes what schedulers predict and shares no port.

Schedulers predict with fixed durations (``accnn.ir.latency``); in the simulator instructions share
ports, so its times differ. Whether a schedule's times follow from its queues and waits is another
question, which these times answer without tolerance.
"""

from accnn.ir.latency import cycles
from accnn.ir.program import Program
from accnn.runtime_sim.timing import Timing, time_of
from accnn.runtime_sim.work import Work


def predicted_times(program: Program) -> Timing:
    """Return when each instruction runs."""
    work = [
        [Work(least=cycles(item, program.arch, program.profiles)) for item in queue.instructions]
        for queue in program.queues
    ]
    return time_of(program, work)


def predicted_cycles(program: Program) -> int:
    """Return when the last instruction retires."""
    return max(issue.end for queue in predicted_times(program).queues for issue in queue)

"""What is minimised, and when a schedule cannot reach it any more."""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from .....ir.compiled import entry, inner
from .arrays import (
    BYTES,
    BYTES_LEFT,
    MAKESPAN,
    MOVED,
    SUM,
    WORK_LEFT,
    XFER_LEFT,
    Goal,
    ScheduleArrays,
    TilingArrays,
)


@entry
def metric(goal: Goal, cycles: float, bytes: float) -> float:
    """Return the figure that is minimised.

    Args:
        goal: What is minimised.
        cycles: Makespan [cycle].
        bytes: Moved off chip [byte].
    """
    if goal.kind == SUM:
        return goal.fixed + cycles * goal.latency_power + bytes * goal.bytes_power
    value = 1.0
    if goal.latency_power == 1.0:
        value *= cycles
    elif goal.latency_power != 0.0:
        value *= cycles**goal.latency_power
    if goal.bytes_power == 1.0:
        value *= bytes
    elif goal.bytes_power != 0.0:
        value *= bytes**goal.bytes_power
    return value


@inner
def is_hopeless(p: TilingArrays, s: ScheduleArrays, goal: Goal) -> bool:
    """Whether no continuation of the schedule can reach the goal.

    Work that is left fills the NPUs at best evenly, and tiles that were never moved must be.

    Args:
        p: The problem.
        s: State of the schedule.
        goal: What is minimised.
    """
    compute, moving = s.scalar[WORK_LEFT], s.scalar[XFER_LEFT]
    for npu in range(s.mx.shape[0]):
        compute += s.mx[npu]
    for channel in range(s.dma.shape[0]):
        moving += s.dma[channel]
    cycles = max(float(s.scalar[MAKESPAN]), (s.scalar[MOVED] + s.scalar[XFER_LEFT]) / p.sides)
    cycles = max(cycles, max(compute / s.mx.shape[0], moving / s.dma.shape[0]))
    bytes = float(s.scalar[BYTES] + s.scalar[BYTES_LEFT])
    if cycles > goal.most_cycles or bytes > goal.most_bytes:
        return True
    return metric(goal, cycles, bytes) >= goal.limit

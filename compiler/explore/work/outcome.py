"""What comes back of a task."""

from dataclasses import dataclass, field
from enum import StrEnum


class TaskStatus(StrEnum):
    """How a task ended."""

    OK = "ok"
    INFEASIBLE = "infeasible"
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    DIED = "died"


AGAIN = frozenset({TaskStatus.FAILED, TaskStatus.TIMED_OUT, TaskStatus.DIED})
"""What ``resume`` tries again; what is infeasible remains so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """What came of a task; figures are zero where it did not end well.

    Attributes:
        status: How it ended.
        cycles: Latency [cycle].
        energy_pj: Energy [pJ].
        offchip_bytes: Bytes moved from and to off-chip memory [byte].
        spills: Tensors that a plan writes back for lack of space.
        cause: Why it did not end well.
        seconds: How long it took; does not take part in comparisons [s].
    """

    status: TaskStatus
    cycles: float = 0.0
    energy_pj: float = 0.0
    offchip_bytes: float = 0.0
    spills: int = 0
    cause: str = ""
    seconds: float = field(default=0.0, compare=False)

"""What the cycles of an operator are worth in off-chip bytes.

Transfers and computation overlap within an operator. Its cycles beyond its transfers are what
computation adds; at the off-chip bandwidth they are worth bytes. With weight 1, bytes and delay
together are the latency of the network at that bandwidth, whole tensors moved between operators;
with weight 0 bytes alone count. Off-chip energy is proportional to bytes, so that weight 0 stands
for energy as well: what happens on chip hardly depends on where tensors lie.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .....ir.arch import Architecture
from .....ir.workload import Workload
from ....analysis.unrolled_steps import LeastCycles
from ....mapping.problem import Objective
from .model import StreamedTraffic

_HARDLY = 1.1

_WORTH: Mapping[Objective, tuple[float, float]] = {
    Objective.EDP: (0.6, 1.0),
    Objective.ENERGY: (1.0, 0.01),
}
"""What parts of bytes and of cycles count where groups may take longer: six tenths of the energy of
programs, or more, are off-chip transfers. Of groups that move the same the faster one is better."""


def _at_once(workload: Workload) -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class Delay:
    """The price of cycles.

    Attributes:
        bandwidth: Off-chip bytes per cycle [byte/cycle].
        weight: From 0, bytes alone count, to 1, cycles alone count.
        computing: Tells how long the arrays compute at least [cycle].
        objective: What groups are compared by.
    """

    bandwidth: float = 0.0
    weight: float = 0.0
    computing: Callable[[Workload], float] = _at_once
    objective: Objective = Objective.LATENCY

    @property
    def may_take_longer(self) -> bool:
        """Whether groups may take longer than their members one by one, where that is worth it."""
        return self.objective in _WORTH

    def of(self, traffic: StreamedTraffic) -> int:
        """Return what the cycles beyond the transfers are worth [byte]."""
        return round(self.weight * max(0.0, traffic.cycles * self.bandwidth - traffic.total))

    def price(self, moved: float, taken: float, all_moved: float, all_taken: float) -> float:
        """Return what bytes and cycles of groups cost together, as parts of those of a plan.

        Args:
            moved: Bytes [byte].
            taken: Cycles [cycle].
            all_moved: What the plan moves [byte].
            all_taken: What it takes [cycle].
        """
        of_bytes, of_cycles = _WORTH.get(self.objective, (1.0, 1.0))
        return of_bytes * (moved / max(1.0, all_moved)) + of_cycles * (taken / max(1.0, all_taken))

    def cycles_of(self, size: int) -> float:
        """Return the cycles that bytes take at the off-chip bandwidth [cycle]."""
        return size / self.bandwidth if self.bandwidth else 0.0

    def is_hidden(self, traffic: StreamedTraffic) -> bool:
        """Whether an operator takes hardly longer than its transfers."""
        return traffic.cycles * self.bandwidth <= _HARDLY * traffic.total


NO_DELAY = Delay()
"""Bytes alone count."""


def delay_on(arch: Architecture, weight: float, objective: Objective = Objective.LATENCY) -> Delay:
    """Return the price of cycles on a machine; without a bandwidth cycles cost nothing.

    Args:
        arch: The machine.
        weight: From 0, bytes alone count, to 1, cycles alone count.
        objective: What groups are compared by.
    """
    bandwidth = arch.off_chip.read_bandwidth or 0.0
    return Delay(bandwidth, weight, LeastCycles(arch), objective)

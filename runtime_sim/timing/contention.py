"""Data phases under way, and how fast each goes while they share ports."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..result import PortStall
from .demands import Demand
from .ports import PortTable
from .sharing import FULL, Rate, Shares, fair_rates


@dataclass(frozen=True, slots=True)
class _Demand:
    """A work's data phase at full speed.

    Attributes:
        number: Equal demands have equal numbers.
        length: [cycle].
        shares: What it takes of each port.
    """

    number: int
    length: int
    shares: Shares


@dataclass(slots=True)
class _Phase:
    """A data phase under way.

    Attributes:
        demand: What it is at full speed.
        begun: When it began [cycle].
        since: When its rate last changed [cycle].
        left: What was left then, in cycles at full speed times ``FULL``.
        rate: Since then.
        finish: When it ends at this rate [cycle].
        lost: By port, cycles at full speed times ``FULL`` that it held up.
    """

    demand: _Demand
    begun: int
    since: int
    left: int
    rate: Rate
    finish: int
    lost: dict[int, int] = field(default_factory=dict[int, int])

    def change(self, rate: Rate, time: int) -> None:
        """Go on at another rate."""
        self.account(time)
        self.rate = rate
        self.finish = time + -(-self.left // rate.rate)

    def account(self, time: int) -> None:
        """Book what was done and lost up to a time."""
        passed = time - self.since
        self.left -= passed * self.rate.rate
        self.since = time
        if passed and self.rate.port >= 0:
            lost = passed * (FULL - self.rate.rate)
            self.lost[self.rate.port] = self.lost.get(self.rate.port, 0) + lost


class Contention:
    """All data phases under way; at most one per queue."""

    def __init__(self, ports: PortTable) -> None:
        self._ports = ports
        self._demands: dict[tuple[int, tuple[tuple[int, int], ...]], _Demand] = {}
        self._rates: dict[tuple[int, ...], list[Rate]] = {}
        self._active: dict[int, _Phase] = {}
        self._load = [0] * len(ports.ports)
        self._is_slowed = False
        self._has_changed = False

    @property
    def next_finish(self) -> int | None:
        """When the next data phase ends, if rates remain as they are [cycle]."""
        return min((phase.finish for phase in self._active.values()), default=None)

    def finished(self, time: int) -> Iterable[int]:
        """Return the queues whose data phase ends at a time."""
        return [queue for queue, phase in self._active.items() if phase.finish == time]

    def begin(self, queue: int, work: Demand, time: int) -> bool:
        """Begin a data phase, unless it is empty; return whether it is not.

        Args:
            queue: Number of the queue.
            work: What the instruction asks for.
            time: Now [cycle].
        """
        demand = self._demand(work)
        if not demand.length:
            return False
        finish = time + demand.length
        whole = demand.length * FULL
        self._active[queue] = _Phase(demand, time, time, whole, Rate(FULL, -1), finish)
        for port, share in demand.shares:
            self._load[port] += share
            self._has_changed = True
        return True

    def end(self, queue: int, time: int) -> tuple[PortStall, ...]:
        """End a queue's data phase, if it has one; return by what it was held up."""
        phase = self._active.pop(queue, None)
        if phase is None:
            return ()
        for port, share in phase.demand.shares:
            self._load[port] -= share
            self._has_changed = True
        late = time - phase.begun - phase.demand.length
        if not late:
            return ()
        phase.account(time)
        return self._stalls(phase.lost, late)

    def share(self, time: int) -> None:
        """Set all rates anew, after data phases have begun or ended."""
        if not self._has_changed:
            return
        self._has_changed = False
        is_over = any(load > FULL for load in self._load)
        if not is_over and not self._is_slowed:
            return
        self._is_slowed = is_over
        sharing = sorted(
            (queue, phase) for queue, phase in self._active.items() if phase.demand.shares
        )
        phases = [phase for _, phase in sharing]
        for phase, rate in zip(phases, self._fair(phases), strict=True):
            if rate != phase.rate:
                phase.change(rate, time)

    def _fair(self, phases: list[_Phase]) -> list[Rate]:
        key = tuple(phase.demand.number for phase in phases)
        rates = self._rates.get(key)
        if rates is None:
            rates = self._rates[key] = fair_rates([phase.demand.shares for phase in phases])
        return rates

    def _demand(self, work: Demand) -> _Demand:
        key = (work.least, work.demands)
        demand = self._demands.get(key)
        if demand is None:
            demand = self._demands[key] = self._new_demand(work)
        return demand

    def _new_demand(self, work: Demand) -> _Demand:
        slowest = (self._ports.cycles(port, bytes) for port, bytes in work.demands)
        length = max(work.least, *slowest, 0)
        shares: list[tuple[int, int]] = []
        for port, bytes in work.demands:
            numerator, denominator = self._ports.ratios[port]
            share = bytes * denominator * FULL // (numerator * length) if bytes else 0
            if share:
                shares.append((port, share))
        return _Demand(len(self._demands), length, tuple(shares))

    def _stalls(self, lost: dict[int, int], late: int) -> tuple[PortStall, ...]:
        """Divide the cycles that a phase was late among ports, as they were lost at them."""
        by_port = {port: amount // FULL for port, amount in sorted(lost.items())}
        worst = max(by_port, key=lambda port: lost[port])
        by_port[worst] += late - sum(by_port.values())
        return tuple(
            PortStall(self._ports.ports[port].name, cycles)
            for port, cycles in by_port.items()
            if cycles
        )

"""The cost of one loop nest on one NPU: a batch of one (:mod:`.batches.batch`), with all its parts.

The exact simulator (``tests/runtime_sim/execution.py``) executes nests by the same rules with real
buffers; its counts equal these.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from ...ir.arch import Architecture
from ...ir.mapping import LoopNest
from ...ir.workload import Operand, Workload
from .batches.batch import mac_energy, memory_energy, network_energy, offchip_bits
from .batches.counts import Counts
from .batches.latency import end_cycles, port_bits
from .batches.nest_batch import batch_nests
from .bounds import cycles_lower_bound, energy_lower_bound
from .sliding import fetched_in_tiles
from .traffic import Direction, Port, PortTraffic, bounded_ports


class Counting(StrEnum):
    """Whose rules count: ours, or those of another model for comparison.

    ``timeloop`` keeps the input rows that consecutive tiles share, and leaves fill, drain and
    links out of the latency.
    """

    ACCNN = "accnn"
    TIMELOOP = "timeloop"


@dataclass(frozen=True, kw_only=True)
class CostReport:
    """What a nest costs on one NPU.

    Attributes:
        traffic: Accesses and transfers per place, operand and direction.
        ports: Load of every bounded port.
        compute_cycles: Steps of the temporal loops [cycle].
        fill_cycles: Before the first step [cycle].
        drain_cycles: After the last step [cycle].
        energy_pj: Total [pJ].
        mac_energy_pj: Of the MACs [pJ].
        network_energy_pj: Of the links [pJ].
        offchip_bytes: Reads and writes of the outermost memory [byte].
        workload: What is computed.
        arch: The machine.
        held: Operands that lie whole in the scratchpad.
    """

    traffic: tuple[PortTraffic, ...]
    ports: tuple[Port, ...]
    compute_cycles: int
    fill_cycles: float
    drain_cycles: float
    energy_pj: float
    mac_energy_pj: float
    network_energy_pj: float
    offchip_bytes: float
    workload: Workload
    arch: Architecture
    held: frozenset[Operand]

    @cached_property
    def cycles_lower_bound(self) -> float:
        """See :func:`.bounds.cycles_lower_bound` [cycle]."""
        return cycles_lower_bound(self.workload, self.arch, self.held)

    @cached_property
    def energy_lower_bound_pj(self) -> float:
        """See :func:`.bounds.energy_lower_bound` [pJ]."""
        return energy_lower_bound(self.workload, self.arch, self.held)

    @cached_property
    def steady_cycles(self) -> float:
        """The slowest of compute and every port [cycle]."""
        return max([float(self.compute_cycles), *(port.cycles for port in self.ports)])

    @cached_property
    def cycles(self) -> float:
        """Latency: steady state, fill and drain [cycle]."""
        return self.steady_cycles + self.fill_cycles + self.drain_cycles

    @property
    def edp(self) -> float:
        """Energy-delay product [pJ * cycle]."""
        return self.energy_pj * self.cycles

    @property
    def utilization(self) -> float:
        """Useful MACs over what the array could do in the same time, 0 .. 1."""
        return self.workload.macs / (self.arch.macs * self.cycles)

    @property
    def bottleneck(self) -> str:
        """Name of the slowest port, or ``"compute"``."""
        slowest = max(self.ports, key=lambda port: port.cycles, default=None)
        if slowest is None or slowest.cycles <= self.compute_cycles:
            return "compute"
        return slowest.name

    def accesses(self, place: str, operand: Operand, direction: Direction) -> PortTraffic | None:
        """Return the traffic at one place, ``None`` where there is none.

        Args:
            place: A memory level or a fan-out.
            operand: The tensor.
            direction: Which way.
        """
        for item in self.traffic:
            if (item.place, item.operand, item.direction) == (place, operand, direction):
                return item
        return None


def evaluate(
    nest: LoopNest,
    arch: Architecture,
    *,
    placement: frozenset[Operand] = frozenset(),
    counting: Counting = Counting.ACCNN,
    has_sums: bool = False,
) -> CostReport:
    """Return the cost of a nest on one NPU.

    Args:
        nest: A valid nest (see :meth:`LoopNest.verify`; not checked here), or its part beneath the
            memories that its first allocations name.
        arch: The machine; of several NPUs, one is looked at.
        placement: Operands that lie whole in the scratchpad.
        counting: Whose rules count.
        has_sums: Whether the source of the outputs holds sums already, which are added to.
    """
    ideal = counting is Counting.TIMELOOP
    fetched = fetched_in_tiles(nest, arch, placement) if ideal else None
    counts = Counts(batch_nests([nest]), arch, placement, has_sums=has_sums, fetched=fetched)
    fill, drain = (0.0, 0.0) if ideal else end_cycles(counts)[:, 0].tolist()
    network, macs = float(network_energy(counts)[0]), float(mac_energy(counts)[0])
    return CostReport(
        traffic=_traffic(counts),
        ports=_ports(counts, links=not ideal),
        compute_cycles=int(counts.batch.steps[0]),
        fill_cycles=fill,
        drain_cycles=drain,
        energy_pj=float(memory_energy(counts)[0]) + network + macs,
        mac_energy_pj=macs,
        network_energy_pj=network,
        offchip_bytes=int(offchip_bits(counts)[0]) / 8,
        workload=nest.workload,
        arch=arch,
        held=frozenset(item for item in placement if item in arch.scratchpad_level.holds),
    )


def _traffic(counts: Counts) -> tuple[PortTraffic, ...]:
    """Return what passes each place, but for what nothing passes."""
    found = zip(
        counts.index.groups,
        counts.group_elements[:, 0].tolist(),
        counts.bits[:, 0].tolist(),
        counts.busiest_bits[:, 0].tolist(),
        strict=True,
    )
    return tuple(
        PortTraffic(
            place=place,
            operand=operand,
            direction=direction,
            elements=elements,
            bits=bits,
            busiest_bits=busiest,
        )
        for (place, operand, direction), elements, bits, busiest in found
        if elements > 0
    )


def _ports(counts: Counts, *, links: bool) -> tuple[Port, ...]:
    """Return the load of every bounded port; those of links only if wanted."""
    levels = {level.name for level in counts.arch.levels}
    found = zip(bounded_ports(counts.arch), port_bits(counts)[:, 0].tolist(), strict=True)
    return tuple(
        Port(name=f"{port.place}.{port.name}", bits=bits, bandwidth=port.bandwidth)
        for port, bits in found
        if links or port.place in levels
    )

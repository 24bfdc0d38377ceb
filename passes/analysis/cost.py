"""The cost model: accesses, latency and energy of one loop nest on one NPU.

What is counted is defined where it is counted:

- which tiles move, how often, and to how many: :mod:`.stages`;
- accesses of every memory and transfers over every fan-out, partial sums included: :mod:`.traffic`;
- cycles of compute and of every port, fill and drain: :mod:`.latency`;
- lower bounds: :mod:`.bounds`.

*Energy* is the sum over memories of (bits accessed / word width) x energy per word, over links of
bytes x energy per hop (a transfer over one fan-out is one hop for each child that it reaches), and
of executed MACs x energy per MAC. *Padding* is executed, moved and paid for like everything else.
*Operands of the placement* lie whole in the scratchpad: no off-chip traffic for them.

The exact simulator (``runtime_sim/loopnest.py``) executes nests by the same rules with real
buffers; its counts equal these.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from ...ir.arch import Architecture
from ...ir.mapping import LoopNest
from ...ir.workload import Operand
from .bounds import cycles_lower_bound, energy_lower_bound
from .latency import Port, drain_cycles, fill_cycles, ports_of
from .traffic import Direction, Traffic, count_traffic
from .view import NestView, view_nest


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
        macs: Useful multiply-accumulates (padding left out).
        array_macs: Multiply-accumulates that the NPU can do per cycle.
        cycles_lower_bound: See :func:`.bounds.cycles_lower_bound` [cycle].
        energy_lower_bound_pj: See :func:`.bounds.energy_lower_bound` [pJ].
    """

    traffic: tuple[Traffic, ...]
    ports: tuple[Port, ...]
    compute_cycles: int
    fill_cycles: float
    drain_cycles: float
    energy_pj: float
    mac_energy_pj: float
    network_energy_pj: float
    offchip_bytes: float
    macs: int
    array_macs: int
    cycles_lower_bound: float
    energy_lower_bound_pj: float

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
        return self.macs / (self.array_macs * self.cycles)

    @property
    def bottleneck(self) -> str:
        """Name of the slowest port, or ``"compute"``."""
        slowest = max(self.ports, key=lambda port: port.cycles, default=None)
        if slowest is None or slowest.cycles <= self.compute_cycles:
            return "compute"
        return slowest.name

    def accesses(self, place: str, operand: Operand, direction: Direction) -> Traffic | None:
        """Return the traffic at one place, ``None`` where there is none."""
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
) -> CostReport:
    """Return the cost of a nest on one NPU.

    Args:
        nest: A valid nest (see :meth:`LoopNest.verify`; not checked here).
        arch: The machine; of several NPUs, one is looked at.
        placement: Operands that lie whole in the scratchpad.
        counting: Whose rules count.
    """
    return evaluate_view(view_nest(nest, arch, placement), arch, placement, counting)


def evaluate_view(
    view: NestView,
    arch: Architecture,
    placement: frozenset[Operand] = frozenset(),
    counting: Counting = Counting.ACCNN,
) -> CostReport:
    """Return the cost of a nest that has been resolved to chains."""
    ideal = counting is Counting.TIMELOOP
    traffic = count_traffic(view, arch, slide=ideal)
    ports = ports_of(arch, traffic)
    if ideal:
        names = {level.name for level in arch.levels}
        ports = tuple(port for port in ports if port.name.rsplit(".", 1)[0] in names)
    mac_energy = view.macs * arch.mac_energy
    network = _network_energy(arch, traffic)
    held = frozenset(item for item in placement if item in arch.scratchpad_level.holds)
    return CostReport(
        traffic=traffic,
        ports=ports,
        compute_cycles=view.steps,
        fill_cycles=0.0 if ideal else fill_cycles(view, arch),
        drain_cycles=0.0 if ideal else drain_cycles(view, arch),
        energy_pj=_memory_energy(arch, traffic) + network + mac_energy,
        mac_energy_pj=mac_energy,
        network_energy_pj=network,
        offchip_bytes=sum(item.bits for item in traffic if item.place == arch.off_chip.name) / 8,
        macs=view.workload.macs,
        array_macs=arch.macs,
        cycles_lower_bound=cycles_lower_bound(view.workload, arch, held),
        energy_lower_bound_pj=energy_lower_bound(view.workload, arch, held),
    )


def _memory_energy(arch: Architecture, traffic: Iterable[Traffic]) -> float:
    """Return the energy of all memory accesses, added level by level, W I O, reads first [pJ]."""
    bits = {(item.place, item.operand, item.direction): item.bits for item in traffic}
    total = 0.0
    for level in arch.levels:
        for operand in Operand:
            read = bits.get((level.name, operand, Direction.READ), 0)
            write = bits.get((level.name, operand, Direction.WRITE), 0)
            total += read / level.word_bits * level.read_energy
            total += write / level.word_bits * level.write_energy
    return total


def _network_energy(arch: Architecture, traffic: Iterable[Traffic]) -> float:
    bits = dict.fromkeys((fanout.name for fanout in arch.fanouts), 0)
    for item in traffic:
        if item.direction in (Direction.DOWN, Direction.UP):
            bits[item.place] += item.bits
    return sum(bits[fanout.name] / 8 * fanout.hop_energy for fanout in arch.fanouts)

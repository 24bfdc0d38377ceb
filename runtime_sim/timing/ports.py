"""The ports of a machine: what moves bytes, and how many in a cycle.

Ports are the only resource that instructions of different queues share in time. Off-chip memory
has one for reads and one for writes, or one for both; so has the scratchpad, once per NPU or in
banks (``MemoryLevel.ports``). The memories of an NPU's array and the links of its fan-outs have
ports of their own, loaded as the busiest instance is. What is unbounded is no port.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...ir.arch import Architecture, MemoryLevel
from ..accesses import Way


@dataclass(frozen=True, slots=True)
class PortSpec:
    """One port.

    Attributes:
        name: Name in reports, e.g. ``dram.port``, ``gb.read`` or ``npu1.gb.write``.
        bandwidth: [byte/cycle].
    """

    name: str
    bandwidth: float


@dataclass(frozen=True)
class PortTable:
    """All ports of a machine; a port's number is its position."""

    ports: tuple[PortSpec, ...]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {port.name: number for number, port in enumerate(self.ports)}

    @cached_property
    def ratios(self) -> tuple[tuple[int, int], ...]:
        """Bandwidth of each port as an exact ratio of integers [byte/cycle]."""
        return tuple(float(port.bandwidth).as_integer_ratio() for port in self.ports)

    def number(self, name: str) -> int | None:
        """Return a port's number, ``None`` if there is no such port: it is unbounded."""
        return self._numbers.get(name)

    def inside(self, arch: Architecture, npu: int, place: str, way: str) -> int | None:
        """Return the port of a memory or link of an NPU's array, ``None`` if it is unbounded.

        Args:
            arch: The machine.
            npu: Number of the NPU.
            place: Memory level or fan-out.
            way: ``read`` or ``write``, of a fan-out ``down`` or ``up``.
        """
        owner = array_owners(arch)[npu]
        if place in arch.level_names and arch.level(place).shared_port:
            way = "port"
        return self.number(f"{owner}{place}.{way}")

    def cycles(self, port: int, bytes: int) -> int:
        """Return what a port takes for some bytes, rounded up [cycle]."""
        numerator, denominator = self.ratios[port]
        return -(-bytes * denominator // numerator)


def side(level: MemoryLevel, way: Way) -> str:
    """Return the name of a memory's port in one direction."""
    return f"{level.name}.{'port' if level.shared_port else way}"


def scratchpad_owners(arch: Architecture) -> tuple[str, ...]:
    """Return what stands before the names of the scratchpad's ports, one entry per copy.

    One empty entry if all NPUs share them, else the NPUs' names.
    """
    if arch.scratchpad_level.ports is not None or len(arch.npus) == 1:
        return ("",)
    return tuple(f"{npu.name}." for npu in arch.npus)


def array_owners(arch: Architecture) -> tuple[str, ...]:
    """Return what stands before the names of each NPU's links and memories."""
    return ("",) if len(arch.npus) == 1 else tuple(f"{npu.name}." for npu in arch.npus)


def ports_of(arch: Architecture) -> PortTable:
    """Return the ports of a machine."""
    pad = arch.scratchpad_level
    specs = [
        *_sides(arch.off_chip, ("",), 1),
        *_sides(pad, scratchpad_owners(arch), pad.ports or 1),
    ]
    for owner in array_owners(arch):
        for level in arch.levels[arch.index(arch.scratchpad) + 1 :]:
            specs += _sides(level, (owner,), 1)
        for fanout in arch.fanouts:
            if fanout.link_bandwidth is not None:
                specs += [
                    PortSpec(f"{owner}{fanout.name}.{way}", fanout.link_bandwidth)
                    for way in ("down", "up")
                ]
    return PortTable(tuple(specs))


def _sides(level: MemoryLevel, owners: Sequence[str], banks: int) -> Iterator[PortSpec]:
    """Yield the ports of a memory; interleaved banks are one port of their joint bandwidth."""
    ways = (Way.READ,) if level.shared_port else tuple(Way)
    for owner in owners:
        for way in ways:
            bandwidth = level.read_bandwidth if way is Way.READ else level.write_bandwidth
            if bandwidth is not None:
                yield PortSpec(owner + side(level, way), bandwidth * banks)

"""What the cost model tells of a nest: accesses of memories, transfers over fan-outs, ports.

Args:
    arch: The machine.
    place: A memory level or a fan-out.
    direction: Which way.
"""

from dataclasses import dataclass
from enum import StrEnum

from ...ir.arch import Architecture, MemoryLevel
from ...ir.workload import Operand


class Direction(StrEnum):
    """Reads or writes of a memory; for a link, down (towards the MACs) or up."""

    READ = "read"
    WRITE = "write"
    DOWN = "down"
    UP = "up"


@dataclass(frozen=True, slots=True, kw_only=True)
class PortTraffic:
    """Elements of one operand through one port.

    Attributes:
        place: A memory level (reads, writes) or a fan-out (down, up: the links of its children).
        operand: The tensor.
        direction: Which way.
        elements: Over all instances of one NPU [element].
        bits: Over all instances [bit].
        busiest_bits: Through the busiest instance, or link [bit].
    """

    place: str
    operand: Operand
    direction: Direction
    elements: int
    bits: int
    busiest_bits: int

    @property
    def bytes(self) -> float:
        """Over all instances [byte]."""
        return self.bits / 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """The load of one port of bounded bandwidth.

    Attributes:
        name: ``"gb.read"``, ``"dram.port"`` (shared by both directions), ``"pe.down"``.
        bits: Through the busiest instance [bit].
        bandwidth: [byte/cycle].
    """

    name: str
    bits: int
    bandwidth: float

    @property
    def cycles(self) -> float:
        """Time that the port is busy [cycle]."""
        return self.bits / (8 * self.bandwidth)


@dataclass(frozen=True, slots=True)
class Bounded:
    """A port of bounded bandwidth.

    Attributes:
        place: A memory level or a fan-out.
        name: Of the port at that place: ``"read"``, ``"write"``, ``"port"``, ``"down"``, ``"up"``.
        directions: What passes it.
        bandwidth: [byte/cycle].
    """

    place: str
    name: str
    directions: tuple[Direction, ...]
    bandwidth: float


_SIDES = (Direction.READ, Direction.WRITE)
_WAYS = (Direction.DOWN, Direction.UP)


def bounded_ports(arch: Architecture) -> tuple[Bounded, ...]:
    """Return the bounded ports: of memories, then links, each from the outermost inwards."""
    found: list[Bounded] = []
    for level in arch.levels:
        if level.shared_port:
            if level.read_bandwidth is not None:
                found.append(Bounded(level.name, "port", _SIDES, level.read_bandwidth))
            continue
        for side in _SIDES:
            own = level_bandwidth(level, side)
            if own is not None:
                found.append(Bounded(level.name, side, (side,), own))
    for fanout in arch.fanouts:
        if fanout.link_bandwidth is not None:
            found += [Bounded(fanout.name, way, (way,), fanout.link_bandwidth) for way in _WAYS]
    return tuple(found)


def bandwidth_of(arch: Architecture, place: str, direction: Direction) -> float | None:
    """Return how fast one transfer passes a port, ``None`` where it takes no time [byte/cycle]."""
    if direction in _WAYS:
        return arch.fanout(place).link_bandwidth
    return level_bandwidth(arch.level(place), direction)


def level_bandwidth(level: MemoryLevel, direction: Direction) -> float | None:
    """Return the bandwidth of reads or writes of a memory [byte/cycle]."""
    if direction is Direction.READ or level.shared_port:
        return level.read_bandwidth
    return level.write_bandwidth


def energy_of(arch: Architecture, place: str, direction: Direction) -> tuple[int, float]:
    """Return how many bits one access or hop moves, and its energy [bit], [pJ]."""
    match direction:
        case Direction.READ:
            level = arch.level(place)
            return level.word_bits, level.read_energy
        case Direction.WRITE:
            level = arch.level(place)
            return level.word_bits, level.write_energy
        case Direction.DOWN | Direction.UP:
            return 8, arch.fanout(place).hop_energy

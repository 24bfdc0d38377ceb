"""Latency of a nest: the slowest of compute and every port, plus fill and drain.

- *Compute*: one cycle per step of the temporal loops.
- *Port*: the bits that the busiest instance of a memory reads (or writes, or both, where they
  share one port) over its bandwidth; the bits that cross the busiest link of a fan-out in one
  direction over the link's bandwidth. All ports work at the same time as the array, for tiles are
  double buffered; so the steady state takes as long as the slowest of them.
- *Fill*: before the first step, the first tiles of weights and inputs travel inwards, one memory
  after the other: at each parent, as long as the slowest of its read port, the links below it and
  the children's write ports takes for one tile of every child. The way to the MACs is part of the
  first step.
- *Drain*: after the last step, the last output tiles travel outwards in the same manner.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...ir.arch import Architecture, MemoryLevel
from ...ir.workload import Operand
from .stages import Stage, copies_of, reduction_of, relevant_of, stages_of
from .traffic import Direction, Traffic, output_psum_bits
from .view import NestView


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


def ports_of(arch: Architecture, traffic: Iterable[Traffic]) -> tuple[Port, ...]:
    """Return the load of every bounded port, memories first, each from the outermost inwards."""
    bits: dict[tuple[str, Direction], int] = {}
    for item in traffic:
        key = (item.place, item.direction)
        bits[key] = bits.get(key, 0) + item.busiest_bits
    ports: list[Port] = []
    for level in arch.levels:
        read = bits.get((level.name, Direction.READ), 0)
        write = bits.get((level.name, Direction.WRITE), 0)
        ports += _level_ports(level, read, write)
    for fanout in arch.fanouts:
        if fanout.link_bandwidth is not None:
            for direction in (Direction.DOWN, Direction.UP):
                name = f"{fanout.name}.{direction}"
                load = bits.get((fanout.name, direction), 0)
                ports.append(Port(name=name, bits=load, bandwidth=fanout.link_bandwidth))
    return tuple(ports)


def _level_ports(level: MemoryLevel, read: int, write: int) -> list[Port]:
    if level.shared_port:
        if level.read_bandwidth is None:
            return []
        return [Port(name=f"{level.name}.port", bits=read + write, bandwidth=level.read_bandwidth)]
    sides = (("read", read, level.read_bandwidth), ("write", write, level.write_bandwidth))
    return [
        Port(name=f"{level.name}.{side}", bits=bits, bandwidth=bandwidth)
        for side, bits, bandwidth in sides
        if bandwidth is not None
    ]


def fill_cycles(view: NestView, arch: Architecture) -> float:
    """Return the time until the first tiles have reached the innermost memories [cycle]."""
    stages = [
        stage
        for operand in (Operand.W, Operand.I)
        for stage in stages_of(view, arch, operand)
        if stage.child is not None
    ]
    total = 0.0
    for level in arch.levels:
        group = [stage for stage in stages if stage.parent == level.name]
        total += _first_tiles_time(view, arch, group)
    return total


def _first_tiles_time(view: NestView, arch: Architecture, stages: Sequence[Stage]) -> float:
    read = 0
    slowest = 0.0
    links: dict[str, int] = {}
    for stage in stages:
        tile = stage.elements * view.workload.bits(stage.operand)
        read += tile * stage.copies
        assert stage.child is not None
        slowest = max(slowest, _time(tile, _write_bandwidth(arch.level(stage.child))))
        for position, hop in enumerate(stage.hops):
            crossing = tile * copies_of(stage.hops[position + 1 :])
            links[hop.fanout.name] = links.get(hop.fanout.name, 0) + crossing
    for name, bits in links.items():
        slowest = max(slowest, _time(bits, arch.fanout(name).link_bandwidth))
    if stages:
        slowest = max(slowest, _time(read, arch.level(stages[0].parent).read_bandwidth))
    return slowest


def drain_cycles(view: NestView, arch: Architecture) -> float:
    """Return the time from the last step until the last outputs have arrived [cycle]."""
    psum, finished = output_psum_bits(view, arch), view.workload.output_bits
    stages = stages_of(view, arch, Operand.O)[:-1]
    total = 0.0
    for stage in reversed(stages):
        assert stage.child is not None
        innermost = stage is stages[-1]
        outer = (*stage.above, *stage.hops)
        width = finished if reduction_of(outer) == 1 and not innermost else psum
        child = arch.level(stage.child)
        slowest = _time(stage.elements * width, child.read_bandwidth)
        for position, hop in enumerate(stage.hops):
            outer = (*stage.above, *stage.hops[: position + 1])
            width = finished if reduction_of(outer) == 1 else psum
            bits = stage.elements * width * relevant_of(stage.hops[position + 1 :])
            slowest = max(slowest, _time(bits, hop.fanout.link_bandwidth))
        width = finished if reduction_of(stage.above) == 1 else psum
        bits = stage.elements * width * relevant_of(stage.hops)
        total += max(slowest, _time(bits, _write_bandwidth(arch.level(stage.parent))))
    return total


def _write_bandwidth(level: MemoryLevel) -> float | None:
    return level.read_bandwidth if level.shared_port else level.write_bandwidth


def _time(bits: int, bandwidth: float | None) -> float:
    return 0.0 if bandwidth is None else bits / (8 * bandwidth)

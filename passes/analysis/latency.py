"""Latency of a nest: the slowest of compute and every port, plus fill and drain.

- *Compute*: one cycle per step of the temporal loops.
- *Port*: the bits that the busiest instance of a memory reads (or writes, or both, where they
  share one port) over its bandwidth; the bits that cross the busiest link of a fan-out in one
  direction over the link's bandwidth. All ports work at the same time as the array, for tiles are
  double buffered; so the steady state takes as long as the slowest of them.
- *Fill*: before the first step, the first tiles of inputs and weights travel inwards, memory by
  memory. A memory sends a tile on when it has it whole; one that feeds both operands sends the
  inputs first, for they usually have the longer way. Sending takes as long as the slowest of the
  parent's read port, the links below it and the child's write port. The way to the MACs is part of
  the first step.
- *Drain*: after the last step, the last output tiles travel outwards in the same manner.
"""

from collections.abc import Iterable
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


FILL_ORDER = (Operand.I, Operand.W)
"""Which operand's first tile a memory sends first; sums that are added to come last."""


def fill_cycles(view: NestView, arch: Architecture) -> float:
    """Return the time until the first tiles have reached the innermost memories [cycle]."""
    order = (*FILL_ORDER, Operand.O) if view.has_sums else FILL_ORDER
    stages = {operand: stages_of(view, arch, operand)[:-1] for operand in order}
    ready = dict.fromkeys(order, 0.0)
    for level in arch.levels:
        sent = 0.0
        for operand in order:
            for stage in stages[operand]:
                if stage.parent == level.name:
                    sent = max(sent, ready[operand]) + _first_tile_time(view, arch, stage)
                    ready[operand] = sent
    return max(ready.values())


def _first_tile_time(view: NestView, arch: Architecture, stage: Stage) -> float:
    assert stage.child is not None
    # Old sums go to the first of the children that add up; the others start from zero.
    is_sum = stage.operand is Operand.O
    copies = relevant_of if is_sum else copies_of
    width = output_psum_bits(view, arch) if is_sum else view.workload.bits(stage.operand)
    tile = stage.elements * width
    slowest = _time(tile, _write_bandwidth(arch.level(stage.child)))
    for position, hop in enumerate(stage.hops):
        crossing = tile * copies(stage.hops[position + 1 :])
        slowest = max(slowest, _time(crossing, hop.fanout.link_bandwidth))
    sent = tile * copies(stage.hops)
    return max(slowest, _time(sent, arch.level(stage.parent).read_bandwidth))


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

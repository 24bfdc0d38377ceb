"""The accelerator: memory levels, spatial fan-outs, NPUs, vector unit and DMA."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Annotated, TypeAlias

from annotated_types import Interval, MinLen

from .errors import ArchitectureError
from .workload import Dim, Operand

Count: TypeAlias = Annotated[int, Interval(ge=1, le=2**40)]
Few: TypeAlias = Annotated[int, Interval(ge=1, le=4096)]
Cycles: TypeAlias = Annotated[int, Interval(ge=0, le=2**40)]
Rate: TypeAlias = Annotated[float, Interval(ge=1e-6, le=1e15)]
Energy: TypeAlias = Annotated[float, Interval(ge=0, le=1e15)]

STRICT = {"extra": "forbid", "strict": True, "allow_inf_nan": False}
"""How values are read from files: no unknown keys, no silent conversions, finite numbers."""


class Precision(StrEnum):
    """What the MAC array computes with."""

    INT8 = "int8"
    FP32 = "fp32"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLevel:
    """One memory of the hierarchy; figures are per instance.

    Attributes:
        name: Its name, unique in the architecture.
        holds: Operands that it may keep.
        capacity: Size [byte]; ``None`` is unbounded (off chip).
        double_buffered: Whether tiles alternate between two halves, so that half is usable.
        read_bandwidth: [byte/cycle]; ``None`` is unbounded. Of the scratchpad: of each of its
            ``ports``.
        write_bandwidth: [byte/cycle]; ``None`` is unbounded.
        shared_port: Whether reads and writes share one port of ``read_bandwidth``.
        ports: Of the scratchpad: number of banks with interleaved addresses, over which every
            engine spreads evenly; ``None`` gives each NPU ports of its own, over all of which
            the DMA engines spread.
        word_bits: Width of one access [bit].
        read_energy: Energy of reading one word [pJ].
        write_energy: Energy of writing one word [pJ].
    """

    __pydantic_config__ = STRICT

    name: str
    holds: Annotated[tuple[Operand, ...], MinLen(1)]
    capacity: Count | None
    double_buffered: bool = False
    read_bandwidth: Rate | None = None
    write_bandwidth: Rate | None = None
    shared_port: bool = False
    ports: Count | None = None
    word_bits: Count = 8
    read_energy: Energy = 0.0
    write_energy: Energy = 0.0

    @property
    def usable(self) -> int | None:
        """Bytes that the tiles of one phase may take; ``None`` is unbounded."""
        if self.capacity is None:
            return None
        return self.capacity // 2 if self.double_buffered else self.capacity


@dataclass(frozen=True, slots=True, kw_only=True)
class Fanout:
    """A spatial dimension: one parent instance feeds ``size`` instances of what lies below.

    Attributes:
        name: Its name, unique in the architecture.
        below: Name of the memory level that it stands beneath. Several fan-outs may stand
            beneath one level (the axes of an array).
        size: Number of children.
        dims: Dimensions that may be unrolled over it.
        multicast: Operands that one transfer delivers to several children.
        reduction: Whether partial sums of different children are added on their way up.
        link_bandwidth: Of the link into, and of the link out of, each child [byte/cycle];
            ``None`` is unbounded.
        hop_energy: Energy of one byte over one hop of the network [pJ/byte].
    """

    __pydantic_config__ = STRICT

    name: str
    below: str
    size: Count
    dims: tuple[Dim, ...] = tuple(Dim)
    multicast: tuple[Operand, ...] = (Operand.W, Operand.I)
    reduction: bool = True
    link_bandwidth: Rate | None = None
    hop_energy: Energy = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FanoutGroup:
    """A limit on the product of several fan-outs (a GPU's threads in a block).

    Attributes:
        fanouts: Their names.
        limit: On the product of their unrolling.
    """

    __pydantic_config__ = STRICT

    fanouts: Annotated[tuple[str, ...], MinLen(1)]
    limit: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Npu:
    """One NPU: the fan-outs and memories beneath the scratchpad.

    Attributes:
        name: Its name.
        sizes: Fan-outs whose size differs from the architecture's, as (fan-out, size) pairs.
    """

    __pydantic_config__ = STRICT

    name: str
    sizes: tuple[tuple[str, Count], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorUnit:
    """The element-wise engine of one NPU.

    Attributes:
        lanes: Elements per cycle of a simple operation.
        startup: Cycles before the first element.
        energy: Of one element operation [pJ].
        parameter_bytes: Memory for bias, multipliers and tables, of which each unit has a copy;
            what is written reaches all of them [byte].
    """

    __pydantic_config__ = STRICT

    lanes: Count = 16
    startup: Cycles = 8
    energy: Energy = 0.1
    parameter_bytes: Count = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class Dma:
    """The engines between off-chip memory and the chip.

    Attributes:
        channels: Number of engines; those that work share the off-chip bandwidth.
        startup: Cycles of one transfer before its first byte.
    """

    __pydantic_config__ = STRICT

    channels: Count = 1
    startup: Cycles = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Dram:
    """Timing of the off-chip memory, all channels in lockstep, for ``--timing network``.

    Attributes:
        burst_bytes: Bytes of one burst, of all channels [byte].
        burst_ns: Time of a burst on the data bus [ns].
        banks: Number of banks.
        row_bytes: Bytes of a row, of all channels [byte].
        column_ns: From a read or write command to its data (CL) [ns].
        activate_ns: Opening a row (tRCD) [ns].
        precharge_ns: Closing a row (tRP) [ns].
        recovery_ns: From written data to closing the row (tWR) [ns].
        turnaround_ns: Between bursts of opposite directions (tWTR) [ns].
        refresh_ns: Of one refresh of all banks (tRFC) [ns].
        interval_ns: From refresh to refresh (tREFI) [ns].
        window: Accesses among which one to an open row goes first.
        ahead: Packets that one transfer asks for at once.
        activate_pj: Energy of opening a row and closing it again, of all devices [pJ].
        read_pj: Energy of reading one burst, of all devices [pJ].
        write_pj: Energy of writing one burst, of all devices [pJ].
    """

    __pydantic_config__ = STRICT

    burst_bytes: Count
    burst_ns: Rate
    banks: Few
    row_bytes: Count
    column_ns: Rate
    activate_ns: Rate
    precharge_ns: Rate
    recovery_ns: Rate
    turnaround_ns: Rate
    refresh_ns: Rate
    interval_ns: Rate
    window: Few = 8
    ahead: Few = 8
    activate_pj: Energy = 0.0
    read_pj: Energy = 0.0
    write_pj: Energy = 0.0

    @property
    def is_priced(self) -> bool:
        """Whether commands have energies; else accesses cost what the memory's level says."""
        return any((self.activate_pj, self.read_pj, self.write_pj))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshNetwork:
    """The mesh of routers between the scratchpad, off-chip memory and the children of a fan-out.

    Attributes:
        fanout: Name of the fan-out whose children the mesh connects, the outermost one. They
            stand at the routers row by row.
        columns: Routers of a row.
        rows: Rows of routers.
        flit_bits: What a link carries per cycle [bit].
        router_cycles: From a flit's arrival in a router until it can leave [cycle].
        buffers: Buffers behind each link; a packet has one of its own.
        buffer_flits: Flits that one buffer holds; more than ``router_cycles``.
        packet_flits: Flits of a packet at most; of one to several destinations, ``buffer_flits``
            at most.
        scratchpad_ports: Routers, each as column and row, that a port of the scratchpad is at.
        off_chip_ports: Routers that a port of the off-chip memory is at.
    """

    __pydantic_config__ = STRICT

    fanout: str
    columns: Few
    rows: Few
    flit_bits: Few = 64
    router_cycles: Few = 1
    buffers: Few = 2
    buffer_flits: Few = 8
    packet_flits: Few = 16
    scratchpad_ports: Annotated[tuple[tuple[int, int], ...], MinLen(1)]
    off_chip_ports: Annotated[tuple[tuple[int, int], ...], MinLen(1)]


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """An accelerator.

    Attributes:
        name: Its name.
        levels: Memories, outermost first; the first is off chip.
        scratchpad: Name of the innermost level that all NPUs share.
        fanouts: Spatial dimensions, outermost first.
        groups: Joint limits on fan-outs.
        npus: The NPUs; each has its own copy of every level and fan-out beneath the scratchpad.
        precision: What the MAC array computes with.
        accumulator_bits: Width of a partial sum.
        mac_energy: Of one multiply-accumulate [pJ].
        clock_hz: Cycles per second.
        vector: The vector unit of each NPU.
        dma: The DMA engines.
        network: The mesh on the chip, for ``--timing network``; ``None`` where there is none.
        dram: Timing of the off-chip memory, for the same; ``None`` counts its bandwidth alone.
    """

    __pydantic_config__ = STRICT

    name: str
    levels: Annotated[tuple[MemoryLevel, ...], MinLen(2)]
    scratchpad: str
    fanouts: tuple[Fanout, ...] = ()
    groups: tuple[FanoutGroup, ...] = ()
    npus: Annotated[tuple[Npu, ...], MinLen(1)] = (Npu(name="npu0"),)
    precision: Precision = Precision.INT8
    accumulator_bits: Annotated[int, Interval(ge=8, le=64)] = 32
    mac_energy: Energy = 0.0
    clock_hz: Rate = 1e9
    vector: VectorUnit = VectorUnit()
    dma: Dma = Dma()
    network: MeshNetwork | None = None
    dram: Dram | None = None

    @cached_property
    def level_names(self) -> tuple[str, ...]:
        """Names of the levels, outermost first."""
        return tuple(level.name for level in self.levels)

    def index(self, level: str) -> int:
        """Return the position of a level, 0 is outermost.

        Raises:
            ArchitectureError: There is no such level.
        """
        position = self._positions.get(level)
        if position is None:
            raise ArchitectureError(
                f"{self.name} has no memory level {level!r}",
                hint=f"levels: {', '.join(self.level_names)}",
            )
        return position

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return {name: position for position, name in enumerate(self.level_names)}

    def level(self, name: str) -> MemoryLevel:
        """Return a level by name."""
        return self.levels[self.index(name)]

    def fanout(self, name: str) -> Fanout:
        """Return a fan-out by name.

        Raises:
            ArchitectureError: There is no such fan-out.
        """
        for fanout in self.fanouts:
            if fanout.name == name:
                return fanout
        known = ", ".join(fanout.name for fanout in self.fanouts)
        raise ArchitectureError(f"{self.name} has no fan-out {name!r}", hint=f"fan-outs: {known}")

    @property
    def accumulator_bytes(self) -> int:
        """Bytes that a partial sum takes."""
        return math.ceil(self.accumulator_bits / 8)

    @cached_property
    def scratchpad_level(self) -> MemoryLevel:
        """The innermost memory that all NPUs share."""
        return self.level(self.scratchpad)

    @cached_property
    def off_chip(self) -> MemoryLevel:
        """The outermost memory."""
        return self.levels[0]

    def home(self, operand: Operand) -> MemoryLevel:
        """Return the outermost on-chip level that may keep an operand.

        Raises:
            ArchitectureError: No level on chip keeps it.
        """
        for level in self.levels[1:]:
            if operand in level.holds:
                return level
        raise ArchitectureError(f"{self.name} has no on-chip level for {operand}")

    def fanouts_above(self, level: str) -> tuple[Fanout, ...]:
        """Return the fan-outs between the outermost memory and a level."""
        return self._fanouts_around[self.index(level)][0]

    def fanouts_beneath(self, level: str) -> tuple[Fanout, ...]:
        """Return the fan-outs between a level and the MACs."""
        return self._fanouts_around[self.index(level)][1]

    @cached_property
    def _fanouts_around(self) -> tuple[tuple[tuple[Fanout, ...], tuple[Fanout, ...]], ...]:
        """The fan-outs above each level, and those beneath it."""
        below = [(fanout, self.index(fanout.below)) for fanout in self.fanouts]
        return tuple(
            (
                tuple(fanout for fanout, place in below if place < position),
                tuple(fanout for fanout, place in below if place >= position),
            )
            for position in range(len(self.levels))
        )

    def instances(self, level: str) -> int:
        """Return how many instances of a level one NPU has, joint limits included."""
        return self._width(self.fanouts_above(level))

    def whole_capacity(self, level: str) -> int:
        """Return the bytes of all instances of a level, of one NPU where it is private [byte]."""
        return (self.level(level).capacity or 0) * self.instances(level)

    @cached_property
    def macs(self) -> int:
        """MACs per cycle of one (regular) NPU, joint limits (of disjoint groups) included."""
        return self._width(self.fanouts)

    def _width(self, fanouts: Sequence[Fanout]) -> int:
        """Return how many children fan-outs have at most."""
        sizes = {fanout.name: fanout.size for fanout in fanouts}
        total = math.prod(sizes.values())
        for group in self.groups:
            members = math.prod(sizes.get(name, 1) for name in group.fanouts)
            total = total // members * min(members, group.limit)
        return total

    @cached_property
    def all_macs(self) -> int:
        """MACs per cycle of all NPUs together, each with its own sizes."""
        return sum(map(self.npu_macs, self.npus))

    def npu_macs(self, npu: Npu) -> int:
        """Return the MACs per cycle of an NPU with its own sizes."""
        return self.for_npu(npu).macs

    def for_npu(self, npu: Npu) -> "Architecture":
        """Return the machine that one NPU sees: itself alone, with its own fan-out sizes."""
        sizes = dict(npu.sizes)
        fanouts = tuple(
            replace(fanout, size=sizes.get(fanout.name, fanout.size)) for fanout in self.fanouts
        )
        return replace(self, fanouts=fanouts, npus=(Npu(name=npu.name),))

    @cached_property
    def for_every_npu(self) -> "Architecture":
        """The machine that each NPU has at least: one NPU with the smallest size of each fan-out.

        What fits it runs on all NPUs.
        """
        machines = [self.for_npu(npu) for npu in self.npus]
        fanouts = tuple(
            replace(fanout, size=min(machine.fanout(fanout.name).size for machine in machines))
            for fanout in self.fanouts
        )
        return replace(machines[0], fanouts=fanouts)

    def verify(self) -> None:
        """Check names, order, capacities and sizes.

        Raises:
            ArchitectureError: Names the level, fan-out or NPU that is wrong.
        """
        self._verify_levels()
        self._verify_fanouts()
        if self.network is not None:
            self._verify_network(self.network)
        if not self.npus:
            raise ArchitectureError(f"{self.name} has no NPU")
        for npu in self.npus:
            for fanout, size in npu.sizes:
                self.fanout(fanout)
                _at_least_one(self.name, f"{npu.name}.{fanout}", size)
        if len({npu.name for npu in self.npus}) != len(self.npus):
            raise ArchitectureError(f"{self.name} has two NPUs of one name")

    def _verify_levels(self) -> None:
        if len(self.levels) < 2:
            raise ArchitectureError(f"{self.name} needs an off-chip and an on-chip memory")
        if len(set(self.level_names)) != len(self.levels):
            raise ArchitectureError(f"{self.name} has two memory levels of one name")
        if self.index(self.scratchpad) == 0:
            raise ArchitectureError(f"{self.name}: the scratchpad cannot be off chip")
        if set(self.off_chip.holds) != set(Operand):
            raise ArchitectureError(f"{self.name}: {self.off_chip.name} must hold W, I and O")
        missing = {Operand.I, Operand.O} - set(self.scratchpad_level.holds)
        if missing:
            raise ArchitectureError(f"{self.name}: the scratchpad must hold I and O")
        self._verify_ports()
        for level in self.levels[1:]:
            if level.capacity is None or (level.usable or 0) < 1:
                raise ArchitectureError(f"{self.name}: {level.name} cannot hold one byte")
            self.home(Operand.W)

    def _verify_ports(self) -> None:
        for level in self.levels:
            if level.ports is None:
                continue
            if level.name != self.scratchpad:
                what = f"{level.name} is not the scratchpad and has no ports to set"
                raise ArchitectureError(f"{self.name}: {what}")
            _at_least_one(self.name, f"{level.name}.ports", level.ports)

    def _verify_fanouts(self) -> None:
        names = [fanout.name for fanout in self.fanouts]
        if len(set(names)) != len(names):
            raise ArchitectureError(f"{self.name} has two fan-outs of one name")
        positions = [self.index(fanout.below) for fanout in self.fanouts]
        if positions != sorted(positions):
            raise ArchitectureError(f"{self.name}: list fan-outs from the outermost inwards")
        for fanout in self.fanouts:
            _at_least_one(self.name, fanout.name, fanout.size)
            if self.index(fanout.below) < self.index(self.scratchpad):
                raise ArchitectureError(f"{self.name}: {fanout.name} stands above the scratchpad")
        for group in self.groups:
            for name in group.fanouts:
                self.fanout(name)

    def _verify_network(self, network: MeshNetwork) -> None:
        fanout = self.fanout(network.fanout)
        if fanout is not self.fanouts[0] or fanout.below != self.scratchpad:
            what = f"{fanout.name} is not the outermost fan-out, beneath {self.scratchpad}"
            raise ArchitectureError(f"{self.name}: network: {what}")
        if self.index(self.scratchpad) != 1:
            what = f"{self.scratchpad} must be the level next to {self.off_chip.name}"
            raise ArchitectureError(f"{self.name}: network: {what}")
        for column, row in (*network.scratchpad_ports, *network.off_chip_ports):
            if not (0 <= column < network.columns and 0 <= row < network.rows):
                what = f"a port at [{column}, {row}], where no router is"
                raise ArchitectureError(f"{self.name}: network has {what}")
        if network.buffer_flits <= network.router_cycles:
            what = f"must be more than the {network.router_cycles} cycles of a router"
            raise ArchitectureError(
                f"{self.name}: network.buffer_flits = {network.buffer_flits} {what}",
                hint="else a link could not carry a flit in every cycle",
            )


def _at_least_one(arch: str, name: str, size: int) -> None:
    if size < 1:
        raise ArchitectureError(f"{arch}: {name} has size {size}, must be at least 1")

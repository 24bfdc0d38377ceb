"""What each instruction asks for where its traffic crosses the mesh.

Every link of the mesh is a port of one flit per cycle, so that instructions of different queues
share it fairly. Within one instruction packets hold each other up flit by flit:

- ``Mac``: the data phase lasts as long as its nest takes over the mesh (:mod:`..noc.nest_traffic`)
  from the first step of a child to the last one's, the fill until the first step;
- copies and fills of off-chip memory: as long as its banks need for the rows that are touched, and
  the crossing of the last packet (reads) or the first one (writes); or as the crossing,
  and the memory's latency, whichever is longer;
- what takes sums out of the array: at least their crossing, added up on their way.

Nothing takes less than the ports alone say (:mod:`.demands`). An instruction's share of the
off-chip port is the time that the banks are busy for it.

Deviation: packets of different instructions do not wait for each other, they share links as a fluid
does; rows that one copy leaves open do not help the next one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from ...ir.arch import Architecture
from ...ir.errors import ArchitectureError
from ...ir.isa.instructions import Activate, AnyInstruction, Copy, Fill, Mac, Requant, Space
from ...ir.isa.program import Program
from ...ir.mesh import mesh_of
from ..accesses import ByteTouch, Way, touches
from ..array.arrays import Arrays
from ..functional.region import ByteRegion, Lattice
from ..noc.dram import UNUSED, Ints, Served, served
from ..noc.nest_traffic import NetworkRun, run_nest
from ..noc.tile_crossing import NOTHING, Crossing, TileCrossings
from .demands import Demand, Demands
from .ports import PortSpec, PortTable, side


def check_timed(arch: Architecture) -> None:
    """Check that programs of a machine can be timed over its mesh.

    Raises:
        ArchitectureError: It has no mesh, one that is too small, or several NPUs.
    """
    mesh_of(arch)
    if len(arch.npus) > 1:
        raise ArchitectureError(
            f"{arch.name} has {len(arch.npus)} NPUs, programs are timed over the mesh of one"
        )


@dataclass(frozen=True, slots=True)
class Crossed:
    """What one instruction uses of the mesh and of the memory behind it.

    Attributes:
        flits: Flits over each link between routers.
        memory: What it takes of the off-chip memory, as far as its file says more than a rate.
    """

    flits: Mapping[int, int]
    memory: Mapping[Way, Served]

    @property
    def hops(self) -> int:
        """Flits over links between routers, one for each hop."""
        return sum(self.flits.values())


class MeshDemands(Demands):
    """The work of every instruction of a program whose machine has a mesh.

    Attributes:
        mesh: The mesh.
    """

    def __init__(self, program: Program, ports: PortTable, arrays: Arrays) -> None:
        """Take a program.

        Raises:
            ArchitectureError: The machine has no mesh, one that is too small, or several NPUs.
        """
        arch = program.arch
        check_timed(arch)
        self._crossings = TileCrossings(arch.for_npu(arch.npus[0]))
        self._first_link = len(ports.ports)
        mesh = self.mesh = self._crossings.mesh
        links = tuple(
            PortSpec(f"mesh {mesh.link_name(link)}", mesh.network.flit_bits / 8)
            for link in range(mesh.links)
        )
        super().__init__(program, PortTable((*ports.ports, *links)), arrays)
        self._runs: dict[tuple[int, bool], NetworkRun] = {}
        self._memory: dict[tuple[ByteRegion, int, bool], Served] = {}

    def run(self, nest: int, *, accumulate: bool) -> NetworkRun:
        """Return how a descriptor runs over the mesh.

        Args:
            nest: Its number.
            accumulate: Whether it adds to sums that are there.
        """
        key = nest, accumulate
        if key not in self._runs:
            loops = self.program.nests[nest]
            self._runs[key] = run_nest(loops, self._crossings.arch, accumulate=accumulate)
        return self._runs[key]

    def crossed(self, works: Sequence[Sequence[Demand]]) -> Sequence[Sequence[Crossed]]:
        """Return what instructions use, by queue.

        Args:
            works: What each of them asks for.
        """
        return [
            [
                Crossed(self._hop_flits(work), self._memory_use(instruction))
                for instruction, work in zip(queue.instructions, line, strict=True)
            ]
            for queue, line in zip(self.program.queues, works, strict=True)
        ]

    def _hop_flits(self, work: Demand) -> Mapping[int, int]:
        bits = self.mesh.network.flit_bits
        return {
            link: 8 * size // bits
            for port, size in work.demands
            if self.mesh.is_between(link := port - self._first_link)
        }

    def is_memory_bound(self, copy: Copy) -> bool:
        """Whether a copy takes longer at the off-chip memory than over the mesh."""
        use = self._memory_use(copy).values()
        return sum(item.cycles for item in use) > self._of_copy(copy).cycles

    def work(self, queue: int, instruction: AnyInstruction) -> Demand:
        """Return what an instruction of a queue asks for."""
        alone = super().work(queue, instruction)
        match instruction:
            case Mac():
                return self._with_nest(alone, instruction)
            case Copy() | Fill():
                return self._with_memory(alone, instruction)
            case Requant() | Activate() if instruction.layout >= 0:
                crossing = self._of_tile(instruction, instruction.layout, is_off_chip=False)
                least = max(alone.least, crossing.cycles)
                return self._with_links(replace(alone, least=least), crossing.carried)
            case _:
                return alone

    def _with_nest(self, alone: Demand, mac: Mac) -> Demand:
        run = self.run(mac.nest, accumulate=mac.accumulate)
        taken = replace(
            alone,
            fill=max(alone.fill, run.fill_cycles),
            least=max(alone.least, run.cycles - run.fill_cycles - run.drain_cycles),
            drain=max(alone.drain, run.drain_cycles),
        )
        return self._with_links(taken, run.carried)

    def _with_memory(self, alone: Demand, instruction: Copy | Fill) -> Demand:
        crossing = self._of_copy(instruction)
        times = {way: use.cycles for way, use in self._memory_use(instruction).items()}
        first = self._first_cycles() if times else 0.0
        longest = max(sum(times.values()) + crossing.latency, crossing.cycles + first)
        taken = replace(alone, least=max(alone.least, math.ceil(longest)))
        taken = self._with_ports(taken, self._shares(times))
        return self._with_links(taken, crossing.carried)

    def _memory_use(self, instruction: AnyInstruction) -> Mapping[Way, Served]:
        """Return what is read and written takes of the off-chip memory."""
        if not isinstance(instruction, Copy | Fill):
            return {}
        off_chip = [item for item in touches(instruction) if item.access.space is Space.DRAM]
        return {item.way: self._served(item) for item in off_chip}

    def _first_cycles(self) -> float:
        """Return the time until a burst of a closed row has been read."""
        dram = self.program.arch.dram
        if dram is None:
            return 0.0
        ns = dram.activate_ns + dram.column_ns + dram.burst_ns
        return ns * self.program.arch.clock_hz / 1e9

    def _served(self, item: ByteTouch) -> Served:
        """Return what an access takes, as far as the machine's file says more than a rate."""
        arch, is_write = self.program.arch, item.way is Way.WRITE
        if arch.dram is None:
            return UNUSED
        around = arch.dram.row_bytes * arch.dram.banks
        key = item.region, item.access.address % around, is_write
        if key not in self._memory:
            serve = partial(served, arch.dram, arch.clock_hz, is_write=is_write)
            parts = (_starts(lattice, key[1]) for lattice in item.region.lattices)
            self._memory[key] = sum((serve(*part) for part in parts), UNUSED)
        return self._memory[key]

    def _shares(self, times: Mapping[Way, float]) -> Mapping[int, int]:
        """Return by off-chip port the bytes that it could move while banks are busy."""
        found: dict[int, int] = {}
        for way, cycles in times.items():
            port = self.ports.number(side(self.program.arch.off_chip, way))
            if port is not None:
                size = math.ceil(cycles * self.ports.ports[port].bandwidth)
                found[port] = found.get(port, 0) + size
        return found

    def _of_copy(self, instruction: Copy | Fill) -> Crossing:
        if isinstance(instruction, Fill):
            return NOTHING
        spaces = instruction.src.space, instruction.dst.space
        if instruction.layout >= 0:
            is_off_chip = Space.DRAM in spaces
            return self._of_tile(instruction, instruction.layout, is_off_chip=is_off_chip)
        if spaces.count(Space.DRAM) != 1:
            return NOTHING
        size = math.prod(instruction.shape) * instruction.element_bytes
        return self._crossings.between(size, inwards=spaces[0] is Space.DRAM)

    def _of_tile(
        self, instruction: Copy | Requant | Activate, layout: int, *, is_off_chip: bool
    ) -> Crossing:
        """Return how a tile that lies in the array crosses on its way to it, or from it."""
        moved = self._arrays.moved(instruction)
        assert moved is not None
        fanout = self.mesh.network.fanout
        sizes = [link.busiest for link in moved.spread.links if link.fanout == fanout]
        return self._crossings.of_layout(
            self.program.nests[layout],
            math.ceil(max(sizes, default=Fraction(0))),
            is_off_chip=is_off_chip,
            inwards=moved.inwards,
        )

    def _with_links(self, demand: Demand, carried: Mapping[int, int]) -> Demand:
        bits = self.mesh.network.flit_bits
        sizes = {self._first_link + link: -(-flits * bits // 8) for link, flits in carried.items()}
        return self._with_ports(demand, sizes)

    def _with_ports(self, demand: Demand, sizes: Mapping[int, int]) -> Demand:
        """Return a demand that moves at least so many bytes through each port."""
        moved = dict(demand.demands)
        for port, size in sizes.items():
            moved[port] = max(moved.get(port, 0), size)
        return replace(demand, demands=tuple(sorted(moved.items())))


def _starts(lattice: Lattice, address: int) -> tuple[Ints, int]:
    """Return the first byte of each run of consecutive bytes, and the length of a run."""
    *outer, last = zip(lattice.shape, lattice.strides, strict=True)
    loops, size = (outer, last[0]) if last[1] == 1 else ((*outer, last), 1)
    starts = np.array([address + lattice.offset], np.int64)
    for extent, stride in loops:
        starts = (starts[:, None] + np.arange(extent, dtype=np.int64) * stride).ravel()
    return starts, size

"""What traffic over the mesh costs a nest, in closed form: the busiest link under X-Y routing.

The links from ports into the mesh are among them, so that is also how long the scratchpad's ports
need one after the other. The latency is that of the cost model, but the steady state lasts as long
as the busiest link carries flits, if that is longer; or as long as tiles are under way one after
the other: a memory with two halves asks for a tile when the one two before is not needed any more,
so that two tiles cannot come faster than one makes its trip and is computed on. What the closed
form does not know: that packets wait for each other.

Who gets what follows from the unrolling over the mesh (CoSA, Fig. 5): children along dimensions
that do not index an operand share one multicast, or add their sums on the way back, neighbour by
neighbour along rows and then along the port's column.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...ir.arch import Architecture
from ...ir.mapping import LoopNest
from ...ir.mesh import Mesh, mesh_of
from ...ir.workload import RELEVANT, Operand
from .batches.counts import Counts
from .batches.nest_batch import batch_nests
from .cost import CostReport
from .flows import Boundary


@dataclass(frozen=True, slots=True)
class MeshLoad:
    """Flits of a whole nest over the mesh.

    Attributes:
        links: By number of the link.
        trips: How long the tiles of the memory that waits most are under way [cycle].
    """

    links: Counter[int]
    trips: float

    @property
    def busiest(self) -> int:
        """Flits over the busiest link, those of ports included."""
        return max(self.links.values(), default=0)


def network_cycles(report: CostReport, load: MeshLoad) -> float:
    """Return the latency of a nest in closed form [cycle].

    Args:
        report: Its cost.
        load: Its flits over the mesh.
    """
    steady = max(report.steady_cycles, load.busiest, load.trips)
    return steady + report.fill_cycles + report.drain_cycles


def mesh_load(
    nest: LoopNest, arch: Architecture, placement: frozenset[Operand] = frozenset()
) -> MeshLoad:
    """Return what a nest loads the links of the mesh with.

    Args:
        nest: A valid nest, from the off-chip memory to the MACs.
        arch: The machine of one NPU.
        placement: Operands that lie whole in the scratchpad.

    Raises:
        ArchitectureError: The machine has no mesh, or one that is too small.
    """
    return _Loads(nest, arch, mesh_of(arch), placement).whole()


class _Loads:
    """Flits of one nest, collected."""

    def __init__(
        self, nest: LoopNest, arch: Architecture, mesh: Mesh, placement: frozenset[Operand]
    ) -> None:
        self.nest, self.arch, self.mesh = nest, arch, mesh
        self.counts = Counts(batch_nests([nest]), arch, placement)
        self.links: Counter[int] = Counter()
        self.taken: Counter[int] = Counter()
        self.trips = 0.0

    def whole(self) -> MeshLoad:
        """Return all of it."""
        for operand in (Operand.I, Operand.W, Operand.O):
            for row, boundary in enumerate(self.counts.index.table.boundaries):
                if boundary.operand is operand:
                    self._add(row, boundary)
        return MeshLoad(self.links, self.trips)

    def _add(self, row: int, boundary: Boundary) -> None:
        visits, tiles, elements = (
            int(item[row, 0])
            for item in (self.counts.visits, self.counts.tiles, self.counts.elements)
        )
        hops = [item for item in boundary.hops if item.name != self.mesh.network.fanout]
        if len(hops) < len(boundary.hops):
            elements *= math.prod(self._copies(boundary.operand, item.name) for item in hops)
            if boundary.operand is Operand.O:
                self._sums(boundary, visits, tiles, elements)
            else:
                self._inputs(boundary, visits, self._flits(boundary.operand, elements))
        elif boundary.child == self.arch.scratchpad:
            self._staged(boundary, visits, tiles, elements)

    def _copies(self, operand: Operand, fanout: str) -> int:
        """Return how many parts of a tile cross to the children of a fan-out inside of a child."""
        loops = [item for item in self.nest.spatial if item.fanout == fanout]
        shared = operand is Operand.O or operand in self.arch.fanout(fanout).multicast
        return math.prod(
            item.extent for item in loops if item.dim in RELEVANT[operand] or not shared
        )

    def _flits(self, operand: Operand, elements: int, *, finished: bool = False) -> int:
        work = self.nest.workload
        bits = work.bits(operand)
        if operand is Operand.O and not finished:
            bits = max(bits, self.arch.accumulator_bits)
        return -(-elements * bits // self.mesh.network.flit_bits)

    def _groups(self, operand: Operand) -> tuple[tuple[int, ...], ...]:
        """Return the children that share a multicast, or add their sums."""
        loops = [item for item in self.nest.spatial if item.fanout == self.mesh.network.fanout]
        fanout = self.arch.fanout(self.mesh.network.fanout)
        is_alone = operand is not Operand.O and operand not in fanout.multicast
        found: dict[tuple[int, ...], list[int]] = {}
        for child, at in enumerate(itertools.product(*(range(item.extent) for item in loops))):
            own = [
                digit
                for digit, item in zip(at, loops, strict=True)
                if item.dim in RELEVANT[operand]
            ]
            found.setdefault((child,) if is_alone else tuple(own), []).append(child)
        return tuple(tuple(members) for members in found.values())

    def _port(self, boundary: Boundary, members: Sequence[int], flits: int) -> int:
        """Return the port with the least to carry, then the nearest."""
        mesh = self.mesh
        is_outer = boundary.parent == self.arch.off_chip.name
        nodes = mesh.off_chip_nodes if is_outer else mesh.scratchpad_nodes
        distances = {node: sum(mesh.hops(node, child) for child in members) for node in nodes}
        best = min(nodes, key=lambda node: (self.taken[node], distances[node], node))
        self.taken[best] += flits
        return best

    def _send(self, source: int, destinations: Sequence[int], flits: int) -> None:
        for link in self.mesh.tree(source, destinations).links:
            self.links[link] += flits

    def _wait(self, boundary: Boundary, trips: float, computing: int) -> None:
        """Let the inner memory of a boundary wait for tiles that are under way so long."""
        child = boundary.child
        halves = 2 if child is None or self.arch.level(child).double_buffered else 1
        self.trips = max(self.trips, (trips + computing) / halves)

    def _trip(
        self, boundary: Boundary, source: int, destinations: Sequence[int], flits: int
    ) -> float:
        """Return how long a tile is under way, if it meets no other."""
        links = max(self.mesh.hops(source, node) for node in destinations) + 1
        cycles = links * self.mesh.network.router_cycles + flits
        is_outer = boundary.parent == self.arch.off_chip.name
        return cycles + (self._memory(flits) if is_outer else 0.0)

    def _memory(self, flits: int) -> float:
        """Return how long the off-chip memory takes to read or write a tile [cycle]."""
        size, dram = flits * self.mesh.network.flit_bits / 8, self.arch.dram
        if dram is None:
            bandwidth = self.arch.off_chip.read_bandwidth
            return 0.0 if bandwidth is None else size / bandwidth
        bursts = math.ceil(size / dram.burst_bytes)
        return (dram.column_ns + bursts * dram.burst_ns) * self.arch.clock_hz / 1e9

    @property
    def _steps(self) -> int:
        return int(self.counts.batch.steps[0])

    def _inputs(self, boundary: Boundary, visits: int, flits: int) -> None:
        longest = 0.0
        for members in self._groups(boundary.operand):
            port = self._port(boundary, members, visits * flits)
            self._send(port, members, visits * flits)
            longest = max(longest, self._trip(boundary, port, members, flits))
        self._wait(boundary, visits * longest, self._steps)

    def _sums(self, boundary: Boundary, visits: int, tiles: int, elements: int) -> None:
        wide = self._flits(Operand.O, elements)
        last = (visits - tiles) * wide + tiles * self._flits(Operand.O, elements, finished=True)
        for members in self._groups(Operand.O):
            port = self._port(boundary, members, visits * wide)
            *others, nearest = self._towards(members, port)
            for source, destination in others:
                self._send(source, (destination,), visits * wide)
            self._send(nearest[0], (port,), last)
            self._send(port, (nearest[0],), (visits - tiles) * wide)
            trip = self._trip(boundary, port, nearest[:1], wide)
            self._wait(boundary, (2 * visits - tiles) * trip, self._steps)

    def _towards(self, members: Sequence[int], port: int) -> Iterator[tuple[int, int]]:
        """Yield who sends sums to whom; the one next to the port comes last."""
        column, row = self.mesh.positions[port]
        leaders: list[int] = []
        by_row = sorted(members, key=lambda child: self.mesh.positions[child][1])
        for _, own in itertools.groupby(by_row, key=lambda child: self.mesh.positions[child][1]):
            line = sorted(own, key=lambda child: (-abs(self._at(child, 0) - column), child))
            yield from itertools.pairwise(line)
            leaders.append(line[-1])
        leaders.sort(key=lambda child: (-abs(self._at(child, 1) - row), child))
        yield from itertools.pairwise((*leaders, port))

    def _at(self, child: int, axis: int) -> int:
        return self.mesh.positions[child][axis]

    def _staged(self, boundary: Boundary, visits: int, tiles: int, elements: int) -> None:
        """Load the links between the ports of the off-chip memory and those of the scratchpad."""
        operand = boundary.operand
        pads, outer = self.mesh.scratchpad_nodes, self.mesh.off_chip_nodes
        wide, narrow = (
            -(-self._flits(operand, elements, finished=item) // len(pads)) for item in (False, True)
        )
        is_summed = operand is Operand.O
        inwards = (visits - tiles if is_summed else visits) * wide
        outwards = inwards + tiles * narrow if is_summed else 0
        for place, pad in enumerate(pads):
            other = outer[place % len(outer)]
            self._send(other, (pad,), inwards)
            self._send(pad, (other,), outwards)
            trip = self._trip(boundary, other, (pad,), wide)
            self._wait(boundary, trip * (2 * visits - tiles if is_summed else visits), 0)

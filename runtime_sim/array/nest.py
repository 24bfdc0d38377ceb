"""The loops of one instruction on the machine that executes them.

A descriptor names loops and memories; the machine gives them sizes. Every operand comes from a
first memory, its *home*, where addresses are explicit, and passes through the others of its chain,
which the array's sequencers manage by themselves, in halves that alternate where the memory is
double buffered.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...ir.arch import Architecture, Fanout, MemoryLevel
from ...ir.errors import SimulationError
from ...ir.mapping import LoopNest
from ...ir.workload import REDUCTION, RELEVANT, Dim, Operand, Workload


@dataclass(frozen=True, slots=True)
class Hop:
    """One fan-out on the way of an operand.

    Attributes:
        fanout: The fan-out.
        telling: Children that differ in what they get (or send).
        alike: Children for each of these that get the same (or whose sums are added).
        shared: Whether one transfer serves those that are alike.
    """

    fanout: Fanout
    telling: int
    alike: int
    shared: bool

    @property
    def children(self) -> int:
        """Children that take part."""
        return self.telling * self.alike

    @property
    def transfers(self) -> int:
        """Transfers that leave the upper side for one tile of every child."""
        return self.telling if self.shared else self.children


@dataclass(frozen=True, slots=True)
class Leg:
    """An operand's way from one memory to the next inner one, or to the MACs.

    Attributes:
        operand: The tensor.
        parent: The outer memory.
        child: The inner memory; ``None`` are the MACs.
        start: Loop at which the child's tile starts.
        elements: Elements of that tile; 1 for the MACs.
        above: Fan-outs above the parent, outermost first.
        hops: Fan-outs between parent and child, outermost first.
    """

    operand: Operand
    parent: MemoryLevel
    child: MemoryLevel | None
    start: int
    elements: int
    above: tuple[Hop, ...]
    hops: tuple[Hop, ...]

    @property
    def parents(self) -> int:
        """Instances of the parent that take part."""
        return math.prod(hop.children for hop in self.above)


class ArrayNest:
    """A descriptor on the machine that one NPU is.

    Attributes:
        nest: The descriptor.
        arch: The machine with this NPU's sizes.
    """

    def __init__(self, nest: LoopNest, arch: Architecture) -> None:
        """Take a descriptor.

        Raises:
            SimulationError: The machine cannot run it; says which loop or memory is wrong.
        """
        self.nest = nest
        self.arch = arch
        self._check_loops()
        self._check_unrolling()
        for operand in Operand:
            if nest.of(operand):
                self._check_chain(operand)

    # -- what the machine accepts ---------------------------------------------------------------

    def _check_loops(self) -> None:
        for loop in (*self.nest.temporal, *self.nest.spatial):
            if loop.extent < 1:
                raise SimulationError(f"a loop over {loop.dim} has {loop.extent} steps")
        for dim, extent in self.nest.workload.dims.items():
            if self.nest.extents[dim] < extent:
                covered = self.nest.extents[dim]
                raise SimulationError(f"the loops over {dim} cover {covered} of {extent}")

    def _check_unrolling(self) -> None:
        names = [fanout.name for fanout in self.arch.fanouts]
        for loop in self.nest.spatial:
            if loop.fanout not in names:
                raise SimulationError(f"{self.arch.name} has no fan-out {loop.fanout}")
            fanout = self.arch.fanout(loop.fanout)
            if loop.extent > 1 and loop.dim not in fanout.dims:
                raise SimulationError(f"{loop.dim} cannot be unrolled over {loop.fanout}")
            if loop.extent > 1 and loop.dim in REDUCTION and not fanout.reduction:
                raise SimulationError(f"{loop.fanout} cannot add up sums over {loop.dim}")
        limits = [((fanout.name,), fanout.size) for fanout in self.arch.fanouts]
        limits += [(group.fanouts, group.limit) for group in self.arch.groups]
        for members, limit in limits:
            used = math.prod(loop.extent for loop in self.nest.spatial if loop.fanout in members)
            if used > limit:
                raise SimulationError(f"{'+'.join(members)} has {limit} children, {used} are used")

    def _check_chain(self, operand: Operand) -> None:
        chain = self.nest.of(operand)
        if chain[0].start != 0:
            raise SimulationError(f"{operand}: {chain[0].level} must hold the whole tile")
        for item in chain:
            if item.level not in self.arch.level_names:
                raise SimulationError(f"{self.arch.name} has no memory {item.level}")
            if operand not in self.arch.level(item.level).holds:
                raise SimulationError(f"{item.level} cannot hold {operand}")
            if not 0 <= item.start <= len(self.nest.temporal):
                raise SimulationError(f"{operand} at {item.level} starts at loop {item.start}")
        for outer, inner in itertools.pairwise(chain):
            if self.arch.index(outer.level) >= self.arch.index(inner.level):
                raise SimulationError(f"{operand}: {inner.level} does not lie inside {outer.level}")
            if outer.start > inner.start:
                raise SimulationError(f"{operand}: {inner.level} holds more than {outer.level}")

    # -- geometry -------------------------------------------------------------------------------

    @property
    def workload(self) -> Workload:
        """What is computed, without padding."""
        return self.nest.workload

    @cached_property
    def psum_bits(self) -> int:
        """Width of a sum [bit]."""
        return max(self.arch.accumulator_bits, self.workload.output_bits)

    def bits(self, operand: Operand) -> int:
        """Return the width of an element; outputs are sums [bit]."""
        return self.psum_bits if operand is Operand.O else self.workload.bits(operand)

    @cached_property
    def steps(self) -> int:
        """Steps of the array."""
        return math.prod(loop.extent for loop in self.nest.temporal)

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulates that are executed, padding included."""
        return self.steps * math.prod(loop.extent for loop in self.nest.spatial)

    def hops(self, operand: Operand, first: int, last: int) -> tuple[Hop, ...]:
        """Return the fan-outs beneath memories ``first`` to ``last - 1`` on an operand's way.

        Args:
            operand: What is on its way.
            first: Index of the outer memory.
            last: Index behind the inner one.
        """
        return tuple(
            self._hop(operand, fanout)
            for fanout in self.arch.fanouts
            if first <= self.arch.index(fanout.below) < last
        )

    def _hop(self, operand: Operand, fanout: Fanout) -> Hop:
        telling = alike = 1
        for loop in self.nest.spatial:
            if loop.fanout == fanout.name and loop.dim in RELEVANT[operand]:
                telling *= loop.extent
            elif loop.fanout == fanout.name:
                alike *= loop.extent
        return Hop(fanout, telling, alike, operand in fanout.multicast)

    def legs(self, operand: Operand) -> tuple[Leg, ...]:
        """Return an operand's way from its home to the MACs."""
        chain = self.nest.of(operand)
        found: list[Leg] = []
        for position, item in enumerate(chain):
            top = self.arch.index(item.level)
            inner = chain[position + 1] if position + 1 < len(chain) else None
            bottom = len(self.arch.levels) if inner is None else self.arch.index(inner.level)
            found.append(
                Leg(
                    operand=operand,
                    parent=self.arch.level(item.level),
                    child=None if inner is None else self.arch.level(inner.level),
                    start=len(self.nest.temporal) if inner is None else inner.start,
                    elements=1 if inner is None else self.held(operand, inner.level, inner.start),
                    above=self.hops(operand, 0, top),
                    hops=self.hops(operand, top, bottom),
                )
            )
        return tuple(found)

    def held(self, operand: Operand, level: str, start: int) -> int:
        """Return the elements of an operand's tile in one instance of a memory [element].

        Args:
            operand: The tensor.
            level: Name of the memory.
            start: Loop from which on the tile extends inwards.
        """
        position = self.arch.index(level)
        inside = dict.fromkeys(Dim, 1)
        for loop in self.nest.temporal[start:]:
            inside[loop.dim] *= loop.extent
        for loop in self.nest.spatial:
            if self.arch.index(self.arch.fanout(loop.fanout).below) >= position:
                inside[loop.dim] *= loop.extent
        if operand is not Operand.I:
            return math.prod(inside[dim] for dim in RELEVANT[operand])
        work = self.workload
        rows = _lines(inside[Dim.P], inside[Dim.R], work.stride[0], work.dilation[0])
        columns = _lines(inside[Dim.Q], inside[Dim.S], work.stride[1], work.dilation[1])
        return rows * columns * inside[Dim.C] * inside[Dim.N] * inside[Dim.G]

    def managed(self) -> Iterator[tuple[str, Sequence[tuple[Operand, int]]]]:
        """Yield the memories inside of the homes, with the bytes of each operand's tile there."""
        for level in self.arch.level_names:
            tiles = [
                (operand, math.ceil(self.held(operand, level, item.start) * self.bits(operand) / 8))
                for operand in Operand
                for item in self.nest.of(operand)[1:]
                if item.level == level
            ]
            if tiles:
                yield level, tiles


def _lines(outputs: int, taps: int, stride: int, dilation: int) -> int:
    """Return how many rows (or columns) of the input the windows of some outputs touch."""
    if outputs == 1 or taps == 1:
        return outputs * taps
    return len({p * stride + r * dilation for p in range(outputs) for r in range(taps)})

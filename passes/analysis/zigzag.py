"""Count accesses and energy of a loop nest the way ZigZag 3 does, for comparison with its figures.

The rules, where they differ from accnn's own counting:

1. A loop over which an operand is stationary and that stands just outside one of its tiles is
   merged into that tile (repeatedly); it costs nothing.
2. A tile is fetched whole each time: neighbouring input tiles share no rows.
3. Spatial reuse of inputs is the footprint of the unrolled loops alone: an upper level reads
   (elements of one lower tile) x (distinct lower instances), halo between instances not joined.
4. Outputs below an unfinished sum are read back each time, the first time included.
5. A transfer of one tile takes ``ceil(bits / word)`` accesses at each end, and each access costs
   the energy of one word. Every instance that takes part counts.
6. Rows and columns that padding adds are not fetched: no input footprint exceeds the stored
   input, ``P * stride`` by ``Q * stride`` unless said otherwise ("same" padding).
7. At the MACs an input is read once per run of innermost stationary loops; an output is written
   (and, while the sum is open, read) in every cycle.
8. Traffic between the outermost memory and the world is free; so is the network.

Deviation: where an unrolling does not divide its dimension, ZigZag computes with a fractional
unrolling; here the padded nest is counted as it runs.

References:
    L. Mei, P. Houshmand, V. Jain, S. Giraldo, M. Verhelst: ZigZag: Enlarging Joint
    Architecture-Mapping Design Space Exploration for DNN Accelerators. IEEE Transactions on
    Computers, 2021.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

from ...ir.arch import Architecture, MemoryLevel
from ...ir.mapping import Allocation, LoopNest
from ...ir.workload import DIMS, REDUCTION, RELEVANT, Dim, Operand, Workload, touched


@dataclass(frozen=True, slots=True, kw_only=True)
class ZigzagTransfers:
    """What one operand moves over one boundary: between two memories, or memory and MACs.

    Attributes:
        operand: The tensor.
        outer: Name of the memory nearer to the outside.
        inner: Name of the memory nearer to the MACs; ``None`` at the MACs themselves.
        down: Whether anything moves inwards; an output that is finished below moves only up.
        outer_accesses: Word accesses of all instances of ``outer`` for one direction.
        inner_accesses: Word accesses of all instances of ``inner`` for one direction.
        energy: Of both ends and directions [pJ].
    """

    operand: Operand
    outer: str
    inner: str | None
    down: bool
    outer_accesses: int
    inner_accesses: int
    energy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ZigzagCost:
    """Energy of a nest in ZigZag's counting.

    Attributes:
        energy: Total [pJ].
        mac_energy: Share of the MAC array [pJ].
        cycles: Steps of the temporal loops, without any stall [cycle].
        transfers: Per operand, from the MACs outwards.
    """

    energy: float
    mac_energy: float
    cycles: int
    transfers: tuple[ZigzagTransfers, ...]


def stored_input(workload: Workload) -> tuple[int, int]:
    """Return rows and columns of the input without padding, if the padding is "same"."""
    return workload.P * workload.stride[0], workload.Q * workload.stride[1]


def zigzag_cost(nest: LoopNest, arch: Architecture) -> ZigzagCost:
    """Return the energy of a nest in ZigZag's counting.

    Args:
        nest: A valid nest (see :meth:`LoopNest.verify`).
        arch: The accelerator; energies are per word of ``word_bits``.
    """
    counter = _Counter(nest, arch, stored_input(nest.workload))
    transfers = tuple(
        counter.transfers(operand, outer, inner)
        for operand in (Operand.O, Operand.W, Operand.I)
        for outer, inner in _boundaries(nest, operand)
    )
    mac_energy = arch.mac_energy * nest.workload.macs
    return ZigzagCost(
        energy=sum(item.energy for item in transfers) + mac_energy,
        mac_energy=mac_energy,
        cycles=math.prod(loop.extent for loop in nest.temporal),
        transfers=transfers,
    )


def zigzag_elements(
    workload: Workload, operand: Operand, tile: Mapping[Dim, int], stored: tuple[int, int]
) -> int:
    """Return the elements of an operand that a tile touches, padding left out [element].

    Args:
        workload: What is computed.
        operand: The tensor.
        tile: Extents of the tile.
        stored: Rows and columns of the input that exist.
    """
    if operand is not Operand.I:
        return workload.elements(operand, tile)
    rows = touched(tile[Dim.P], tile[Dim.R], workload.stride[0], workload.dilation[0])
    columns = touched(tile[Dim.Q], tile[Dim.S], workload.stride[1], workload.dilation[1])
    return min(rows, stored[0]) * min(columns, stored[1]) * tile[Dim.C] * tile[Dim.N] * tile[Dim.G]


def merged_start(nest: LoopNest, operand: Operand, start: int) -> int:
    """Return where a tile starts once stationary loops just outside of it belong to it.

    Args:
        nest: The loops.
        operand: Whose tile.
        start: Loop from which on it extends inwards.
    """
    while start > 0 and nest.temporal[start - 1].dim not in RELEVANT[operand]:
        start -= 1
    return start


def _boundaries(nest: LoopNest, operand: Operand) -> list[tuple[Allocation, Allocation | None]]:
    """Return (outer, inner) neighbours of an operand, from the MACs outwards."""
    inwards: list[Allocation | None] = [*nest.of(operand), None]
    return [(outer, inner) for outer, inner in itertools.pairwise(inwards) if outer][::-1]


@dataclass(frozen=True, slots=True)
class _Counter:
    """One nest on one accelerator."""

    nest: LoopNest
    arch: Architecture
    stored: tuple[int, int]

    def transfers(
        self, operand: Operand, outer: Allocation, inner: Allocation | None
    ) -> ZigzagTransfers:
        """Count what crosses one boundary."""
        upper = self.arch.level(outer.level)
        lower = None if inner is None else self.arch.level(inner.level)
        start = self.crossing(operand, inner)
        down = operand is not Operand.O or self.sum_is_open(upper, start)
        bits = self.arch.accumulator_bits if operand is Operand.O and down else None
        bits = self.nest.workload.bits(operand) if bits is None else bits
        tile = 1 if inner is None else self.elements(operand, self.nest.tile(self.arch, inner))
        times = math.prod(loop.extent for loop in self.nest.temporal[:start])
        across = tile * self.across(operand, upper, lower)
        top = -(-across * bits // upper.word_bits) * times * self.used(upper)
        low = 0 if lower is None else -(-tile * bits // lower.word_bits) * times * self.used(lower)
        return ZigzagTransfers(
            operand=operand,
            outer=upper.name,
            inner=None if lower is None else lower.name,
            down=down,
            outer_accesses=top,
            inner_accesses=low,
            energy=_outer_energy(operand, down, top, upper)
            + (0.0 if lower is None else _inner_energy(operand, down, low, lower)),
        )

    def crossing(self, operand: Operand, inner: Allocation | None) -> int:
        """Return the loop outside of which a boundary lies, stationary loops merged."""
        innermost = len(self.nest.temporal)
        if inner is None and operand is Operand.O:
            return innermost
        return merged_start(self.nest, operand, innermost if inner is None else inner.start)

    def elements(self, operand: Operand, tile: Mapping[Dim, int]) -> int:
        """Elements that a tile touches."""
        return zigzag_elements(self.nest.workload, operand, tile, self.stored)

    def above(self, level: MemoryLevel | None) -> Mapping[Dim, int]:
        """Unrolled extents between the outermost memory and a level (``None``: the MACs)."""
        fanouts = self.arch.fanouts if level is None else self.arch.fanouts_above(level.name)
        names = {fanout.name for fanout in fanouts}
        found = dict.fromkeys(DIMS, 1)
        for loop in self.nest.spatial:
            if loop.fanout in names:
                found[loop.dim] *= loop.extent
        return found

    def used(self, level: MemoryLevel) -> int:
        """Instances of a level that take part."""
        return math.prod(self.above(level).values())

    def across(self, operand: Operand, upper: MemoryLevel, lower: MemoryLevel | None) -> int:
        """Distinct tiles of the lower instances that one upper instance serves."""
        inside = self.elements(operand, self.above(lower))
        return round(inside / self.elements(operand, self.above(upper)))

    def sum_is_open(self, upper: MemoryLevel, start: int) -> bool:
        """Whether outputs cross the boundary beneath ``upper`` unfinished.

        They do where a sum goes on in the temporal loops outside of the boundary, or over
        instances of ``upper``.
        """
        above = self.above(upper)
        return any(
            loop.dim in REDUCTION and loop.extent > 1 for loop in self.nest.temporal[:start]
        ) or any(above[dim] > 1 for dim in REDUCTION)


def _outer_energy(operand: Operand, down: bool, accesses: int, level: MemoryLevel) -> float:
    """Energy of the outer end: reads for what moves inwards, writes for what comes up."""
    if operand is not Operand.O:
        return accesses * level.read_energy
    return accesses * (level.write_energy + (level.read_energy if down else 0.0))


def _inner_energy(operand: Operand, down: bool, accesses: int, level: MemoryLevel) -> float:
    """Energy of the inner end: the other way round."""
    if operand is not Operand.O:
        return accesses * level.write_energy
    return accesses * (level.read_energy + (level.write_energy if down else 0.0))

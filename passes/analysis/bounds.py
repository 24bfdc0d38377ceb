"""What no mapping of a workload can beat: lower bounds of off-chip bytes, cycles and energy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...ir.arch import Architecture, Fanout, MemoryLevel
from ...ir.workload import RELEVANT, Dim, Operand, Workload

_NOWHERE: frozenset[Operand] = frozenset()


@dataclass(frozen=True, slots=True)
class OffChipBytes:
    """Bytes between off-chip memory and the chip.

    Attributes:
        read: On their way to the chip [byte].
        written: On their way back [byte].
    """

    read: int
    written: int

    @property
    def total(self) -> int:
        """Both ways together [byte]."""
        return self.read + self.written

    def cycles(self, arch: Architecture) -> int:
        """Return the least time that they take [cycle].

        Args:
            arch: The machine.
        """
        return math.ceil(port_cycles(arch.off_chip, self.read, self.written))


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding:
    """Where the input of a workload ends.

    Attributes:
        rows: Extent without padding.
        columns: Extent without padding.
        top: Rows of padding above.
        left: Columns of padding on the left.
    """

    rows: int
    columns: int
    top: int
    left: int

    def elements_read(self, workload: Workload) -> int:
        """Return the elements of the input that windows touch, padding left out."""
        (down, right), (dr, ds) = workload.stride, workload.dilation
        rows = rows_read(workload.P, workload.R, down, dr, self.top, self.rows)
        columns = rows_read(workload.Q, workload.S, right, ds, self.left, self.columns)
        return rows * columns * workload.C * workload.N * workload.G


def rows_read(outputs: int, taps: int, stride: int, dilation: int, before: int, extent: int) -> int:
    """Return how many rows (or columns) of an input windows touch, padding left out.

    Args:
        outputs: Number of windows.
        taps: Of a window.
        stride: From one window to the next.
        dilation: From one tap to the next.
        before: Rows of padding above.
        extent: Rows of the input.
    """
    touched = {
        output * stride + tap * dilation - before
        for output in range(outputs)
        for tap in range(taps)
    }
    return sum(0 <= position < extent for position in touched)


def compulsory_bits(
    workload: Workload, operand: Operand, placement: frozenset[Operand] = _NOWHERE
) -> int:
    """Return the bits of an operand that must cross the off-chip port: each element once [bit].

    Args:
        workload: What is computed.
        operand: The tensor.
        placement: Operands that lie whole in the scratchpad.
    """
    return 0 if operand in placement else workload.elements(operand) * workload.bits(operand)


def compulsory_bytes(
    workload: Workload, placement: frozenset[Operand] = _NOWHERE, *, padding: Padding | None = None
) -> int:
    """Return the bytes that must cross the off-chip port, each operand rounded up [byte].

    Args:
        workload: What is computed.
        placement: Operands that lie whole in the scratchpad.
        padding: Where the input ends; padding is made on chip and never moves.
    """
    bits = {operand: compulsory_bits(workload, operand, placement) for operand in Operand}
    if padding is not None and Operand.I not in placement:
        bits[Operand.I] = padding.elements_read(workload) * workload.input_bits
    return sum(math.ceil(value / 8) for value in bits.values())


def cycles_lower_bound(
    workload: Workload, arch: Architecture, placement: frozenset[Operand] = _NOWHERE
) -> float:
    """Return the roofline bound: all MACs busy, or compulsory traffic at full bandwidth [cycle].

    Args:
        workload: What is computed.
        arch: The machine.
        placement: Operands that lie whole in the scratchpad.
    """
    compute = workload.macs / arch.macs
    read = sum(compulsory_bits(workload, item, placement) for item in (Operand.W, Operand.I))
    write = compulsory_bits(workload, Operand.O, placement)
    return max(compute, port_cycles(arch.off_chip, read / 8, write / 8))


def port_cycles(level: MemoryLevel, read: float, written: float) -> float:
    """Return the least time of so many bytes through the ports of a memory [cycle].

    Args:
        level: The memory.
        read: What is read [byte].
        written: What is written [byte].
    """
    if level.shared_port:
        ways = ((read + written, level.read_bandwidth),)
    else:
        ways = ((read, level.read_bandwidth), (written, level.write_bandwidth))
    return max(0.0 if bandwidth is None else size / bandwidth for size, bandwidth in ways)


def energy_lower_bound(
    workload: Workload, arch: Architecture, placement: frozenset[Operand] = _NOWHERE
) -> float:
    """Return the least energy of MACs, and of each operand on its way to them [pJ].

    The operands' energies add up, so each is bounded by itself. In any nest an operand has some
    innermost memory; which one is unknown, so the bound takes the cheapest of those that may be.
    Given that memory, three things are certain:

    - *Beneath it* every step is a transfer. Of the products ``macs = relevant extents x irrelevant
      extents``, only irrelevant loops that are unrolled over multicasting fan-outs share one (for
      outputs: reduction loops over reducing fan-outs). What they share is at most the product of
      these fan-outs' sizes, and at most the product of the extents of the dimensions that may be
      unrolled over them: a dimension that is padded has more steps, not more that share.
    - *Above it* each element passes once at least: read from the source (off-chip memory, or the
      scratchpad if the operand lies there), over every fan-out between, and written to the
      innermost memory. Finished outputs take the way back, at their own width.
    - *Sums* are written by every update. What an update reads is the sum so far unless it starts
      from zero; every tile that starts from zero in a memory beneath the source is read out of it
      in the end, which makes up for that. In the source itself each output starts from zero once.

    What has the source as its innermost memory is not charged for the way above it: the accesses
    beneath are all there are.

    Args:
        workload: What is computed.
        arch: The machine.
        placement: Operands that lie whole in the scratchpad.
    """
    total = workload.macs * arch.mac_energy
    for operand in Operand:
        source = arch.index(arch.scratchpad) if operand in placement else 0
        total += min(
            _Way(workload, arch, operand, source, innermost).energy
            for innermost, level in enumerate(arch.levels)
            if innermost == source or (innermost > source and operand in level.holds)
        )
    return total


@dataclass(frozen=True, slots=True)
class _Way:
    """The way of one operand between its source and the MACs, given its innermost memory.

    Attributes:
        workload: What is computed.
        arch: The machine.
        operand: The tensor.
        source: Index of the level where it lies whole.
        innermost: Index of the level that feeds the MACs, or adds up their products.
    """

    workload: Workload
    arch: Architecture
    operand: Operand
    source: int
    innermost: int

    @property
    def energy(self) -> float:
        """What it takes at least [pJ]."""
        above = 0.0 if self.innermost == self.source else self._above()
        return above + self._links() + self._accesses()

    def _above(self) -> float:
        """Return the energy of all elements at both ends of the way to the innermost memory."""
        level, inner = self.arch.levels[self.source], self.arch.levels[self.innermost]
        bits = self.workload.elements(self.operand) * self.workload.bits(self.operand)
        if self.operand is Operand.O:
            return bits / level.word_bits * level.write_energy
        read = bits / level.word_bits * level.read_energy
        return read + bits / inner.word_bits * inner.write_energy

    def _links(self) -> float:
        """Return the energy of all fan-outs between the source and the MACs."""
        finished = self.workload.elements(self.operand) * self.workload.bits(self.operand)
        beneath = self._beneath()
        total = 0.0
        for fanout in self.arch.fanouts_beneath(self.arch.levels[self.source].name):
            bits = float(finished)
            if fanout in beneath:
                bits = self._transfers(beneath[beneath.index(fanout) + 1 :]) * self._width
            total += bits / 8 * fanout.hop_energy
        return total

    def _accesses(self) -> float:
        """Return the energy of the innermost memory's accesses by the MACs."""
        level = self.arch.levels[self.innermost]
        words = self._width / level.word_bits
        transfers = self._transfers(self._beneath())
        if self.operand is not Operand.O:
            return transfers * words * level.read_energy
        reads = transfers
        if self.innermost == self.source:
            reads = max(0.0, transfers - self.workload.elements(Operand.O))
        return words * (transfers * level.write_energy + reads * level.read_energy)

    def _beneath(self) -> tuple[Fanout, ...]:
        return self.arch.fanouts_beneath(self.arch.levels[self.innermost].name)

    @property
    def _width(self) -> int:
        """Width of an element beneath the innermost memory [bit]."""
        if self.operand is Operand.O:
            return max(self.arch.accumulator_bits, self.workload.output_bits)
        return self.workload.bits(self.operand)

    def _transfers(self, fanouts: Sequence[Fanout]) -> float:
        """Return how many elements enter the topmost of consecutive fan-outs above the MACs."""
        sharing = [(fanout, self._shared(fanout)) for fanout in fanouts]
        sizes = math.prod(fanout.size for fanout, dims in sharing if dims)
        dims = frozenset[Dim]().union(*(dims for _, dims in sharing))
        extents = math.prod(self.workload.dims[dim] for dim in dims)
        return self.workload.macs / min(sizes, extents, self.arch.macs)

    def _shared(self, fanout: Fanout) -> frozenset[Dim]:
        """Return the dimensions along which children of a fan-out may share one transfer."""
        is_output = self.operand is Operand.O
        if not (fanout.reduction if is_output else self.operand in fanout.multicast):
            return frozenset()
        return frozenset(fanout.dims) - RELEVANT[self.operand]

"""What no mapping of a workload can beat: lower bounds of off-chip bytes, cycles and energy."""

import math
from dataclasses import dataclass

from ...ir.arch import Architecture, Fanout
from ...ir.workload import RELEVANT, Dim, Operand, Workload

_NOWHERE: frozenset[Operand] = frozenset()


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
        rows = _inside(workload.P, workload.R, workload, 0, self.top, self.rows)
        columns = _inside(workload.Q, workload.S, workload, 1, self.left, self.columns)
        return rows * columns * workload.C * workload.N * workload.G


def _inside(
    outputs: int, taps: int, workload: Workload, axis: int, before: int, extent: int
) -> int:
    stride, dilation = workload.stride[axis], workload.dilation[axis]
    touched = {
        output * stride + tap * dilation - before
        for output in range(outputs)
        for tap in range(taps)
    }
    return sum(0 <= position < extent for position in touched)


def compulsory_bits(
    workload: Workload, operand: Operand, placement: frozenset[Operand] = _NOWHERE
) -> int:
    """Return the bits of an operand that must cross the off-chip port: each element once [bit]."""
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
    """Return the roofline bound: all MACs busy, or compulsory traffic at full bandwidth [cycle]."""
    compute = workload.macs / arch.macs
    read = sum(compulsory_bits(workload, item, placement) for item in (Operand.W, Operand.I))
    write = compulsory_bits(workload, Operand.O, placement)
    dram = arch.off_chip
    if dram.read_bandwidth is None:
        return compute
    if dram.shared_port:
        return max(compute, (read + write) / (8 * dram.read_bandwidth))
    bound = max(compute, read / (8 * dram.read_bandwidth))
    if dram.write_bandwidth is None:
        return bound
    return max(bound, write / (8 * dram.write_bandwidth))


def energy_lower_bound(
    workload: Workload, arch: Architecture, placement: frozenset[Operand] = _NOWHERE
) -> float:
    """Return MAC energy + compulsory off-chip energy + unavoidable accesses at the MACs [pJ].

    Each step of the array takes both operands from, and adds its sums into, *some* memory; the
    bound takes the cheapest memory that may hold the operand, with the largest multicast (or
    spatial reduction) that the fan-outs beneath it allow.
    """
    total = workload.macs * arch.mac_energy
    dram = arch.off_chip
    for operand in Operand:
        energy = dram.write_energy if operand is Operand.O else dram.read_energy
        total += compulsory_bits(workload, operand, placement) / dram.word_bits * energy
        total += _cheapest_accesses(workload, arch, operand)
    return total


def _cheapest_accesses(workload: Workload, arch: Architecture, operand: Operand) -> float:
    return min(
        _access_energy(workload, arch, operand, index)
        for index, level in enumerate(arch.levels)
        if operand in level.holds
    )


def _access_energy(workload: Workload, arch: Architecture, operand: Operand, index: int) -> float:
    level = arch.levels[index]
    shared = math.prod(_sharing(fanout, operand) for fanout in arch.fanouts_beneath(level.name))
    accesses = workload.macs / shared
    if operand is not Operand.O:
        return accesses * workload.bits(operand) / level.word_bits * level.read_energy
    words = max(arch.accumulator_bits, workload.output_bits) / level.word_bits
    # Sums that are added in different instances start from zero in each of them.
    instances = math.prod(fanout.size for fanout in arch.fanouts_above(level.name))
    reads = max(0.0, accesses - instances * workload.elements(Operand.O))
    return words * (accesses * level.write_energy + reads * level.read_energy)


def _sharing(fanout: Fanout, operand: Operand) -> int:
    """Return the largest number of children that one access of an operand can serve."""
    if operand is Operand.O:
        joins = fanout.reduction and any(dim in _REDUCED for dim in fanout.dims)
        return fanout.size if joins else 1
    serves = operand in fanout.multicast and any(
        dim not in RELEVANT[operand] for dim in fanout.dims
    )
    return fanout.size if serves else 1


_REDUCED = (Dim.R, Dim.S, Dim.C)

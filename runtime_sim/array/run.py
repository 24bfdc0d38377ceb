"""All that one MAC instruction needs of the machine."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ...ir.arch import Architecture, MemoryLevel
from ...ir.errors import SimulationError
from ...ir.mapping import LoopNest
from ...ir.workload import Operand
from .counts import Count, Side, count_accesses
from .nest import ArrayNest, Hop, Leg


@dataclass(frozen=True, kw_only=True)
class ArrayRun:
    """What the array does for one instruction.

    Attributes:
        steps: Cycles in which the MACs work.
        macs: Multiply-accumulates that are executed, padding included.
        useful_macs: Without padding.
        fill: Until the first tiles are in place [cycle].
        drain: After the last step, until the sums are in their home [cycle].
        counts: What passes every memory and link.
        managed: Bytes of one instance of each memory that the array's sequencers fill by
            themselves, both halves where it has two [byte].
    """

    steps: int
    macs: int
    useful_macs: int
    fill: int
    drain: int
    counts: tuple[Count, ...]
    managed: Mapping[str, int]

    @cached_property
    def busiest(self) -> Mapping[tuple[str, Side], Fraction]:
        """Bytes through the busiest instance of each memory or fan-out, by side [byte]."""
        found: dict[tuple[str, Side], Fraction] = {}
        for item in self.counts:
            key = item.place, item.side
            found[key] = found.get(key, Fraction(0)) + Fraction(item.busiest, 8)
        return found


def run_on(nest: LoopNest, arch: Architecture, *, accumulate: bool) -> ArrayRun:
    """Return what a descriptor does on a machine.

    Args:
        nest: The descriptor of one MAC instruction.
        arch: The machine, with the sizes of the NPU that executes it.
        accumulate: Whether the instruction adds to sums that are there.

    Raises:
        SimulationError: The machine cannot run it, or a memory inside of the array is too small.
    """
    on_array = ArrayNest(nest, arch)
    managed = _managed(on_array)
    return ArrayRun(
        steps=on_array.steps,
        macs=on_array.macs,
        useful_macs=nest.workload.macs,
        fill=math.ceil(fill_time(on_array, accumulate=accumulate)),
        drain=math.ceil(drain_time(on_array)),
        counts=count_accesses(on_array, accumulate=accumulate),
        managed=managed,
    )


def _managed(nest: ArrayNest) -> Mapping[str, int]:
    """Return what the memories inside of the array hold; each must be able to [byte]."""
    found: dict[str, int] = {}
    for name, tiles in nest.managed():
        level, taken = nest.arch.level(name), sum(size for _, size in tiles)
        if level.usable is not None and taken > level.usable:
            terms = ", ".join(f"{operand} {size}" for operand, size in tiles)
            halves = " (one of two halves)" if level.double_buffered else ""
            raise SimulationError(
                f"an instance of {name} would hold {taken} byte of tiles ({terms}), it has "
                f"{level.usable}{halves}"
            )
        found[name] = 2 * taken if level.double_buffered else taken
    return found


_ORDER = (Operand.I, Operand.W, Operand.O)


def fill_time(nest: ArrayNest, *, accumulate: bool) -> Fraction:
    """Return the time until the innermost memories have their first tiles [cycle].

    A memory sends one tile at a time, inputs before weights before old sums, each when it has it
    whole. Sending takes as long as the slowest of its own port, the links and the receiving port.
    """
    arrived = {operand: Fraction(0) for operand in _ORDER}
    legs = {operand: [leg for leg in nest.legs(operand) if leg.child] for operand in _ORDER}
    if not accumulate:
        legs[Operand.O] = []
    for level in nest.arch.levels:
        free = Fraction(0)
        for operand in _ORDER:
            for leg in legs[operand]:
                if leg.parent is level:
                    free = arrived[operand] = max(free, arrived[operand]) + _inwards(nest, leg)
    return max(arrived.values())


def _inwards(nest: ArrayNest, leg: Leg) -> Fraction:
    assert leg.child is not None
    tile = leg.elements * nest.bits(leg.operand)
    times = [_time(tile, _write_port(leg.child))]
    crossing = tile
    for hop in reversed(leg.hops):
        times.append(_time(crossing, hop.fanout.link_bandwidth))
        crossing *= _copies(leg.operand, hop)
    return max(*times, _time(crossing, leg.parent.read_bandwidth))


def _copies(operand: Operand, hop: Hop) -> int:
    """Return the transfers for one tile of all children; old sums go to the first ones only."""
    return hop.telling if operand is Operand.O else hop.transfers


def drain_time(nest: ArrayNest) -> Fraction:
    """Return the time from the last step until all sums are in their home [cycle]."""
    legs: Sequence[Leg] = nest.legs(Operand.O)[:-1]
    return sum((_outwards(nest, leg) for leg in legs), Fraction(0))


def _outwards(nest: ArrayNest, leg: Leg) -> Fraction:
    assert leg.child is not None
    crossing = leg.elements * nest.psum_bits
    times = [_time(crossing, leg.child.read_bandwidth)]
    for hop in reversed(leg.hops):
        times.append(_time(crossing, hop.fanout.link_bandwidth))
        crossing *= hop.telling
    return max(*times, _time(crossing, _write_port(leg.parent)))


def _write_port(level: MemoryLevel) -> float | None:
    return level.read_bandwidth if level.shared_port else level.write_bandwidth


def _time(bits: int, bandwidth: float | None) -> Fraction:
    return Fraction(0) if bandwidth is None else Fraction(bits, 8) / Fraction(bandwidth)

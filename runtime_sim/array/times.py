"""How long the first tiles take inwards, and the last sums outwards.

A memory sends one tile at a time, inputs before weights before old sums, each when it has it
whole. Sending takes as long as the slowest of its own port, the links and the receiving port.
"""

from collections.abc import Sequence
from fractions import Fraction

from ...ir.arch import MemoryLevel
from ...ir.workload import Operand
from .nest import ArrayNest, Hop, Leg

_ORDER = (Operand.I, Operand.W, Operand.O)


def fill_time(nest: ArrayNest, *, accumulate: bool) -> Fraction:
    """Return the time until the innermost memories have their first tiles [cycle]."""
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

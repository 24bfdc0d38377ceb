"""What passes every port of the array's memories and links while an instruction runs.

The loops are an odometer. A step that turns loop ``p`` resets those inside of it; a tile that
starts at loop ``s`` is another one after that step where a loop from ``p`` to ``s - 1`` indexes its
operand. So the tiles that a memory gets are counted by the turns of each loop.

Sums: where several children add into one element, the first of them takes up the sums that the
parent has, the others start from zero. A memory that itself starts from zero forgets what its
children had sent up before.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ...ir.workload import RELEVANT, Operand
from .nest import ArrayNest, Hop, Leg


class Side(StrEnum):
    """Reads and writes of a memory; down (to the MACs) and up over the links of a fan-out."""

    READ = "read"
    WRITE = "write"
    DOWN = "down"
    UP = "up"


@dataclass(frozen=True, slots=True)
class Count:
    """What passed one side of a memory or fan-out.

    Attributes:
        place: Memory level or fan-out.
        operand: The tensor.
        side: Which side.
        bits: Over all instances of the NPU [bit].
        busiest: Through the busiest instance or link [bit].
    """

    place: str
    operand: Operand
    side: Side
    bits: int
    busiest: int


class _Sums:
    """Adds up counts of one place, operand and side."""

    def __init__(self) -> None:
        self.bits: Counter[tuple[str, Operand, Side]] = Counter()
        self.busiest: Counter[tuple[str, Operand, Side]] = Counter()

    def add(self, place: str, operand: Operand, side: Side, bits: int, busiest: int) -> None:
        self.bits[place, operand, side] += bits
        self.busiest[place, operand, side] += busiest

    def counts(self) -> tuple[Count, ...]:
        return tuple(
            Count(*key, bits, self.busiest[key]) for key, bits in self.bits.items() if bits
        )


def count_accesses(nest: ArrayNest, *, accumulate: bool) -> tuple[Count, ...]:
    """Return what passes all ports.

    Args:
        nest: The loops.
        accumulate: Whether the sums' home holds sums that are added to.
    """
    sums = _Sums()
    for operand in (Operand.W, Operand.I):
        for leg in nest.legs(operand):
            _count_inputs(nest, leg, sums)
    legs = nest.legs(Operand.O)
    for position, leg in enumerate(legs[:-1]):
        _count_departures(nest, leg, sums)
        _count_returns(nest, legs[: position + 1], sums, accumulate=accumulate)
    _count_updates(nest, legs, sums, accumulate=accumulate)
    return sums.counts()


def visits(nest: ArrayNest, operand: Operand, start: int) -> int:
    """Return how many tiles that start at a loop one instance gets, one after the other.

    Args:
        nest: The loops.
        operand: Whose tiles.
        start: Loop from which on they extend inwards.
    """
    found, turns = 1, 1
    for position, loop in enumerate(nest.nest.temporal[:start]):
        changes = any(
            inner.extent > 1 and inner.dim in RELEVANT[operand]
            for inner in nest.nest.temporal[position:start]
        )
        if changes:
            found += (loop.extent - 1) * turns
        turns *= loop.extent
    return found


def _different(nest: ArrayNest, operand: Operand, start: int) -> int:
    """Return how many different tiles that start at a loop there are for one instance."""
    outer = nest.nest.temporal[:start]
    return math.prod(loop.extent for loop in outer if loop.dim in RELEVANT[operand])


def _transfers(hops: Sequence[Hop]) -> int:
    return math.prod(hop.transfers for hop in hops)


def _telling(hops: Sequence[Hop]) -> int:
    return math.prod(hop.telling for hop in hops)


def _count_inputs(nest: ArrayNest, leg: Leg, sums: _Sums) -> None:
    turns = nest.steps if leg.child is None else visits(nest, leg.operand, leg.start)
    each = turns * leg.elements * nest.bits(leg.operand)
    sent = each * _transfers(leg.hops)
    sums.add(leg.parent.name, leg.operand, Side.READ, sent * leg.parents, sent)
    links = leg.parents
    for position, hop in enumerate(leg.hops):
        links *= hop.children
        crossing = each * _transfers(leg.hops[position + 1 :])
        sums.add(hop.fanout.name, leg.operand, Side.DOWN, crossing * links, crossing)
    if leg.child is not None:
        sums.add(leg.child.name, leg.operand, Side.WRITE, each * links, each)


def _count_departures(nest: ArrayNest, leg: Leg, sums: _Sums) -> None:
    """Count the way of sums outwards: every tile leaves when the next one comes, and at the end."""
    assert leg.child is not None
    each = visits(nest, Operand.O, leg.start) * leg.elements * nest.psum_bits
    links = leg.parents
    for position, hop in enumerate(leg.hops):
        links *= hop.children
        crossing = each * _telling(leg.hops[position + 1 :])
        sums.add(hop.fanout.name, Operand.O, Side.UP, crossing * links, crossing)
    sums.add(leg.child.name, Operand.O, Side.READ, each * links, each)
    arriving = each * _telling(leg.hops)
    sums.add(leg.parent.name, Operand.O, Side.WRITE, arriving * leg.parents, arriving)


def _returns(nest: ArrayNest, legs: Sequence[Leg], *, accumulate: bool) -> tuple[int, int]:
    """Return how many tiles the children of the last leg take up again, all and the first of them.

    Only the first of the children that add up takes sums up. How often depends on which memory
    above it, if any, was not the first and forgets: it sees each tile anew in each of its visits.
    """
    *outer, last = legs
    turns, different = (
        visits(nest, Operand.O, last.start),
        _different(nest, Operand.O, last.start),
    )
    first = turns if accumulate else turns - different
    homes = legs[0].parents
    total = homes * math.prod(_telling(leg.hops) for leg in legs) * first
    for position, leg in enumerate(outer):
        alike = math.prod(hop.alike for hop in leg.hops)
        forgetful = math.prod(hop.children for above in outer[:position] for hop in above.hops) * (
            _telling(leg.hops) * (alike - 1)
        )
        below = math.prod(_telling(item.hops) for item in outer[position + 1 :])
        anew = visits(nest, Operand.O, leg.start) * (
            different // _different(nest, Operand.O, leg.start)
        )
        total += homes * forgetful * below * _telling(last.hops) * (turns - anew)
    return total, first


def _count_returns(nest: ArrayNest, legs: Sequence[Leg], sums: _Sums, *, accumulate: bool) -> None:
    leg = legs[-1]
    assert leg.child is not None
    total, first = _returns(nest, legs, accumulate=accumulate)
    every, each = (count * leg.elements * nest.psum_bits for count in (total, first))
    sums.add(leg.parent.name, Operand.O, Side.READ, every, each * _telling(leg.hops))
    for position, hop in enumerate(leg.hops):
        crossing = each * _telling(leg.hops[position + 1 :])
        sums.add(hop.fanout.name, Operand.O, Side.DOWN, every, crossing)
    sums.add(leg.child.name, Operand.O, Side.WRITE, every, each)


def _count_updates(nest: ArrayNest, legs: Sequence[Leg], sums: _Sums, *, accumulate: bool) -> None:
    """Count the updates of the innermost memory, and the way of products to it."""
    leg, width = legs[-1], nest.psum_bits
    updates = nest.steps * _telling(leg.hops)
    fresh, own = _fresh_elements(nest, legs, accumulate=accumulate)
    place = leg.parent.name
    sums.add(place, Operand.O, Side.WRITE, updates * leg.parents * width, updates * width)
    read = (updates * leg.parents - fresh) * width
    sums.add(place, Operand.O, Side.READ, read, (updates - own) * width)
    links = leg.parents
    for position, hop in enumerate(leg.hops):
        links *= hop.children
        crossing = nest.steps * _telling(leg.hops[position + 1 :]) * width
        sums.add(hop.fanout.name, Operand.O, Side.UP, crossing * links, crossing)


def _fresh_elements(nest: ArrayNest, legs: Sequence[Leg], *, accumulate: bool) -> tuple[int, int]:
    """Return the elements whose first update reads nothing: of all instances, of the first."""
    if len(legs) == 1:
        own = (
            0 if accumulate else _different(nest, Operand.O, legs[0].start) * _telling(legs[0].hops)
        )
        return own * legs[0].parents, own
    last = legs[-2]
    turns = visits(nest, Operand.O, last.start)
    total, first = _returns(nest, legs[:-1], accumulate=accumulate)
    children = last.parents * math.prod(hop.children for hop in last.hops)
    return (children * turns - total) * last.elements, (turns - first) * last.elements

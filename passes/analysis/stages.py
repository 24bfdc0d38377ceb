"""Stages of an operand's way: from one memory to the next inner one, or to the MACs.

A *stage* leads from one instance of a parent memory over the fan-outs between to instances of a
child memory, or to the MACs. What moves is the child's whole tile.

- *visits*: how often a child instance gets a (new) tile. A tile stays while only loops run that
  do not index its operand, so the innermost irrelevant loops outside of the tile do not count;
  every step of a loop further out does. There is no reuse between neighbouring tiles: a halo is
  fetched again with each tile (whole-tile refetch). The MACs keep nothing: every step is a visit.
- *tiles*: how many different tiles a child instance sees: the steps of relevant loops outside.
- *copies*: how many times the parent reads an element per visit of all its children: once per
  child with different contents; children with equal contents share one read where the fan-out
  can multicast the operand.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ...ir.arch import Architecture, Fanout
from ...ir.mapping import Loop
from ...ir.workload import RELEVANT, Operand
from .view import NestView


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One fan-out on the way of an operand.

    Attributes:
        fanout: The fan-out.
        relevant: Unrolling over it along dimensions that index the operand.
        irrelevant: Unrolling over it along the others.
        multicast: Whether equal contents for several children cross as one transfer.
    """

    fanout: Fanout
    relevant: int
    irrelevant: int
    multicast: bool

    @property
    def children(self) -> int:
        """Children that take part."""
        return self.relevant * self.irrelevant

    @property
    def copies(self) -> int:
        """Transfers that leave the parent for one tile of every child."""
        return self.relevant if self.multicast else self.children


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The way of an operand from one memory to the next inner one.

    Attributes:
        operand: What moves.
        parent: Name of the outer memory.
        child: Name of the inner memory; ``None`` are the MACs.
        start: Loop at which the child's tile starts.
        visits: Tiles that one child instance gets, in time.
        tiles: Different tiles among them.
        elements: Elements of one tile.
        hops: Fan-outs between, outermost first.
        above: Fan-outs above the parent, outermost first.
    """

    operand: Operand
    parent: str
    child: str | None
    start: int
    visits: int
    tiles: int
    elements: int
    hops: tuple[Hop, ...]
    above: tuple[Hop, ...]

    @cached_property
    def parents(self) -> int:
        """Instances of the parent that take part."""
        return math.prod(hop.children for hop in self.above)

    @cached_property
    def children(self) -> int:
        """Instances of the child that take part, beneath all parents."""
        return self.parents * math.prod(hop.children for hop in self.hops)

    @cached_property
    def copies(self) -> int:
        """Reads of one parent instance per element and visit."""
        return copies_of(self.hops)


def copies_of(hops: Sequence[Hop]) -> int:
    """Return the transfers that leave the top of consecutive fan-outs for one visit."""
    return math.prod(hop.copies for hop in hops)


def relevant_of(hops: Sequence[Hop]) -> int:
    """Return the unrolling of consecutive fan-outs along relevant dimensions."""
    return math.prod(hop.relevant for hop in hops)


def reduction_of(hops: Sequence[Hop]) -> int:
    """Return the unrolling of consecutive fan-outs along irrelevant dimensions."""
    return math.prod(hop.irrelevant for hop in hops)


def stages_of(view: NestView, arch: Architecture, operand: Operand) -> tuple[Stage, ...]:
    """Return the stages of an operand, outermost first; the last one ends at the MACs."""
    chain = view.chains[operand]
    ends: list[tuple[str | None, int]] = [*chain[1:], (None, len(view.temporal))]
    return tuple(
        _stage(view, arch, operand, parent, child, start)
        for (parent, _), (child, start) in zip(chain, ends, strict=True)
    )


def _stage(
    view: NestView, arch: Architecture, operand: Operand, parent: str, child: str | None, start: int
) -> Stage:
    top = arch.index(parent)
    bottom = len(arch.levels) if child is None else arch.index(child)
    hops = [(arch.index(fanout.below), _hop(view, operand, fanout)) for fanout in arch.fanouts]
    outer = view.temporal[:start]
    return Stage(
        operand=operand,
        parent=parent,
        child=child,
        start=start,
        visits=view.steps if child is None else visits(operand, outer),
        tiles=math.prod(loop.extent for loop in outer if loop.dim in RELEVANT[operand]),
        elements=1 if child is None else view.tile_elements(arch, operand, child, start),
        hops=tuple(hop for below, hop in hops if top <= below < bottom),
        above=tuple(hop for below, hop in hops if below < top),
    )


def visits(operand: Operand, outer: Sequence[Loop]) -> int:
    """Return how often the tile inside of ``outer`` changes, its first appearance included."""
    turn = len(outer)
    while turn > 0 and not (
        outer[turn - 1].dim in RELEVANT[operand] and outer[turn - 1].extent > 1
    ):
        turn -= 1
    return math.prod(loop.extent for loop in outer[:turn])


def _hop(view: NestView, operand: Operand, fanout: Fanout) -> Hop:
    return Hop(
        fanout=fanout,
        relevant=view.unrolled(fanout.name, RELEVANT[operand], inside=True),
        irrelevant=view.unrolled(fanout.name, RELEVANT[operand], inside=False),
        multicast=operand in fanout.multicast,
    )

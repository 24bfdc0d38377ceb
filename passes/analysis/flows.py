"""The flow table: everything that passes a port, as products that loops and unrolling fill in.

An operand crosses a *chain* of memories, from its source to the MACs. A *boundary* leads from one
instance of a memory (the parent) over the fan-outs between to instances of the next inner one (the
child), or to the MACs; what moves is the child's whole tile. Over each boundary moves

    elements x (a x visits + b x tiles)

- *elements* of one tile; at the MACs, one;
- *visits*: how often a child gets a (new) tile. A tile is kept while only loops run that do not
  index its operand, so the innermost irrelevant loops outside of it do not count. There is no reuse
  between neighbouring tiles: a halo is fetched again with each (whole-tile refetch). The MACs keep
  nothing: every step is a visit;
- *tiles*: how many different ones are among them: the steps of relevant loops outside;
- ``a`` and ``b`` follow from the architecture, the chains and the unrolling alone. They are what is
  written down here, once, for every engine: arrays of nests (:mod:`.counts`), the matrices of
  SALSA's kernel, the logarithms of CoSA's integer program.

*Weights and inputs*: per visit, the parent reads the child's tile once per child with different
contents (children with equal contents share a read where the fan-out can multicast the operand),
every child writes it, and it crosses the links between. The MACs read both in every step.

*Outputs*: in every step, products of MACs that differ only along reduction dimensions are added on
their way up, and the innermost memory updates one element for each sum that arrives: it reads the
old value, unless this is the first since the tile was started from zero, and writes the new one. At
the end of each visit the child reads its tile out and the parent writes it (sums of children that
differ only along reduction dimensions are added on the way, and written once). When a tile comes
back, its sums are read back from the parent by the first of those children; the others start from
zero.

*Widths*: sums travel at accumulator width. The last visit of a tile carries finished outputs at
output width, once all spatial reduction lies beneath; they are converted on their way out of the
innermost memory, which itself always holds sums.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache

from ...ir.arch import Architecture, Fanout
from ...ir.workload import OPERANDS, Operand
from .traffic import Direction

Factors = frozenset[tuple[str, bool]]
"""A product of unrolled extents: (fan-out, whether along dimensions that index the operand)."""

Chains = tuple[tuple[str, ...], ...]
"""Memories of W, I and O, the source first."""


class Kind(StrEnum):
    """When something passes.

    ``move``: in every visit. ``drain``: outputs, in every visit; the last one of a tile may carry
    finished ones. ``back``: sums, in every visit of a tile but its first. ``start``: what is *not*
    read, because a sum starts from zero: to be taken off.
    """

    MOVE = "move"
    DRAIN = "drain"
    BACK = "back"
    START = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """From one memory of a chain to the next.

    Attributes:
        operand: What crosses.
        position: Of the parent in the chain.
        parent: Name of the outer memory.
        child: Name of the inner memory; ``None`` are the MACs.
        above: Fan-outs above the parent, outermost first.
        hops: Fan-outs between, outermost first.
    """

    operand: Operand
    position: int
    parent: str
    child: str | None
    above: tuple[Fanout, ...]
    hops: tuple[Fanout, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What passes one port at one boundary.

    Attributes:
        boundary: Where.
        place: A memory level (reads, writes) or a fan-out (down, up: the links of its children).
        direction: Which way.
        kind: When.
        tiles: How many tiles pass one instance of the place at a time.
        instances: How many instances of the place there are; of ``back`` and ``start``, fewer
            take part (:meth:`.counts.Counts.returned`).
        open: Of ``drain``: products that are 1 where sums that pass are finished in the last visit;
            ``None`` where none ever is.
    """

    boundary: Boundary
    place: str
    direction: Direction
    kind: Kind
    tiles: Factors
    instances: Factors
    open: Factors | None = None

    @property
    def operand(self) -> Operand:
        """What passes."""
        return self.boundary.operand

    @property
    def at_macs(self) -> bool:
        """Whether this is the way between a memory and the MACs."""
        return self.boundary.child is None


@dataclass(frozen=True, eq=False)
class FlowTable:
    """All flows of an architecture with given chains; there is one of each (:func:`flow_table`).

    Attributes:
        arch: The machine.
        chains: Memories of W, I and O, the source first.
    """

    arch: Architecture
    chains: Chains

    @cached_property
    def boundaries(self) -> tuple[Boundary, ...]:
        """Of W, I and O, each from the source to the MACs."""
        return tuple(
            Boundary(
                operand=operand,
                position=position,
                parent=parent,
                child=child,
                above=self._fanouts(0, self.arch.index(parent)),
                hops=self._fanouts(
                    self.arch.index(parent),
                    len(self.arch.levels) if child is None else self.arch.index(child),
                ),
            )
            for operand, chain in zip(OPERANDS, self.chains, strict=True)
            for position, (parent, child) in enumerate(zip(chain, (*chain[1:], None), strict=True))
        )

    def _fanouts(self, top: int, bottom: int) -> tuple[Fanout, ...]:
        arch = self.arch
        return tuple(item for item in arch.fanouts if top <= arch.index(item.below) < bottom)

    def of(self, operand: Operand) -> tuple[Boundary, ...]:
        """Return the boundaries of an operand, outermost first; the last one is at the MACs."""
        return tuple(item for item in self.boundaries if item.operand is operand)

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """All flows, boundary by boundary."""
        sums = self.of(Operand.O)
        found: list[Flow] = []
        for boundary in self.boundaries:
            if boundary.operand is not Operand.O:
                found += _inwards(boundary)
            elif boundary.child is None:
                found += _updates(boundary, starts=len(sums) == 1)
            else:
                found += _outwards(boundary, innermost=boundary is sums[-2])
        return tuple(found)


@lru_cache(maxsize=64)
def flow_table(arch: Architecture, chains: Chains) -> FlowTable:
    """Return the table of an architecture and the chains of W, I and O."""
    return FlowTable(arch, chains)


def relevant(fanouts: Iterable[Fanout]) -> Factors:
    """Return the unrolling along dimensions that index the operand."""
    return frozenset((item.name, True) for item in fanouts)


def others(fanouts: Iterable[Fanout]) -> Factors:
    """Return the unrolling along dimensions that do not index the operand; of outputs: sums."""
    return frozenset((item.name, False) for item in fanouts)


def children(fanouts: Iterable[Fanout]) -> Factors:
    """Return all children that take part."""
    return frozenset((item.name, part) for item in fanouts for part in (True, False))


def copies(operand: Operand, fanouts: Iterable[Fanout]) -> Factors:
    """Return the transfers that leave the top of consecutive fan-outs for one tile of each child.

    Parts of one sum are always added up on their way.
    """
    own = tuple(fanouts)
    if operand is Operand.O:
        return relevant(own)
    unshared = others(item for item in own if operand not in item.multicast)
    return unshared | relevant(own)


def _inwards(boundary: Boundary) -> Iterator[Flow]:
    """Yield the way of a tile from its parent to all its children."""
    yield _at_parent(boundary, Direction.READ, Kind.MOVE)
    if boundary.child is not None:
        yield _at_child(boundary, Direction.WRITE, Kind.MOVE)
    for position in range(len(boundary.hops)):
        yield _on_link(boundary, position, Direction.DOWN, Kind.MOVE)


def _outwards(boundary: Boundary, *, innermost: bool) -> Iterator[Flow]:
    """Yield the way of a tile of sums to its parent, and back."""
    crossed = others((*boundary.above, *boundary.hops))
    yield _at_parent(boundary, Direction.WRITE, Kind.DRAIN, others(boundary.above))
    yield _at_parent(boundary, Direction.READ, Kind.BACK)
    yield _at_child(boundary, Direction.WRITE, Kind.BACK)
    yield _at_child(boundary, Direction.READ, Kind.DRAIN, None if innermost else crossed)
    if innermost:
        yield _at_child(boundary, Direction.READ, Kind.START)
    for position in range(len(boundary.hops)):
        passed = others((*boundary.above, *boundary.hops[: position + 1]))
        yield _on_link(boundary, position, Direction.UP, Kind.DRAIN, passed)
        yield _on_link(boundary, position, Direction.DOWN, Kind.BACK)


def _updates(boundary: Boundary, *, starts: bool) -> Iterator[Flow]:
    """Yield the updates of the innermost memory.

    Args:
        boundary: The last one of the outputs.
        starts: Whether sums start from zero where they come from: no memory is further out.
    """
    yield _at_parent(boundary, Direction.READ, Kind.MOVE)
    if starts:
        yield _at_parent(boundary, Direction.READ, Kind.START)
    yield _at_parent(boundary, Direction.WRITE, Kind.MOVE)
    for position in range(len(boundary.hops)):
        yield _on_link(boundary, position, Direction.UP, Kind.MOVE)


def _at_parent(
    boundary: Boundary, direction: Direction, kind: Kind, unfinished: Factors | None = None
) -> Flow:
    return Flow(
        boundary=boundary,
        place=boundary.parent,
        direction=direction,
        kind=kind,
        tiles=copies(boundary.operand, boundary.hops),
        instances=children(boundary.above),
        open=unfinished,
    )


def _at_child(
    boundary: Boundary, direction: Direction, kind: Kind, unfinished: Factors | None = None
) -> Flow:
    assert boundary.child is not None
    return Flow(
        boundary=boundary,
        place=boundary.child,
        direction=direction,
        kind=kind,
        tiles=frozenset(),
        instances=children((*boundary.above, *boundary.hops)),
        open=unfinished,
    )


def _on_link(
    boundary: Boundary,
    position: int,
    direction: Direction,
    kind: Kind,
    unfinished: Factors | None = None,
) -> Flow:
    """Return what passes the links of one of the fan-outs between."""
    return Flow(
        boundary=boundary,
        place=boundary.hops[position].name,
        direction=direction,
        kind=kind,
        tiles=copies(boundary.operand, boundary.hops[position + 1 :]),
        instances=children((*boundary.above, *boundary.hops[: position + 1])),
        open=unfinished,
    )

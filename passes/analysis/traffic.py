"""Accesses of every memory and transfers over every fan-out, counted from the stages.

*Weights and inputs*: per visit, the parent reads the child's tile once per distinct child, every
child writes it, and it crosses the links between. The MACs read both operands in every step.

*Outputs*: in every step, the products of MACs that differ only along reduction dimensions are
added on their way up, and the innermost memory of the chain updates one element for each sum that
arrives: it reads the old value, unless this is the first since the tile was started from zero, and
writes the new one. At the end of each visit the child reads its tile out and the parent writes it
(sums of children that differ only along reduction dimensions are added on the way, and written
once). When a tile comes back, its partial sums are read back from the parent by the first of
those children; the others start from zero.

*Widths*: partial sums travel at accumulator width. The last visit of a tile carries finished
outputs at output width, once all spatial reduction lies beneath; the conversion happens on the way
out of the innermost memory, which itself always holds partial sums.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ...ir.arch import Architecture
from ...ir.workload import Operand
from .sliding import fetched_elements, index_steps
from .stages import Stage, copies_of, reduction_of, relevant_of, stages_of
from .view import NestView


class Direction(StrEnum):
    """Reads or writes of a memory; for a link, down (towards the MACs) or up."""

    READ = "read"
    WRITE = "write"
    DOWN = "down"
    UP = "up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Elements of one operand through one port.

    Attributes:
        place: A memory level (reads, writes) or a fan-out (down, up: the links of its children).
        operand: The tensor.
        direction: Which way.
        elements: Over all instances of one NPU [element].
        bits: Over all instances [bit].
        busiest_bits: Through the busiest instance, or link [bit].
    """

    place: str
    operand: Operand
    direction: Direction
    elements: int
    bits: int
    busiest_bits: int

    @property
    def bytes(self) -> float:
        """Over all instances [byte]."""
        return self.bits / 8


@dataclass(frozen=True, slots=True)
class _Width:
    """Widths of an output element on its way [bit]."""

    psum: int
    finished: int

    def bits(self, visits: int, last: int, *, done: bool) -> int:
        """Return the bits of ``visits`` transfers, of which ``last`` may be finished."""
        if not done:
            return visits * self.psum
        return (visits - last) * self.psum + last * self.finished


def count_traffic(
    view: NestView,
    arch: Architecture,
    *,
    count_first_read: bool = False,
    slide: bool = False,
) -> tuple[Traffic, ...]:
    """Return all traffic of a nest, one entry per place, operand and direction.

    Args:
        view: The nest.
        arch: The machine.
        count_first_read: Whether the zero that starts a sum is read, from every memory on its
            way, as if it were stored (some other models count so).
        slide: Whether input rows and columns that a tile shares with the one before it are kept
            (Timeloop counts so; see :mod:`.sliding`).
    """
    parts: list[Traffic] = []
    for operand in (Operand.W, Operand.I):
        for stage in stages_of(view, arch, operand):
            moved = stage.visits * stage.elements
            if slide and operand is Operand.I and stage.child is not None:
                tile = view.tile(arch, stage.child, stage.start)
                outer = view.temporal[: stage.start]
                steps = index_steps(view, arch, stage.child)
                moved = fetched_elements(view.workload, outer, steps, tile)
            parts += _input_stage(stage, moved, view.workload.bits(operand))
    width = _Width(output_psum_bits(view, arch), view.workload.output_bits)
    outputs = stages_of(view, arch, Operand.O)
    parts += _output_chain(outputs, width, count_first_read, view.has_sums)
    return _merged(parts)


def output_psum_bits(view: NestView, arch: Architecture) -> int:
    """Return the width of a partial sum [bit]."""
    return max(arch.accumulator_bits, view.workload.output_bits)


def _input_stage(stage: Stage, moved: int, bits: int) -> Iterator[Traffic]:
    """Yield the way of ``moved`` elements to each child."""

    def traffic(place: str, direction: Direction, instances: int, each: int) -> Traffic:
        return Traffic(
            place=place,
            operand=stage.operand,
            direction=direction,
            elements=instances * each,
            bits=instances * each * bits,
            busiest_bits=each * bits,
        )

    yield traffic(stage.parent, Direction.READ, stage.parents, moved * stage.copies)
    if stage.child is not None:
        yield traffic(stage.child, Direction.WRITE, stage.children, moved)
    links = stage.parents
    for position, hop in enumerate(stage.hops):
        links *= hop.children
        inner = copies_of(stage.hops[position + 1 :])
        yield traffic(hop.fanout.name, Direction.DOWN, links, moved * inner)


def _output_chain(
    stages: Sequence[Stage], width: _Width, count_first_read: bool, has_sums: bool
) -> Iterator[Traffic]:
    for position, stage in enumerate(stages[:-1]):
        yield from _drain(stage, width, innermost=position == len(stages) - 2)
        if count_first_read:
            every = stage.parents * relevant_of(stage.hops) * stage.visits
            yield from _read_back(stage, width, every, stage.visits)
        else:
            total = _readbacks(stages[: position + 1], has_sums)
            busiest = stage.visits if has_sums else stage.visits - stage.tiles
            yield from _read_back(stage, width, total, busiest)
    yield from _accumulate(stages, width, count_first_read, has_sums)


def _readbacks(stages: Sequence[Stage], has_sums: bool) -> int:
    """Return the tiles that all children of the last of ``stages`` read back from their parents.

    A parent that only first children lead to keeps its sums between its own visits: each tile of
    its children starts from zero once. Beneath a parent that is not the first child of its own
    stage, all tiles start anew with each visit of that parent. Where the source holds sums from
    the start, its first children never start from zero.
    """
    *outer, last = stages
    first_children = stages[0].parents * math.prod(relevant_of(stage.hops) for stage in stages)
    total = first_children * (last.visits - (0 if has_sums else last.tiles))
    others = first_children
    for stage in reversed(outer):
        reduced = reduction_of(stage.hops)
        restarts = stage.visits * (last.tiles // stage.tiles)
        total += others * (reduced - 1) * (last.visits - restarts)
        others *= reduced
    return total


def _zero_starts(stages: Sequence[Stage], has_sums: bool) -> int:
    """Return how often, over all instances of the last child, a tile starts from zero."""
    return stages[-1].children * stages[-1].visits - _readbacks(stages, has_sums)


def _drain(stage: Stage, width: _Width, *, innermost: bool) -> Iterator[Traffic]:
    """Yield the way of tiles up to the parent, once per visit."""
    assert stage.child is not None
    above_child = (*stage.above, *stage.hops)
    done_in_child = reduction_of(above_child) == 1 and not innermost
    each = width.bits(stage.visits, stage.tiles, done=done_in_child) * stage.elements
    yield _output(stage.child, Direction.READ, stage.children, stage, each, 1)
    for position, hop in enumerate(stage.hops):
        outer = (*stage.above, *stage.hops[: position + 1])
        links = math.prod(item.children for item in outer)
        inner = relevant_of(stage.hops[position + 1 :])
        bits = width.bits(stage.visits, stage.tiles, done=reduction_of(outer) == 1)
        yield _output(hop.fanout.name, Direction.UP, links, stage, bits * stage.elements, inner)
    done = reduction_of(stage.above) == 1
    each = width.bits(stage.visits, stage.tiles, done=done) * stage.elements
    yield _output(
        stage.parent, Direction.WRITE, stage.parents, stage, each, relevant_of(stage.hops)
    )


def _output(
    place: str, direction: Direction, instances: int, stage: Stage, tile_bits: int, tiles: int
) -> Traffic:
    return Traffic(
        place=place,
        operand=Operand.O,
        direction=direction,
        elements=instances * tiles * stage.visits * stage.elements,
        bits=instances * tiles * tile_bits,
        busiest_bits=tiles * tile_bits,
    )


def _read_back(stage: Stage, width: _Width, total: int, busiest: int) -> Iterator[Traffic]:
    """Yield the way of partial sums back to the first children.

    Args:
        stage: The stage.
        width: Widths of an element.
        total: Tiles read back by all children.
        busiest: Tiles read back by the busiest child.
    """
    assert stage.child is not None

    def traffic(place: str, direction: Direction, tiles: int) -> Traffic:
        return Traffic(
            place=place,
            operand=Operand.O,
            direction=direction,
            elements=total * stage.elements,
            bits=total * stage.elements * width.psum,
            busiest_bits=tiles * busiest * stage.elements * width.psum,
        )

    yield traffic(stage.parent, Direction.READ, relevant_of(stage.hops))
    for position, hop in enumerate(stage.hops):
        inner = relevant_of(stage.hops[position + 1 :])
        yield traffic(hop.fanout.name, Direction.DOWN, inner)
    yield traffic(stage.child, Direction.WRITE, 1)


def _accumulate(
    stages: Sequence[Stage], width: _Width, count_first_read: bool, has_sums: bool
) -> Iterator[Traffic]:
    """Yield the updates of the innermost memory by the MACs."""
    macs = stages[-1]
    spread = relevant_of(macs.hops)
    updates = macs.visits * spread
    elements = _innermost_elements(stages)
    starts, own_starts = _innermost_starts(stages, has_sums)
    if count_first_read:
        starts = own_starts = 0
    reads = macs.parents * updates - starts * elements

    def traffic(direction: Direction, total: int, busiest: int) -> Traffic:
        return Traffic(
            place=macs.parent,
            operand=Operand.O,
            direction=direction,
            elements=total,
            bits=total * width.psum,
            busiest_bits=busiest * width.psum,
        )

    yield traffic(Direction.READ, reads, updates - own_starts * elements)
    yield traffic(Direction.WRITE, macs.parents * updates, updates)
    links = macs.parents
    for position, hop in enumerate(macs.hops):
        links *= hop.children
        each = macs.visits * relevant_of(macs.hops[position + 1 :])
        yield Traffic(
            place=hop.fanout.name,
            operand=Operand.O,
            direction=Direction.UP,
            elements=links * each,
            bits=links * each * width.psum,
            busiest_bits=each * width.psum,
        )


def _innermost_elements(stages: Sequence[Stage]) -> int:
    """Return the elements that one zero start of the innermost memory covers."""
    if len(stages) > 1:
        return stages[-2].elements
    return stages[-1].tiles * relevant_of(stages[-1].hops)


def _innermost_starts(stages: Sequence[Stage], has_sums: bool) -> tuple[int, int]:
    """Return zero starts over all instances of the innermost memory, and of its first instance."""
    if len(stages) > 1:
        return _zero_starts(stages[:-1], has_sums), 0 if has_sums else stages[-2].tiles
    return (0, 0) if has_sums else (stages[-1].parents, 1)


def _merged(parts: Iterable[Traffic]) -> tuple[Traffic, ...]:
    found: dict[tuple[str, Operand, Direction], Traffic] = {}
    for part in parts:
        key = (part.place, part.operand, part.direction)
        known = found.get(key)
        found[key] = part if known is None else _sum(known, part)
    return tuple(item for item in found.values() if item.elements > 0)


def _sum(a: Traffic, b: Traffic) -> Traffic:
    return Traffic(
        place=a.place,
        operand=a.operand,
        direction=a.direction,
        elements=a.elements + b.elements,
        bits=a.bits + b.bits,
        busiest_bits=a.busiest_bits + b.busiest_bits,
    )

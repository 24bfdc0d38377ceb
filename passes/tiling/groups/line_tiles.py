"""The tiles that the lines of a fused group lie in, and the copies of rows that stripes keep.

    stripe 0    rows 0-3 of x come             lines of x: rows 0-3
    stripe 1    rows 4-6 come, 2-3 are kept    lines of x: rows 2-6, copied to from both tiles

:mod:`.lines` says when that happens; the tiles of chains, which read lines and write them, are made
in :mod:`.chain_tiles`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from ....ir.graph import Graph, Op
from ....ir.isa.instructions import Space, Unit
from ....ir.operators.access import Box, size_of, whole
from ....ir.tiles.graph import Range, Role, Tile, TileOp, dense_strides
from ....ir.types import TensorType
from ..collect import TileCollector, cuts
from .chains import Chain, inputs_of
from .members import Members
from .rows import row_axis
from .stripes import Stripe

Block = tuple[TileOp, ...]
"""An operation, and those that follow it at once."""


class RollingLines(NamedTuple):
    """Lines in which new rows take the place of old ones.

    Attributes:
        every: All rows that are in them some time.
        at_once: How many are there together.
    """

    every: Range
    at_once: int


@dataclass
class LineTiles:
    """Lines on chip in the making; local to one tiling.

    Attributes:
        members: Whose lines they are.
        collector: Where tiles and operations go.
        sharing: How many NPUs share each copy of rows that are kept.
        rolling: Lines that roll, by their tensors.
        now: Tile that holds the lines of each tensor.
        before: Earlier lines of tensors of which the new ones keep rows.
        kept: Tile that holds the rows which the next lines of a tensor keep.
        copies: What copies rows that are kept to new lines, by the tile of these.
        joined: Tiles whose rows are copied to new lines before these are read.
        fetched: Of what comes row by row: rows, and the tile that they came in.
    """

    members: Members
    collector: TileCollector
    sharing: int
    rolling: Mapping[str, RollingLines]
    now: dict[str, int] = field(default_factory=dict[str, int])
    before: dict[str, int] = field(default_factory=dict[str, int])
    kept: dict[str, int] = field(default_factory=dict[str, int])
    copies: dict[int, Block] = field(default_factory=dict[int, Block])
    joined: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    fetched: dict[str, list[tuple[Range, int]]] = field(
        default_factory=dict[str, list[tuple[Range, int]]]
    )

    @property
    def graph(self) -> Graph:
        """The network."""
        return self.members.graph

    def bring(self, name: str, rows: Range) -> None:
        """Take the lines of an input; rows that are there already are not fetched again.

        Args:
            name: The input.
            rows: What members read of it in a stripe.
        """
        if name in self.members.row_by_row:
            self._fetch_rows(name, rows.stop)
            return
        if self.members.is_resident(name):
            self.now[name] = self.collector.tile(self.whole(name))
            return
        type, known = self.graph.types[name], self.now.get(name)
        there = None if known is None else self.collector.tiles[known].box[row_axis(type)]
        if there is not None and _within(rows, there):
            return
        lines = self.tile(name, Role.I, rows_box(type, rows))
        if known is not None and there is not None and rows.start < there.stop:
            added = self.tile(name, Role.I, rows_box(type, Range(there.stop, rows.stop)))
            self.joined[name] = (self.kept.pop(name, known), self.collector.tile(added))
            lines = replace(lines, role=Role.INNER)
        self.now[name] = self.collector.tile(lines)

    def _fetch_rows(self, name: str, stop: int) -> None:
        """Take the rows of an input that are not on chip yet, as a tile of their own."""
        known = self.fetched.setdefault(name, [])
        start = known[-1][0].stop if known else 0
        if stop > start:
            rows = Range(start, stop)
            tile = self.tile(name, Role.I, rows_box(self.graph.types[name], rows))
            known.append((rows, self.collector.tile(tile)))

    def begin(self, op: Op, stripe: Stripe) -> None:
        """Begin new lines of what a chain makes in a stripe, and note those that have kept rows.

        Args:
            op: The last member of the chain.
            stripe: The stripe.
        """
        self.before.pop(op.name, None)
        made = stripe.made.get(op.name)
        if made is None or op.name in self.members.ends or op.name in self.members.homes:
            return
        if self.members.is_resident(op.name):
            self.now[op.name] = self.collector.tile(self.whole(op.name))
            return
        if op.name in self.rolling:
            every, at_once = self.rolling[op.name]
            tile = self.tile(op.name, Role.INNER, rows_box(op.result.type, every))
            self.now[op.name] = self.collector.tile(replace(tile, rolls=at_once))
            return
        rows = stripe.lines[op.name]
        if rows.start < made.start:
            if op.name in self.kept:
                self.joined[op.name] = (self.kept.pop(op.name),)
            else:
                self.before[op.name] = self.now[op.name]
        box = rows_box(op.result.type, rows)
        role = Role.O if op.name in self.members.handed_out else Role.INNER
        self.now[op.name] = self.collector.tile(self.tile(op.name, role, box))

    def tile_with(self, name: str, rows: Range) -> int:
        """Return the tile that holds rows of what the first operator of a chain reads.

        Args:
            name: What it reads.
            rows: The rows.
        """
        for part, tile in reversed(self.fetched.get(name, ())):
            if _within(rows, part):
                return tile
        return self.now[self.members.home(name).tensor]

    def within_tiles(self, ops: Sequence[Op], rows: Range) -> Iterator[Range]:
        """Yield rows cut so that each operator finds what it reads in one tile.

        Args:
            ops: The operators.
            rows: What they make.
        """
        read = {name for op in ops for name in op.inputs} & self.members.row_by_row
        ends = {part.stop for name in read for part, _ in self.fetched[name]}
        inner = sorted(end for end in ends if rows.start < end < rows.stop)
        yield from (Range(*pair) for pair in pairwise((rows.start, *inner, rows.stop)))

    def join(self, chain: Chain) -> Iterator[Block]:
        """Yield what copies kept rows, and new ones of inputs, to lines before they are read.

        Args:
            chain: Who reads them.
        """
        for name in sorted(self.joined.keys() & inputs_of(chain)):
            lines, axis = self.now[name], row_axis(self.graph.types[name])
            first = self.collector.tiles[lines].box[axis].start
            for tile in self.joined.pop(name):
                rows = self.collector.tiles[tile].box[axis]
                part = Range(max(first, rows.start), rows.stop)
                yield self._copied_rows(self._made_by(chain, name), name, part, tile, lines)

    def copy_kept(self, chain: Chain, stripe: Stripe) -> Iterator[Block]:
        """Yield what copies rows of the old lines to the new ones, if these keep some.

        Args:
            chain: Who writes to the new ones; of several, one has to copy, all the same block.
            stripe: The stripe.
        """
        name = self.members.home(chain[-1].name).tensor
        if name in self.before:
            rows = Range(stripe.lines[name].start, stripe.made[name].start)
            op, old, new = self.graph.producer[name], self.before[name], self.now[name]
            if new not in self.copies:
                self.copies[new] = self._copied_rows(op, name, rows, old, new)
            yield self.copies[new]

    def keep_rows(self, chain: Chain, name: str, lines: Range) -> Iterator[Block]:
        """Yield what copies the rows that the next lines keep, so that these ones may end.

        Args:
            chain: Who has read them.
            name: The tensor.
            lines: Its next lines.
        """
        old = self.now.get(name)
        if old is None or self.collector.tiles[old].is_resident:
            return
        type = self.graph.types[name]
        there = self.collector.tiles[old].box[row_axis(type)]
        rows = Range(lines.start, there.stop)
        self.kept[name] = old
        if rows != there:
            kept = self.tile(name, Role.INNER, rows_box(type, rows))
            self.kept[name] = self.collector.tile(kept)
            yield self._copied_rows(self._made_by(chain, name), name, rows, old, self.kept[name])

    def _made_by(self, chain: Chain, name: str) -> Op:
        """Return the member that makes a tensor, or else the first one that reads it."""
        return self.graph.producer[name] if name in self.members.made_here else chain[0]

    def _copied_rows(self, op: Op, name: str, rows: Range, tile: int, out: int) -> Block:
        """Return what copies rows of a tensor from one tile to another, dealt out to the NPUs."""
        type = self.graph.types[name]
        boxes = dealt_out(rows_box(type, rows), row_axis(type), self.sharing)
        return tuple(self.copy(op, box, (tile,), out, ()) for box in boxes)

    def copy(
        self, op: Op, box: Box, reads: tuple[int, ...], out: int, shifts: tuple[int, ...]
    ) -> TileOp:
        """Return an operation that copies.

        Args:
            op: The member that it works for.
            box: What is copied, along the axes of the tensor that is written.
            reads: The tile that is read.
            out: The tile that is written.
            shifts: First channels of operand and result in the tensors of the tiles.
        """
        size = size_of(box) * self.collector.tiles[out].element_bytes
        rolls = any(self.collector.tiles[tile].rolls for tile in reads)
        return self.collector.op(
            op,
            unit=Unit.ST,
            box=box,
            reads=reads,
            out=out,
            read_bytes=size,
            written_bytes=size,
            shifts=shifts,
            rows=(box[-2],) if rolls else (),
        )

    def tile(self, name: str, role: Role, box: Box) -> Tile:
        """Return a tile along a tensor's own axes.

        Args:
            name: The tensor.
            role: What it is for.
            box: Its part of the tensor.
        """
        type = self.graph.types[name]
        return Tile(
            tensor=name,
            role=role,
            view=dense_strides(type.shape),
            box=box,
            element_bytes=type.dtype.bytes,
            space=Space.GB,
        )

    def whole(self, name: str) -> Tile:
        """Return a resident tensor.

        Args:
            name: The tensor.
        """
        tile = self.tile(name, Role.O if name in self.members.made_here else Role.I, ())
        box = whole(self.graph.types[name].shape)
        return replace(tile, box=box, address=self.members.place.addresses[name])


def rows_box(type: TensorType, rows: Range) -> Box:
    """Return all of some rows of a tensor.

    Args:
        type: Of the tensor.
        rows: The rows.
    """
    box = list(whole(type.shape))
    box[row_axis(type)] = rows
    return tuple(box)


def dealt_out(box: Box, rows: int, npus: int) -> Iterator[Box]:
    """Yield a box cut evenly along the axis before its rows, or along these if that is one.

    Args:
        box: The box.
        rows: Which axis its rows are.
        npus: Into how many parts, if that axis is as long.
    """
    if npus == 1:
        yield box
        return
    axis = rows - 1 if rows and box[rows - 1].size > 1 else rows
    yield from cut_box(box, axis, -(-box[axis].size // npus) * (size_of(box) // box[axis].size))


def cut_box(box: Box, axis: int, most: int) -> Iterator[Box]:
    """Yield a box cut along an axis, into parts of at most so many elements or of one index.

    Args:
        box: The box.
        axis: The axis.
        most: Elements that a part has at most.
    """
    one = size_of(box) // box[axis].size
    start = box[axis].start
    for part in cuts(box[axis].size, max(1, most // one)):
        yield (*box[:axis], Range(start + part.start, start + part.stop), *box[axis + 1 :])


def _within(inner: Range, outer: Range) -> bool:
    return outer.start <= inner.start and inner.stop <= outer.stop

"""The tiles and operations of a fused group's chains, stripe by stripe.

A chain that begins on the MAC array is cut by the loop nest of its first member, and its tail works
on every tile that this finishes; one that begins on the vector unit is dealt out to the NPUs. They
read and write lines (:mod:`.line_tiles`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError, VerifyError
from ....ir.graph import Graph, Op
from ....ir.isa.instructions import Unit
from ....ir.mapping import LoopNest
from ....ir.operators.access import Box, Read, View, size_of, whole
from ....ir.operators.families.moves import joins_channels
from ....ir.ops import (
    aligned_part,
    aligned_parts,
    is_mac,
    operand_types,
    other_read,
    spec_of,
    weights_of,
)
from ....ir.tiles.graph import Range, Role, Tile, TileOp, shifted
from ....ir.workload import Dim, Operand
from ..collect import TileCollector, cuts
from ..mac import Complete, MacOperations, mac_operations
from ..mac_tiles import own_box
from ..nest_cuts import Ranges
from ..vector import table_tile
from .chains import Chain, passes_on, tiled_operands
from .line_tiles import Block, LineTiles, cut_box, dealt_out, rows_box
from .lines import is_active, keepers
from .members import Members
from .rows import has_lines, row_axis
from .stripes import Stripe
from .windows import Size, Windows, pooled, windows_of

_HANDED_ON = 8192
"""What a member that the vector unit runs hands to the next one of its chain at a time [byte]."""


class ChainBlocks(NamedTuple):
    """What a chain does in one stripe.

    Attributes:
        joined: Copies to lines before it reads them.
        kept: Copies of rows that the lines keep which it writes to; one of all that write to the
            same lines has to do them.
        blocks: Its own operations, and copies behind them.
    """

    joined: tuple[Block, ...] = ()
    kept: tuple[Block, ...] = ()
    blocks: tuple[Block, ...] = ()


class _Part(NamedTuple):
    """A part of the results of a chain's members.

    Attributes:
        box: What is made at a time.
        windows: Whole windows of a pool behind that it is part of; the same where there is none.
        outer: The box of the output tile that it is part of.
        joined: For what box operands from outside are fetched.
    """

    box: Box
    windows: Box
    outer: Box
    joined: Box

    @classmethod
    def alone(cls, box: Box) -> "_Part":
        """Return a part that is made, written and finished by itself."""
        return cls(box, box, box, box)

    def pooled(self, size: Size) -> "_Part":
        """Return what a pool makes of the windows."""
        outer, joined = pooled(self.outer, size), pooled(self.joined, size)
        return self.alone(pooled(self.windows, size))._replace(outer=outer, joined=joined)


class _VectorWork(NamedTuple):
    """What a member does on the vector unit, or copies, whatever part of its result is made.

    Attributes:
        reads: What it reads in tiles, with the size of an element [byte].
        parameters: What it reads whole: tables.
        cost: Lane cycles of one element.
        shifts: First channels of what it reads and makes in the tensors of the tiles.
    """

    reads: tuple[tuple[Read, int], ...]
    parameters: tuple[str, ...]
    cost: int
    shifts: tuple[int, ...]


@dataclass(frozen=True)
class ChainTiler:
    """Makes the tiles and operations of chains; local to one tiling.

    Attributes:
        lines: What they read and write.
        nests: Loops of the members that the MAC array runs, over the rows that are made at a time.
        arch: The machine.
        is_early: Whether rows that are kept are copied as soon as lines have been read.
        is_apart: Whether first additions are operations of their own, where that helps.
    """

    lines: LineTiles
    nests: Mapping[str, LoopNest]
    arch: Architecture
    is_early: bool
    is_apart: bool
    _runs: dict[tuple[str, int], MacOperations] = field(
        init=False,
        repr=False,
        compare=False,
        default_factory=dict[tuple[str, int], MacOperations],
    )
    _works: dict[str, _VectorWork] = field(
        init=False, repr=False, compare=False, default_factory=dict[str, _VectorWork]
    )
    _after: dict[str, Op | None] = field(
        init=False, repr=False, compare=False, default_factory=dict[str, Op | None]
    )

    @property
    def members(self) -> Members:
        """The group's."""
        return self.lines.members

    @property
    def graph(self) -> Graph:
        """The network."""
        return self.members.graph

    @property
    def collector(self) -> TileCollector:
        """Where tiles and operations go."""
        return self.lines.collector

    def blocks(self, stripe: Stripe, then: Stripe | None) -> tuple[ChainBlocks, ...]:
        """Return what is done in one stripe, chain by chain.

        Args:
            stripe: The stripe.
            then: The next one.
        """
        for name in sorted(self.members.first_reads & stripe.lines.keys()):
            self.lines.bring(name, stripe.lines[name])
        chains = self.members.chains
        for chain in chains:
            self.lines.begin(chain[-1], stripe)
        kept: list[dict[str, Range]] = [{} for _ in chains]
        if self.is_early and then is not None:
            for name, number in keepers(chains, stripe, then, self.members.homes).items():
                if name not in self.lines.rolling:
                    kept[number][name] = then.lines[name]
        pairs = zip(chains, kept, strict=True)
        return tuple(self._of_chain(chain, stripe, rows) for chain, rows in pairs)

    def _of_chain(self, chain: Chain, stripe: Stripe, kept: Mapping[str, Range]) -> ChainBlocks:
        """Return what a chain does in one stripe.

        Args:
            chain: The chain.
            stripe: The stripe.
            kept: The next lines of tensors whose rows are copied behind the chain.
        """
        if not is_active(chain[-1].name, stripe):
            return ChainBlocks()
        return ChainBlocks(
            joined=tuple(self.lines.join(chain)),
            kept=tuple(self.lines.copy_kept(chain, stripe)),
            blocks=tuple(self._own_blocks(chain, stripe, kept)),
        )

    def _own_blocks(
        self, chain: Chain, stripe: Stripe, kept: Mapping[str, Range]
    ) -> Iterator[Block]:
        """Yield the operations of a chain in one stripe, and copies behind them."""
        blocks = self._vector_blocks
        if is_mac(chain[0]):
            blocks = self._mac_blocks
        elif joins_channels(chain[0]):
            blocks = self._copies
        parts = tuple(self.lines.within_tiles(chain[:1], stripe.made[chain[0].name]))
        windows = Windows.of(self.graph, chain, parts)
        for rows in parts:
            yield from blocks(chain, rows, windows)
        for name, lines in kept.items():
            yield from self.lines.keep_rows(chain, name, lines)

    def _mac_blocks(self, chain: Chain, made: Range, windows: Windows) -> Iterator[Block]:
        """Yield a chain that begins on the array, as many rows at a time as its nest is for."""
        head = chain[0]
        if head.name not in self.nests:
            raise VerifyError(f"{head.kind} %{head.name} has no loop nest")
        for rows in cuts(made.size, self.nests[head.name].workload.dims[Dim.P]):
            part = Range(made.start + rows.start, made.start + rows.stop)
            yield from self._product(chain, part, windows)

    def _product(self, chain: Chain, made: Range, windows: Windows) -> Iterator[Block]:
        """Yield some rows of a chain that begins on the array, in the order of its nest."""
        head, run = chain[0], self._run_of(chain, made)
        axes, cuts, whole = run.tiler.axes(Dim.K), run.cuts, run.ranges(())
        assert whole is not None
        is_resident = self.members.is_resident(chain[-1].name)

        def own(ranges: Ranges) -> Box:
            return own_box(head, axes, run.tiler.output_box(ranges))

        def put_together(ranges: Ranges, start: int) -> Box:
            return own(windows.around(ranges, cuts.sizes[start], whole))

        def finish(done: Complete) -> tuple[TileOp, ...]:
            if head.name in self.members.ends:
                return (run.finish_of(done.sums, done.own, run.tiler.outputs(done.out)),)
            outer = put_together(done.out, cuts.home_start(Operand.O))
            part = _Part(
                box=own(done.own),
                windows=put_together(done.own, cuts.sums_start),
                outer=outer,
                # what is fetched for all of some lines may be written over by them
                joined=put_together(run.joined(done), cuts.joined_start) if is_resident else outer,
            )
            after = self._passed_on(chain, part.box)
            passed = 0 if after is None else 1
            first = self._target(chain, passed, part)
            finished = run.finish_of(done.sums, done.own, first, part.box)
            if after is not None:
                finished = self._joined(finished, after, part.joined)
            return (finished, *self._tail(chain, part, passed + 1, windows))

        return run.blocks(finish)

    def _run_of(self, chain: Chain, made: Range) -> MacOperations:
        """Return what makes the operations of a chain's first member, for some of its rows."""
        head = chain[0]
        source, key = head.operands[0], (head.name, made.size)
        if key not in self._runs:
            self._runs[key] = self._made_run(chain, made.size)
        is_line = self.members.is_striped and source not in self.members.place.addresses
        lines = self.lines.tile_with(source, made) if is_line else None
        self._runs[key].go_on(made.start, lines)
        return self._runs[key]

    def _made_run(self, chain: Chain, rows: int) -> MacOperations:
        """Return what makes the operations of a chain's first member, for so many rows."""
        head = chain[0]
        if not self.members.made_here.isdisjoint(weights_of(head)):
            raise InfeasibleError(
                f"%{head.name} needs all of %{head.operands[1]} of its group for every row",
                hint="--fuse epilogues",
            )
        run = mac_operations(
            self.graph,
            head,
            self.nests[head.name],
            self.arch,
            self.members.place,
            self.collector,
            self.members.resident_operands(chain),
            rows,
            is_apart=self.is_apart,
        )
        source = head.operands[0]
        channel = self.members.home(head.name).channel if len(chain) == 1 else 0
        run.first_channels = (self.members.home(source).channel, channel)
        return run

    def _passed_on(self, chain: Chain, box: Box) -> Op | None:
        """Return the second member of a chain if a finished box goes on to it unwritten.

        What it reads beside that has to lie in one tile.
        """
        head = chain[0].name
        if head not in self._after:
            self._after[head] = passes_on(self.graph, chain)
        after = self._after[head]
        if after is None:
            return None
        parts = tuple(self.lines.within_tiles((after,), box[row_axis(after.result.type)]))
        return after if len(parts) == 1 else None

    def _joined(self, finished: TileOp, op: Op, joined: Box) -> TileOp:
        """Return an operation that finishes sums, and does the work of the next member, too.

        Args:
            finished: The operation; it writes what the member makes.
            op: The member.
            joined: For what box operands from outside are fetched.
        """
        read, box = other_read(self.graph, op, finished.works_for), finished.written
        if read is None:
            other, channel, size, rows = (
                self.collector.tile(table_tile(self.graph, op.operands[1])),
                0,
                0,
                (),
            )
        else:
            name = op.operands[read.operand]
            other = self._operand(op, read, box[row_axis(op.result.type)], joined, {})
            channel = self.members.home(name).channel
            size = read.elements(box) * self.graph.types[name].dtype.bytes
            rows = self._rolling_rows((other,), (read.box(box),))
        shifts = channel, self.members.home(op.name).channel
        return replace(
            finished,
            joined=op.name,
            reads=(*finished.reads, other),
            shifts=(*(0 for _ in finished.reads), *shifts) if any(shifts) else (),
            read_bytes=size,
            rows=rows,
        )

    def _rolling_rows(self, reads: Sequence[int], boxes: Iterable[Box]) -> tuple[Range, ...]:
        """Return the rows that are read of tiles that roll, if any.

        Args:
            reads: The tiles that are read.
            boxes: What of them.
        """
        if not self.lines.rolling:
            return ()
        tiles = map(self.collector.tiles.__getitem__, reads)
        rows = [box[-2] for tile, box in zip(tiles, boxes, strict=False) if tile.rolls]
        if not rows:
            return ()
        return (Range(min(r.start for r in rows), max(r.stop for r in rows)),)

    def _vector_blocks(self, chain: Chain, made: Range, windows: Windows) -> Iterator[Block]:
        """Yield a chain that begins on the vector unit, its channels dealt out to the NPUs.

        What its members hand to each other are small tiles, so that they take hardly more of the
        scratchpad than the lines.
        """
        type = chain[0].result.type
        rows, widest = row_axis(type), max(op.result.type.dtype.bytes for op in chain)
        most = _HANDED_ON // widest if chain[1:] else type.elements
        for share in dealt_out(rows_box(type, made), rows, len(self.arch.npus)):
            for box in _in_pieces(share, rows, most):
                part = _Part.alone(box)
                first = self.collector.tile(self._target(chain, 0, part))
                head = self._operation(chain[0], part, first, {})
                yield (head, *self._tail(chain, part, 1, windows))

    def _copies(self, chain: Chain, made: Range, windows: Windows) -> Iterator[Block]:
        """Yield the copies of what does not lie in place in a concatenation."""
        (op,) = chain
        parts = aligned_parts(op, operand_types(op, self.graph.types))
        for name, part in zip(op.operands, parts, strict=True):
            if self.members.home(name).tensor == self.members.home(op.name).tensor:
                continue
            rows = list(part.domain)
            rows[row_axis(op.result.type)] = made
            for box in dealt_out(tuple(rows), row_axis(op.result.type), len(self.arch.npus)):
                out = self.collector.tile(self._target(chain, 0, _Part.alone(box)))
                shifts = (self.members.home(name).channel, self.members.home(op.name).channel)
                yield (self.lines.copy(op, box, (self.lines.tile_with(name, made),), out, shifts),)

    def _tail(self, chain: Chain, part: _Part, first: int, windows: Windows) -> Iterator[TileOp]:
        """Yield the operations of the members of a chain from one of them on.

        A pool waits until all parts of its windows are there, and so do those behind it.
        """
        axis = row_axis(chain[0].result.type)
        for position, op in enumerate(chain[first:], start=first):
            before = chain[position - 1].name
            given = {before: self.collector.tile(self._target(chain, position - 1, part))}
            size = windows_of(self.graph, op)
            if size is not None:
                if not windows.is_complete(op.name, part.box, part.windows):
                    return
                part = part.pooled(size)
            out = self.collector.tile(self._target(chain, position, part))
            box = part.box
            for rows in self.lines.within_tiles((op,), box[axis]):
                inner = part._replace(box=(*box[:axis], rows, *box[axis + 1 :]))
                yield self._operation(op, inner, out, given)

    def _target(self, chain: Chain, position: int, part: _Part) -> Tile:
        """Return the tile that a member of a chain writes.

        Args:
            chain: The chain.
            position: Of the member.
            part: What is made.
        """
        name = chain[position].name
        if position < len(chain) - 1:
            is_pooled = windows_of(self.graph, chain[position + 1]) is not None
            return self.lines.tile(name, Role.INNER, part.windows if is_pooled else part.box)
        home = self.members.home(name)
        if home.tensor not in self.members.ends:
            return self.collector.tiles[self.lines.now[home.tensor]]
        if self.members.is_resident(name):
            return self.lines.whole(home.tensor)
        return self.lines.tile(home.tensor, Role.O, shifted(part.outer, home.channel))

    def _operation(self, op: Op, part: _Part, out: int, given: Mapping[str, int]) -> TileOp:
        """Return an operation of a member that the vector unit runs, or that copies.

        Args:
            op: The member.
            part: What is made, along the result's axes.
            out: The tile that it writes.
            given: Tiles of operands.
        """
        box, work = part.box, self._work_of(op)
        rows = box[row_axis(op.result.type)]
        reads = [self._operand(op, read, rows, part.joined, given) for read, _ in work.reads]
        reads += [self.collector.tile(table_tile(self.graph, name)) for name in work.parameters]
        return self.collector.op(
            op,
            unit=Unit.VX if work.cost else Unit.ST,
            box=box,
            reads=tuple(reads),
            out=out,
            cost=work.cost,
            read_bytes=sum(read.elements(box) * size for read, size in work.reads),
            written_bytes=size_of(box) * op.result.type.dtype.bytes,
            shifts=work.shifts,
            rows=self._rolling_rows(reads, (read.box(box) for read, _ in work.reads)),
        )

    def _work_of(self, op: Op) -> _VectorWork:
        if op.name not in self._works:
            types = operand_types(op, self.graph.types)
            reads = aligned_part(op, types).reads
            parameters = op.operands[len(tiled_operands(op)) :]
            read = tuple(op.operands[item.operand] for item in reads)
            sizes = (self.graph.types[name].dtype.bytes for name in read)
            self._works[op.name] = _VectorWork(
                reads=tuple(zip(reads, sizes, strict=True)),
                parameters=parameters,
                cost=spec_of(op).cost(op, types),
                shifts=tuple(
                    self.members.home(name).channel for name in (*read, *parameters, op.name)
                ),
            )
        return self._works[op.name]

    def _operand(
        self, op: Op, read: Read, rows: Range, joined: Box, given: Mapping[str, int]
    ) -> int:
        name = op.operands[read.operand]
        if name in given:
            return given[name]
        if name in self.members.row_by_row:
            return self.lines.tile_with(name, rows)
        if not has_lines(self.graph, op, name) and name in self.members.made_here:
            raise InfeasibleError(
                f"%{op.name} reads %{name} of its group along other axes", hint="--fuse epilogues"
            )
        if name in self.members.homes:
            return self.lines.now[self.members.home(name).tensor]
        if name in self.lines.now and (
            name in self.members.made_here or name in self.members.first_reads
        ):
            return self.lines.now[name]
        if self.members.is_resident(name) and not self.graph.is_constant(name):
            return self.collector.tile(_seen(self.lines.whole(name), read.view))
        fetched = self.lines.tile(name, Role.I, read.box(joined))
        return self.collector.tile(_seen(fetched, read.view))


def _seen(tile: Tile, view: View) -> Tile:
    """Return a tile under the axes that an operator reads it with."""
    box = whole(view.shape) if tile.is_resident else tile.box
    return replace(tile, view=view.strides, box=box)


def _in_pieces(box: Box, rows: int, most: int) -> Iterator[Box]:
    """Yield a box cut along the axis before its rows, and then along these, into small ones.

    Args:
        box: The box.
        rows: Which axis its rows are.
        most: Elements that a piece has at most, if it is more than a row.
    """
    pieces = [box]
    for axis in range(max(0, rows - 1), rows + 1):
        pieces = [part for piece in pieces for part in cut_box(piece, axis, most)]
    yield from pieces

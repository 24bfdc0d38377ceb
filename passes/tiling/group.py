"""Cut a fused group into tiles, stripe by stripe and member by member.

    conv a -> conv b -> add  (rows = 2)      ->      stripe 0: a rows 0-2; b, add rows 0-1
                                                     stripe 1: keep a rows 1-2; a rows 3-4; ...

Members follow each other in *chains*: an operator of the MAC array, a pool or a reduction, and then
operators of one element, which work on every tile that it finishes. What a chain hands to a later
one lies in *lines*, an inner tile with all columns and channels of the rows that are read in a
stripe; what others read, too, is stored from its lines, or lies whole on chip. A group of one chain
that makes all rows at once is cut by the loop nest of its first member alone.

Chains may lag, from some of them on a stripe more than those before, operations of all stripes in
work mixed, so that the vector unit finishes what one chain made while the array works for another.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError, VerifyError
from ...ir.graph import Graph, Op
from ...ir.groups import ends, further_results
from ...ir.isa.instructions import Space, Unit
from ...ir.mapping import LoopNest
from ...ir.operators.access import Box, Read, View, size_of, whole
from ...ir.operators.families.moves import joins_channels
from ...ir.ops import (
    aligned_part,
    aligned_parts,
    is_mac,
    operand_types,
    other_read,
    spec_of,
    weights_of,
)
from ...ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp, dense_strides, shifted
from ...ir.types import TensorType
from ...ir.workload import Dim, Operand
from .chains import Chain, chains, inputs_of, passes_on, tiled_operands
from .collect import TileCollector, cuts
from .homes import Home, Homes, home_of, homes_of
from .lines import bytes_of_lines, is_active, keepers
from .mac import Ranges, mac_operations, own_box
from .residency import Residency
from .stripes import Stripe, hands_out, has_lines, read_row_by_row, reads_lines, row_axis, stripes
from .vector import table_tile

_HANDED_ON = 8192
"""What a member that the vector unit runs hands to the next one of its chain at a time [byte]."""

Block = tuple[TileOp, ...]
"""An operation, and those that follow it at once."""

_Tiled = tuple[TileCollector, Sequence[Sequence[Sequence[Block]]]]
"""Tiles, and operations by stripe and chain."""


@dataclass(frozen=True)
class GroupTiles:
    """The tiles of a fused group, to be put in order with more or less lag.

    Attributes:
        graph: The network.
        members: Names of its operators, in execution order.
        rows: Rows of the last result that a stripe makes; 0: all.
        nests: Loops of the members that the MAC array runs, over the rows that are made at a time.
        arch: The machine.
        place: What is resident and what is moved in tiles.
        first: How many stripes to tile; all of them by default.
        is_early: Whether rows that are kept are copied as soon as lines have been read: takes less
            space, and more copies.
    """

    graph: Graph
    members: Sequence[str]
    rows: int
    nests: Mapping[str, LoopNest]
    arch: Architecture
    place: Residency
    first: int | None = None
    is_early: bool = False
    _known: dict[frozenset[str], _Tiled] = field(
        init=False, repr=False, compare=False, default_factory=dict[frozenset[str], _Tiled]
    )

    def in_order(self, behind: Collection[int] = (), most: int | None = None) -> TileGraph:
        """Return the tile graph.

        Args:
            behind: Which chains lag one stripe more than the chain before, of :attr:`may_lag`.
            most: Of how many stripes, the first ones; all of them by default.

        Raises:
            InfeasibleError: A nest cuts channels so that no tile can be handed on, or rows of a
                result that others read would have to be kept.
            VerifyError: A member has no loop nest.
        """
        if not self.hands_out:
            raise InfeasibleError(
                f"stripes of group %{self.members[-1]} keep rows of a result that others read",
                hint="let the group end there, or make all rows at once",
            )
        lags, depth = _lags(self.chains, behind), len(behind)
        collector, rounds = self._tiled(self._together(lags))
        rounds, found = rounds[:most], replace(collector, ops=[])
        for turn in range(len(rounds) + depth):
            now: list[list[Block]] = [[] for _ in range(depth + 1)]
            for number, lag in enumerate(lags.values()):
                if 0 <= turn - lag < len(rounds):
                    now[lag] += rounds[turn - lag][number]
            for block in _mixed(now):
                for op in block:
                    found.add(op)
        return found.finish()

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """The members as chains."""
        return chains(self.graph, self.members)

    @cached_property
    def hands_out(self) -> bool:
        """Whether what others read of its members can be stored, or lies whole on chip."""
        return hands_out(self.graph, self.members, self.rows, self.place.addresses)

    @cached_property
    def line_bytes(self) -> int:
        """What its lines take, if no chain lags [byte]."""
        return bytes_of_lines(
            self.graph, self.members, self.rows, self.place.addresses, is_early=self.is_early
        )

    @cached_property
    def may_lag(self) -> tuple[int, ...]:
        """Which chains can lag behind the one before, by number: none where there is one stripe.

        A concatenation goes with what is before it.
        """
        if len(self._stripes) < 2:
            return ()
        numbers = range(1, len(self.chains))
        return tuple(item for item in numbers if not joins_channels(self.chains[item][0]))

    @cached_property
    def _homes(self) -> Homes:
        return homes_of(self.graph, self.members)

    @property
    def count(self) -> int:
        """How many stripes the group has, tiled or not."""
        return len(self._all_stripes)

    @cached_property
    def _all_stripes(self) -> tuple[Stripe, ...]:
        return stripes(self.graph, self.members, self.rows)

    @property
    def _stripes(self) -> tuple[Stripe, ...]:
        return self._all_stripes[: self.first]

    def _together(self, lags: Mapping[str, int]) -> frozenset[str]:
        """Return which results with a place in another tensor are made in the stripe of its lines.

        Args:
            lags: How many stripes each chain is behind.
        """
        homes = {name: home.tensor for name, home in self._homes.items() if name in lags}
        return frozenset(name for name, home in homes.items() if lags[name] == lags.get(home))

    def _tiled(self, together: frozenset[str]) -> _Tiled:
        """Return all tiles, and the operations of each chain in each stripe, whatever lags.

        Args:
            together: Results with a place in another tensor, made in the stripe of its lines: whose
                chain copies the rows that these keep.
        """
        if together not in self._known:
            run = _GroupTiler(
                graph=self.graph,
                chains=self.chains,
                rows=self.rows,
                nests=self.nests,
                arch=self.arch,
                place=self.place,
                homes=self._homes,
                together=together,
                is_early=self.is_early,
            )
            rounds = zip(self._stripes, (*self._stripes[1:], None), strict=True)
            blocks = [run.blocks(stripe, then) for stripe, then in rounds]
            self._known[together] = run.collector, blocks
        return self._known[together]


def _lags(parts: Sequence[Chain], behind: Collection[int]) -> Mapping[str, int]:
    """Return how many stripes each chain is behind, by its result and in their order."""
    lags = accumulate(int(number in behind) for number in range(len(parts)))
    return {chain[-1].name: lag for chain, lag in zip(parts, lags, strict=True)}


def _mixed(parts: Sequence[Sequence[Block]]) -> Iterator[Block]:
    """Yield sequences as one, evenly mixed."""
    places = [
        ((place + 1) / len(blocks), number, block)
        for number, blocks in enumerate(parts)
        for place, block in enumerate(blocks)
    ]
    for _, _, block in sorted(places, key=lambda item: item[:2]):
        yield block


@dataclass
class _GroupTiler:
    """Tiles of one group in the making; local to one tiling."""

    graph: Graph
    chains: tuple[Chain, ...]
    rows: int
    nests: Mapping[str, LoopNest]
    arch: Architecture
    place: Residency
    homes: Homes
    together: frozenset[str]
    is_early: bool
    lines: dict[str, int] = field(default_factory=dict[str, int])
    before: dict[str, int] = field(default_factory=dict[str, int])
    kept: dict[str, int] = field(default_factory=dict[str, int])
    joined: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    fetched: dict[str, list[tuple[Range, int]]] = field(
        default_factory=dict[str, list[tuple[Range, int]]]
    )

    def __post_init__(self) -> None:
        self.collector = TileCollector(self.chains[-1][-1].name)

    @cached_property
    def is_striped(self) -> bool:
        """Whether inputs come as lines; else in the tiles of the first member's nest."""
        return len(self.chains) > 1 or self.rows > 0

    @cached_property
    def made_here(self) -> frozenset[str]:
        """What members make."""
        return frozenset(self.members)

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Names of the operators, in execution order."""
        return tuple(op.name for chain in self.chains for op in chain)

    @cached_property
    def ends(self) -> frozenset[str]:
        """Results that no member reads."""
        return ends(self.graph, self.members)

    @cached_property
    def handed_out(self) -> frozenset[str]:
        """What others read of the members, but for the last one."""
        return frozenset(further_results(self.graph, self.members))

    @cached_property
    def first_reads(self) -> frozenset[str]:
        """What the first operators of chains read from outside, in lines."""
        heads = (chain[0] for chain in self.chains if self.is_striped)
        read = {name for op in heads for name in reads_lines(self.graph, op)}
        return frozenset(read - self.made_here)

    @cached_property
    def row_by_row(self) -> frozenset[str]:
        """What is read from outside row by row: each row comes once."""
        ops = [op for chain in self.chains for op in chain]
        return read_row_by_row(self.graph, ops, self.first_reads - self.place.addresses.keys())

    def blocks(self, stripe: Stripe, then: Stripe | None) -> tuple[tuple[Block, ...], ...]:
        """Return the operations of one stripe, chain by chain.

        Args:
            stripe: The stripe.
            then: The next one.
        """
        for name in sorted(self.first_reads & stripe.lines.keys()):
            if name in self.row_by_row:
                self._fetch_rows(name, stripe.lines[name].stop)
            else:
                self._bring_lines(name, stripe.lines[name])
        for chain in self.chains:
            self._begin_lines(chain[-1], stripe)
        kept: list[dict[str, Range]] = [{} for _ in self.chains]
        if self.is_early and then is not None:
            for name, number in keepers(self.chains, stripe, then, self.homes).items():
                kept[number][name] = then.lines[name]
        pairs = zip(self.chains, kept, strict=True)
        return tuple(tuple(self._of_chain(chain, stripe, rows)) for chain, rows in pairs)

    def _of_chain(self, chain: Chain, stripe: Stripe, kept: Mapping[str, Range]) -> Iterator[Block]:
        """Yield the operations of a chain in one stripe.

        Args:
            chain: The chain.
            stripe: The stripe.
            kept: The next lines of tensors whose rows are copied behind the chain.
        """
        if not is_active(chain[-1].name, stripe):
            return
        yield from self._join_lines(chain)
        yield from self._kept(chain, stripe)
        blocks = self._vector_blocks
        if is_mac(chain[0]):
            blocks = self._mac_blocks
        elif joins_channels(chain[0]):
            blocks = self._copies
        for rows in self._within_tiles(chain[:1], stripe.made[chain[-1].name]):
            yield from blocks(chain, rows)
        for name, lines in kept.items():
            yield from self._keep_rows(chain, name, lines)

    # -- lines ----------------------------------------------------------------------------------

    def _bring_lines(self, name: str, rows: Range) -> None:
        """Take the lines of an input; rows that are there already are not fetched again."""
        if name in self.place.addresses:
            self.lines[name] = self.collector.tile(self._whole(name))
            return
        type, known = self.graph.types[name], self.lines.get(name)
        there = None if known is None else self.collector.tiles[known].box[row_axis(type)]
        if there is not None and _within(rows, there):
            return
        lines = self._tile(name, Role.I, _rows_box(type, rows))
        if known is not None and there is not None and rows.start < there.stop:
            added = self._tile(name, Role.I, _rows_box(type, Range(there.stop, rows.stop)))
            self.joined[name] = (self.kept.pop(name, known), self.collector.tile(added))
            lines = replace(lines, role=Role.INNER)
        self.lines[name] = self.collector.tile(lines)

    def _join_lines(self, chain: Chain) -> Iterator[Block]:
        """Yield what copies kept rows, and new ones of inputs, to lines before they are read."""
        for name in sorted(self.joined.keys() & inputs_of(chain)):
            lines, axis = self.lines[name], row_axis(self.graph.types[name])
            first = self.collector.tiles[lines].box[axis].start
            for tile in self.joined.pop(name):
                rows = self.collector.tiles[tile].box[axis]
                part = Range(max(first, rows.start), rows.stop)
                yield self._copied_rows(chain, name, part, tile, lines)

    def _keep_rows(self, chain: Chain, name: str, lines: Range) -> Iterator[Block]:
        """Yield what copies the rows that the next lines keep, so that these ones may end.

        Args:
            chain: Who has read them.
            name: The tensor.
            lines: Its next lines.
        """
        old = self.lines.get(name)
        if old is None or self.collector.tiles[old].is_resident:
            return
        type = self.graph.types[name]
        there = self.collector.tiles[old].box[row_axis(type)]
        rows = Range(lines.start, there.stop)
        self.kept[name] = old
        if rows != there:
            kept = self._tile(name, Role.INNER, _rows_box(type, rows))
            self.kept[name] = self.collector.tile(kept)
            yield self._copied_rows(chain, name, rows, old, self.kept[name])

    def _copied_rows(self, chain: Chain, name: str, rows: Range, tile: int, out: int) -> Block:
        """Return what copies rows of a tensor, which a chain reads, from one tile to another."""
        op = self.graph.producer[name] if name in self.made_here else chain[0]
        return (self._copy(op, _rows_box(self.graph.types[name], rows), (tile,), out, ()),)

    def _fetch_rows(self, name: str, stop: int) -> None:
        """Take the rows of an input that are not on chip yet, as a tile of their own."""
        known = self.fetched.setdefault(name, [])
        start = known[-1][0].stop if known else 0
        if stop > start:
            rows = Range(start, stop)
            tile = self._tile(name, Role.I, _rows_box(self.graph.types[name], rows))
            known.append((rows, self.collector.tile(tile)))

    def _within_tiles(self, ops: Sequence[Op], rows: Range) -> Iterator[Range]:
        """Yield rows cut so that each operator finds what it reads in one tile."""
        read = {name for op in ops for name in op.inputs} & self.row_by_row
        ends = {part.stop for name in read for part, _ in self.fetched[name]}
        inner = sorted(end for end in ends if rows.start < end < rows.stop)
        yield from (Range(*pair) for pair in pairwise((rows.start, *inner, rows.stop)))

    def _input(self, name: str, rows: Range) -> int:
        """Return the tile that holds rows of what the first operator of a chain reads."""
        for part, tile in reversed(self.fetched.get(name, ())):
            if _within(rows, part):
                return tile
        return self.lines[self._home(name).tensor]

    def _begin_lines(self, op: Op, stripe: Stripe) -> None:
        """Begin new lines of what a chain makes in a stripe, and note those that have kept rows."""
        self.before.pop(op.name, None)
        made = stripe.made.get(op.name)
        if made is None or op.name in self.ends or op.name in self.homes:
            return
        if op.name in self.place.addresses:
            self.lines[op.name] = self.collector.tile(self._whole(op.name))
            return
        rows = stripe.lines[op.name]
        if rows.start < made.start:
            if op.name in self.kept:
                self.joined[op.name] = (self.kept.pop(op.name),)
            else:
                self.before[op.name] = self.lines[op.name]
        box = _rows_box(op.result.type, rows)
        role = Role.O if op.name in self.handed_out else Role.INNER
        self.lines[op.name] = self.collector.tile(self._tile(op.name, role, box))

    def _kept(self, chain: Chain, stripe: Stripe) -> Iterator[Block]:
        """Yield what copies rows of the old lines to the new ones, if that was not done before.

        The first chain that writes to new lines does it, so that the old ones end soon; all that
        write to the old ones must be as far, whatever chains lag.
        """
        name = self._home(chain[-1].name).tensor
        if name in self.before and chain[-1].name in {name, *self.together}:
            rows = Range(stripe.lines[name].start, stripe.made[name].start)
            op, old, new = self.graph.producer[name], self.before.pop(name), self.lines[name]
            yield (self._copy(op, _rows_box(op.result.type, rows), (old,), new, ()),)

    def _copy(
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
        found = self.collector.op(op, unit=Unit.ST, box=box, reads=reads, out=out, shifts=shifts)
        return replace(found, read_bytes=size, written_bytes=size)

    def _tile(self, name: str, role: Role, box: Box) -> Tile:
        """Return a tile along a tensor's own axes."""
        type = self.graph.types[name]
        return Tile(
            tensor=name,
            role=role,
            view=dense_strides(type.shape),
            box=box,
            element_bytes=type.dtype.bytes,
            space=Space.GB,
        )

    def _whole(self, name: str) -> Tile:
        """Return a resident tensor."""
        tile = self._tile(name, Role.O if name in self.made_here else Role.I, ())
        box = whole(self.graph.types[name].shape)
        return replace(tile, box=box, address=self.place.addresses[name])

    # -- chains ---------------------------------------------------------------------------------

    def _mac_blocks(self, chain: Chain, made: Range) -> Iterator[Block]:
        """Yield a chain that begins on the array, as many rows at a time as its nest is for."""
        head = chain[0]
        if head.name not in self.nests:
            raise VerifyError(f"{head.kind} %{head.name} has no loop nest")
        for rows in cuts(made.size, self.nests[head.name].workload.dims[Dim.P]):
            yield from self._product(chain, Range(made.start + rows.start, made.start + rows.stop))

    def _product(self, chain: Chain, made: Range) -> Iterator[Block]:
        """Yield some rows of a chain that begins on the array, in the order of its nest."""
        head = chain[0]
        if not self.made_here.isdisjoint(weights_of(head)):
            raise InfeasibleError(
                f"%{head.name} needs all of %{head.operands[1]} of its group for every row",
                hint="--fuse epilogues",
            )
        nest, resident = self.nests[head.name], self._resident(chain)
        run = mac_operations(
            self.graph, head, nest, self.arch, self.place, self.collector, resident, made.size
        )
        run.first_row = made.start
        source = head.operands[0]
        if self.is_striped and source not in self.place.addresses:
            run.lines = self._input(source, made)
        channel = self._home(head.name).channel if len(chain) == 1 else 0
        run.first_channels = (self._home(source).channel, channel)
        axes = run.tiler.axes(Dim.K)

        def own(ranges: Ranges) -> Box:
            return own_box(head, axes, run.tiler.output_box(ranges))

        def finish(sums: int, piece: Ranges, out: Ranges) -> tuple[TileOp, ...]:
            if head.name in self.ends:
                return (run.finish_of(sums, piece, run.tiler.outputs(out)),)
            place, outer = own(piece), own(out)
            after = self._passed_on(chain, place)
            done = 0 if after is None else 1
            first = self._target(chain, done, place, outer)
            finished = run.finish_of(sums, piece, first, place)
            if after is not None:
                finished = self._joined(finished, after, outer)
            return (finished, *self._tail(chain, place, outer, done + 1))

        return run.blocks(finish)

    def _passed_on(self, chain: Chain, box: Box) -> Op | None:
        """Return the second member of a chain if a finished box goes on to it unwritten.

        What it reads beside that has to lie in one tile.
        """
        after = passes_on(self.graph, chain)
        if after is None:
            return None
        parts = tuple(self._within_tiles((after,), box[row_axis(after.result.type)]))
        return after if len(parts) == 1 else None

    def _joined(self, finished: TileOp, op: Op, outer: Box) -> TileOp:
        """Return an operation that finishes sums, and does the work of the next member, too.

        Args:
            finished: The operation; it writes what the member makes.
            op: The member.
            outer: For what box operands from outside are fetched.
        """
        read, box = other_read(self.graph, op, finished.works_for), finished.written
        if read is None:
            other, channel, size = self.collector.tile(table_tile(self.graph, op.operands[1])), 0, 0
        else:
            name = op.operands[read.operand]
            other = self._operand(op, read, box[row_axis(op.result.type)], outer, {})
            channel = self._home(name).channel
            size = read.elements(box) * self.graph.types[name].dtype.bytes
        shifts = channel, self._home(op.name).channel
        return replace(
            finished,
            joined=op.name,
            reads=(*finished.reads, other),
            shifts=(*(0 for _ in finished.reads), *shifts) if any(shifts) else (),
            read_bytes=size,
        )

    def _resident(self, chain: Chain) -> frozenset[Operand]:
        """Return the operands of a chain's first member that pass in no tiles of the nest."""
        head, found = chain[0], set[Operand]()
        if not self.place.addresses.keys().isdisjoint(weights_of(head)):
            found.add(Operand.W)
        if self.is_striped or head.operands[0] in self.place.addresses:
            found.add(Operand.I)
        made = self._home(chain[-1].name).tensor
        if made not in self.ends or made in self.place.addresses:
            found.add(Operand.O)
        return frozenset(found)

    def _vector_blocks(self, chain: Chain, made: Range) -> Iterator[Block]:
        """Yield a chain that begins on the vector unit, its channels dealt out to the NPUs.

        What its members hand to each other are small tiles, so that they take hardly more of the
        scratchpad than the lines.
        """
        type = chain[0].result.type
        rows, widest = row_axis(type), max(op.result.type.dtype.bytes for op in chain)
        most = _HANDED_ON // widest if chain[1:] else type.elements
        for share in _dealt_out(_rows_box(type, made), rows, len(self.arch.npus)):
            for box in _in_pieces(share, rows, most):
                first = self.collector.tile(self._target(chain, 0, box, box))
                head = self._operation(chain[0], box, box, first, {})
                yield (head, *self._tail(chain, box, box, 1))

    def _copies(self, chain: Chain, made: Range) -> Iterator[Block]:
        """Yield the copies of what does not lie in place in a concatenation."""
        (op,) = chain
        parts = aligned_parts(op, operand_types(op, self.graph.types))
        for name, part in zip(op.operands, parts, strict=True):
            if self._home(name).tensor == self._home(op.name).tensor:
                continue
            rows = list(part.domain)
            rows[row_axis(op.result.type)] = made
            for box in _dealt_out(tuple(rows), row_axis(op.result.type), len(self.arch.npus)):
                out = self.collector.tile(self._target(chain, 0, box, box))
                shifts = (self._home(name).channel, self._home(op.name).channel)
                yield (self._copy(op, box, (self._input(name, made),), out, shifts),)

    def _tail(self, chain: Chain, box: Box, outer: Box, first: int) -> Iterator[TileOp]:
        """Yield the operations of the members of a chain from one of them on."""
        axis = row_axis(chain[0].result.type)
        for position, op in enumerate(chain[first:], start=first):
            before = chain[position - 1].name
            given = {before: self.collector.tile(self._target(chain, position - 1, box, outer))}
            out = self.collector.tile(self._target(chain, position, box, outer))
            for rows in self._within_tiles((op,), box[axis]):
                part = (*box[:axis], rows, *box[axis + 1 :])
                yield self._operation(op, part, outer, out, given)

    def _target(self, chain: Chain, position: int, box: Box, outer: Box) -> Tile:
        """Return the tile that a member of a chain writes.

        Args:
            chain: The chain.
            position: Of the member.
            box: What is computed.
            outer: The box of the output tile that it is part of.
        """
        name = chain[position].name
        if position < len(chain) - 1:
            return self._tile(name, Role.INNER, box)
        home = self._home(name)
        if home.tensor not in self.ends:
            return self.collector.tiles[self.lines[home.tensor]]
        if home.tensor in self.place.addresses:
            return self._whole(home.tensor)
        return self._tile(home.tensor, Role.O, shifted(outer, home.channel))

    def _home(self, name: str) -> Home:
        """Return where a tensor lies."""
        return home_of(self.homes, name)

    def _operation(
        self, op: Op, box: Box, outer: Box, out: int, given: Mapping[str, int]
    ) -> TileOp:
        """Return an operation of a member that the vector unit runs, or that copies.

        Args:
            op: The member.
            box: What is computed, along the result's axes.
            outer: For what box operands from outside are fetched.
            out: The tile that it writes.
            given: Tiles of operands.
        """
        types = operand_types(op, self.graph.types)
        part, parameters = aligned_part(op, types), op.operands[len(tiled_operands(op)) :]
        rows = box[row_axis(op.result.type)]
        reads = [
            self._operand(op, part.reads[number], rows, outer, given)
            for number in range(len(part.reads))
        ]
        reads += [self.collector.tile(table_tile(self.graph, name)) for name in parameters]
        names = (*(op.operands[read.operand] for read in part.reads), *parameters, op.name)
        cost = spec_of(op).cost(op, types)
        found = self.collector.op(
            op,
            unit=Unit.VX if cost else Unit.ST,
            box=box,
            reads=tuple(reads),
            out=out,
            shifts=tuple(self._home(name).channel for name in names),
        )
        return replace(
            found,
            cost=cost,
            read_bytes=sum(
                read.elements(box) * self.graph.types[op.operands[read.operand]].dtype.bytes
                for read in part.reads
            ),
            written_bytes=size_of(box) * op.result.type.dtype.bytes,
        )

    def _operand(
        self, op: Op, read: Read, rows: Range, outer: Box, given: Mapping[str, int]
    ) -> int:
        name = op.operands[read.operand]
        if name in given:
            return given[name]
        if name in self.row_by_row:
            return self._input(name, rows)
        if not has_lines(self.graph, op, name) and name in self.made_here:
            raise InfeasibleError(
                f"%{op.name} reads %{name} of its group along other axes", hint="--fuse epilogues"
            )
        if name in self.homes:
            return self.lines[self._home(name).tensor]
        if name in self.lines and (name in self.made_here or name in self.first_reads):
            return self.lines[name]
        if name in self.place.addresses and not self.graph.is_constant(name):
            return self.collector.tile(_seen(self._whole(name), read.view))
        return self.collector.tile(_seen(self._tile(name, Role.I, read.box(outer)), read.view))


def _seen(tile: Tile, view: View) -> Tile:
    """Return a tile under the axes that an operator reads it with."""
    box = whole(view.shape) if tile.is_resident else tile.box
    return replace(tile, view=view.strides, box=box)


def _rows_box(type: TensorType, rows: Range) -> Box:
    """Return all of some rows of a tensor."""
    box = list(whole(type.shape))
    box[row_axis(type)] = rows
    return tuple(box)


def _within(inner: Range, outer: Range) -> bool:
    return outer.start <= inner.start and inner.stop <= outer.stop


def _dealt_out(box: Box, rows: int, npus: int) -> Iterator[Box]:
    """Yield a box cut evenly along the axis before its rows, or along these if that is one."""
    if npus == 1:
        yield box
        return
    axis = rows - 1 if rows and box[rows - 1].size > 1 else rows
    yield from _cut(box, axis, -(-box[axis].size // npus) * (size_of(box) // box[axis].size))


def _in_pieces(box: Box, rows: int, most: int) -> Iterator[Box]:
    """Yield a box cut along the axis before its rows, and then along these, into small ones.

    Args:
        box: The box.
        rows: Which axis its rows are.
        most: Elements that a piece has at most, if it is more than a row.
    """
    pieces = [box]
    for axis in range(max(0, rows - 1), rows + 1):
        pieces = [part for piece in pieces for part in _cut(piece, axis, most)]
    yield from pieces


def _cut(box: Box, axis: int, most: int) -> Iterator[Box]:
    """Yield a box cut along an axis, into parts of at most so many elements or of one index."""
    one = size_of(box) // box[axis].size
    start = box[axis].start
    for part in cuts(box[axis].size, max(1, most // one)):
        yield (*box[:axis], Range(start + part.start, start + part.stop), *box[axis + 1 :])

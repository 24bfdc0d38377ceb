"""Cut an operator of the MAC array into tiles, following its loop nest.

    nest (P=56 K=64 ..) {             load W[k0] I[p0]; compute p0 k0 -> acc; finish; store O
      dram [W I O]            ->      load      I[p1]; compute p1 k0 -> acc; finish; store O
        for P 8                       ...
      gb [I O]
      ..

The loops outside of every operand's outermost tile on chip become operations, one instruction of
the MAC array each; the loops inside become that instruction's descriptor. Accumulators remain in
the NPU where the nest completes them there, else in the scratchpad at their own width.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from ...ir.arch import Architecture
from ...ir.graph import Graph, Op
from ...ir.isa.instructions import Space, Unit
from ...ir.isa.spaces import level_of_space
from ...ir.mapping import LoopNest
from ...ir.operators.access import Box
from ...ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp
from ...ir.workload import DIMS, RELEVANT, Dim, Operand
from ..analysis.tile_cost import TileCost, tile_cost
from ..analysis.traffic import Direction
from .collect import TileCollector
from .inner_nest import inner_nest, spread
from .mac_tiles import MacTiler, in_steps, own_box, steps_of
from .nest_cuts import NestCuts, Ranges
from .residency import Residency

_IN_ORDER = {item: tuple(dim for dim in DIMS if dim in RELEVANT[item]) for item in Operand}


@dataclass
class _Placer:
    """Tells what the array runs, and how tiles lie in its memories; local to one tiling."""

    cuts: NestCuts
    dims: Mapping[Dim, int]
    collector: TileCollector
    sums: str

    def __post_init__(self) -> None:
        self._operations: dict[tuple[int, ...], int] = {}
        self._is_cut: dict[tuple[int, ...], bool] = {}
        self._spreads: dict[tuple[object, ...], tuple[int, int] | None] = {}

    def operation(self, ranges: Ranges, inputs: Tile) -> int:
        """Return the number of the nest that one operation runs."""
        key = _shape(ranges, inputs)
        if key not in self._operations:
            self._operations[key] = self.collector.nest(self._inside(ranges, inputs))
        return self._operations[key]

    def _inside(self, ranges: Ranges, inputs: Tile) -> LoopNest:
        """Return the nest that one operation runs."""
        nest, cuts = self.cuts.nest, self.cuts
        sizes = {dim: item.size for dim, item in ranges.items()}
        work = in_steps(nest.workload.resized(sizes), inputs)
        return inner_nest(nest, cuts.arch, work, cuts.boundary, self.sums)

    def parts(self, ranges: Ranges, inputs: Tile) -> tuple[Ranges, ...]:
        """Return an operation that clears sums, its first additions apart where that helps.

        These read no sums: they leave the port to the vector unit, which finishes the sums of the
        operation before meanwhile. Where the whole operation takes more than half of what the port
        can read, both would slow each other down.
        """
        cut = self.cuts.first_apart(ranges)
        key = _shape(ranges, inputs)
        if len(cut) > 1 and key not in self._is_cut:
            self._is_cut[key] = self._is_worth_it(ranges, cut, inputs)
        return cut if self._is_cut.get(key) else (ranges,)

    def _is_worth_it(self, whole: Ranges, parts: Sequence[Ranges], inputs: Tile) -> bool:
        """Whether parts take as long as the whole, and that keeps the port of sums busy."""
        arch = self.cuts.arch.for_npu(self.cuts.arch.npus[0])
        bandwidth = arch.level(self.sums).read_bandwidth
        if bandwidth is None:
            return False

        def cost(ranges: Ranges, *, accumulate: bool) -> TileCost:
            return tile_cost(self._inside(ranges, inputs), arch, accumulate=accumulate)

        together = cost(whole, accumulate=False)
        costs = [cost(part, accumulate=number > 0) for number, part in enumerate(parts)]
        read = sum(
            item.busiest_bits / (8 * bandwidth)
            for item in together.traffic
            if (item.place, item.direction) == (self.sums, Direction.READ)
        )
        hides = all(after.fill_cycles <= before.steady_cycles for before, after in pairwise(costs))
        steady = sum(item.steady_cycles for item in costs)
        return hides and 2 * read > together.steady_cycles >= steady - len(costs)

    def placed(self, tile: Tile, ranges: Ranges, start: int) -> Tile:
        """Return a tile with its layout, where it lies in a memory that has instances."""
        if tile.is_resident or tile.space not in (Space.WB, Space.AB):
            return tile
        operand = Operand.W if tile.role is Role.W else Operand.O
        key = (operand, start, *[ranges[dim].size for dim in _IN_ORDER[operand]])
        if key not in self._spreads:
            inside, dims = self.cuts.sizes[start], self.dims
            extents = {
                dim: ranges[dim].size if dim in RELEVANT[operand] else min(inside[dim], dims[dim])
                for dim in DIMS
            }
            found = spread(self.cuts.nest, self.cuts.arch, tile, extents, start)
            self._spreads[key] = (
                None if found is None else (self.collector.nest(found.layout), found.footprint)
            )
        known = self._spreads[key]
        return tile if known is None else replace(tile, layout=known[0], footprint=known[1])


def _shape(ranges: Ranges, inputs: Tile) -> tuple[int, ...]:
    return (*(item.size for item in ranges.values()), *steps_of(inputs))


class Complete(NamedTuple):
    """Sums that are complete.

    Attributes:
        sums: Index of the accumulator tile.
        own: Its index ranges.
        out: Those of the output tile that it is part of.
        at: Index of the outer loops, of the first operation that adds to them.
    """

    sums: int
    own: Ranges
    out: Ranges
    at: tuple[int, ...]


Finish: TypeAlias = Callable[[Complete], tuple[TileOp, ...]]
"""From complete sums to the operations that turn them into results."""


@dataclass
class MacOperations:
    """Makes the operations of one operator, or of some rows of its result; local to one tiling.

    Attributes:
        tiler: Makes tiles.
        cuts: The nest, of these rows.
        dims: Extents that its tiles are laid out for: those of the most rows that are made at once,
            so that weights lie at the same place whatever rows are made.
        collector: Where tiles and operations go.
        first_row: First of these rows.
        lines: Tile that holds all inputs; ``None`` where they come in tiles of their own.
        first_channels: Channels of the tensors of inputs' and outputs' tiles that are the first of
            the operator's own.
        is_apart: Whether first additions are operations of their own, where that helps.
    """

    tiler: MacTiler
    cuts: NestCuts
    dims: Mapping[Dim, int]
    collector: TileCollector
    first_row: int = 0
    lines: int | None = None
    first_channels: tuple[int, int] = (0, 0)
    is_apart: bool = False

    def __post_init__(self) -> None:
        level = level_of_space(self.cuts.arch)[self.tiler.psum_space]
        self._placer = _Placer(self.cuts, self.dims, self.collector, level)
        self._known: dict[tuple[Role, tuple[int, ...]], int] = {}
        self._known_ranges: dict[tuple[int, ...], Ranges | None] = {}
        self._known_parameters: dict[tuple[Range, Range], tuple[int, ...]] = {}

    def go_on(self, first_row: int, lines: int | None) -> None:
        """Make as many other rows next; tiles of weights and what the array runs remain.

        Args:
            first_row: First of these rows.
            lines: Tile that holds all inputs.
        """
        self.first_row, self.lines = first_row, lines
        self._known = {key: tile for key, tile in self._known.items() if key[0] is Role.W}

    def ranges(self, index: tuple[int, ...]) -> Ranges | None:
        """Return the index ranges inside of outer loops, in the operator's own rows."""
        if index not in self._known_ranges:
            self._known_ranges[index] = self.cuts.ranges(index)
        found = self._known_ranges[index]
        if found is None or not self.first_row:
            return found
        rows = found[Dim.P]
        return {**found, Dim.P: Range(rows.start + self.first_row, rows.stop + self.first_row)}

    def blocks(self, finish: Finish) -> Iterator[tuple[TileOp, ...]]:
        """Yield operations in the order of the nest; sums are finished when they are complete.

        Each comes with what follows it at once.

        Args:
            finish: Makes the operations that follow the last one on an accumulator tile.

        Raises:
            InfeasibleError: They would be too many.
        """
        self.collector.check(self.cuts.operations)
        products: list[tuple[TileOp, ...]] = []
        finishing: dict[int, tuple[TileOp, ...]] = {}
        for index in self.cuts.iterations():
            ranges = self.ranges(index)
            if ranges is not None:
                products.append(self._products(index, ranges))
                self._note_finish(products[-1][0].out, index, finishing, finish)
        last = {items[0].out: number for number, items in enumerate(products)}
        for number, items in enumerate(products):
            out = items[0].out
            following = finishing[out] if last[out] == number else ()
            yield (*items, *following)

    def _products(self, index: tuple[int, ...], ranges: Ranges) -> tuple[TileOp, ...]:
        """Return the operations of one index of the outer loops: the first additions apart, or one.

        Args:
            index: Of the outer loops.
            ranges: Index ranges inside of them.
        """
        inputs = self.lines
        if inputs is None:
            inputs = self._tile(Role.I, index[: self.cuts.home_start(Operand.I)], self.tiler.inputs)
        elif ranges[Dim.G].size > 1:
            read = tuple(ranges[dim] for dim in (Dim.N, Dim.G, Dim.C, Dim.P, Dim.Q))
            own_box(self.tiler.op, self.tiler.axes(Dim.C), read)
        weights = self._tile(Role.W, index[: self.cuts.home_start(Operand.W)], self.tiler.weights)
        at_sums, given = index[: self.cuts.sums_start], self.collector.tiles[inputs]
        is_cut = self.is_apart and (Role.PSUM, at_sums) not in self._known
        parts = self._placer.parts(ranges, given) if is_cut else (ranges,)
        nests = [self._placer.operation(part, given) for part in parts]
        sums = self._tile(Role.PSUM, at_sums, self.tiler.accumulators)
        return tuple(
            self._product(part, nest, inputs, weights, sums)
            for part, nest in zip(parts, nests, strict=True)
        )

    def _product(self, part: Ranges, nest: int, inputs: int, weights: int, sums: int) -> TileOp:
        """Return one operation of the array."""
        rows = ()
        if self.collector.tiles[inputs].rolls:
            met = self.tiler.inputs(part).box[3]
            rows = (Range(met.start, met.stop),)
        return self.collector.op(
            self.tiler.op,
            unit=Unit.MX,
            box=tuple(part.values()),  # in the order of DIMS
            reads=(inputs, weights),
            out=sums,
            nests=(nest,) * len(self.cuts.arch.npus),
            shifts=(self.first_channels[0], 0, 0),
            rows=rows,
        )

    def _note_finish(
        self,
        sums: int,
        index: tuple[int, ...],
        finishing: dict[int, tuple[TileOp, ...]],
        finish: Finish,
    ) -> None:
        if sums not in finishing:
            own = self.ranges(index[: self.cuts.sums_start])
            out = self.ranges(index[: self.cuts.home_start(Operand.O)])
            assert own is not None and out is not None
            finishing[sums] = finish(Complete(sums, own, out, index))

    def joined(self, done: Complete) -> Ranges:
        """Return index ranges for which operands of operators behind are fetched.

        Args:
            done: Sums that are among them.
        """
        found = self.ranges(done.at[: self.cuts.joined_start])
        assert found is not None
        return found

    def _tile(self, role: Role, index: tuple[int, ...], make: Callable[[Ranges], Tile]) -> int:
        if (role, index) not in self._known:
            ranges = self.ranges(index)
            assert ranges is not None
            placed = self._placer.placed(make(ranges), ranges, len(index))
            self._known[role, index] = self.collector.tile(placed)
        return self._known[role, index]

    def finish_of(self, sums: int, ranges: Ranges, out: Tile, written: Box = ()) -> TileOp:
        """Return the operation that turns accumulators into outputs.

        Args:
            sums: Index of the accumulator tile.
            ranges: Its index ranges.
            out: The tile of outputs.
            written: What is written along its axes, if these are the tensor's own.
        """
        parameters = self._parameters(ranges[Dim.G], ranges[Dim.K])
        return self.collector.op(
            self.tiler.op,
            unit=Unit.VX,
            box=self.collector.tiles[sums].box,
            reads=(sums, *parameters),
            out=self.collector.tile(out),
            shifts=(0, *(0 for _ in parameters), self.first_channels[1]),
            written=written,
        )

    def _parameters(self, groups: Range, channels: Range) -> tuple[int, ...]:
        """Return the tiles of bias and multipliers of some channels."""
        key = groups, channels
        if key not in self._known_parameters:
            tiles = self.tiler.parameter_tiles(groups, channels)
            self._known_parameters[key] = tuple(map(self.collector.tile, tiles))
        return self._known_parameters[key]


def mac_operations(
    graph: Graph,
    op: Op,
    nest: LoopNest,
    arch: Architecture,
    place: Residency,
    collector: TileCollector,
    resident: frozenset[Operand],
    rows: int | None = None,
    *,
    is_apart: bool = False,
) -> MacOperations:
    """Return what makes the operations of an operator of the MAC array.

    Args:
        graph: The network.
        op: The operator.
        nest: Its loops.
        arch: The machine.
        place: What is resident and what is moved in tiles.
        collector: Where tiles and operations go.
        resident: Operands that lie whole in the scratchpad.
        rows: How many rows are made, if fewer than the nest is for.
        is_apart: Whether first additions are operations of their own, where that helps.
    """
    dims = nest.workload.dims
    if rows is not None:
        nest = replace(nest, workload=nest.workload.resized({**dims, Dim.P: rows}))
    cuts = NestCuts(nest, arch, resident)
    psum_space = Space.AB if cuts.accumulates_inside else Space.GB
    half = arch.vector.parameter_bytes // 2
    tiler = MacTiler(graph, op, nest.workload, psum_space, place, arch, half)
    return MacOperations(tiler, cuts, dims, collector, is_apart=is_apart)


def tile_mac(
    graph: Graph,
    op: Op,
    nest: LoopNest,
    arch: Architecture,
    place: Residency,
    *,
    is_apart: bool = False,
) -> TileGraph:
    """Return the tile graph of an operator of the MAC array.

    Args:
        graph: The network.
        op: The operator.
        nest: Its loops.
        arch: The machine.
        place: What is resident and what is moved in tiles.
        is_apart: Whether first additions are operations of their own, where that helps.
    """
    names = {Operand.W: op.operands[1], Operand.I: op.operands[0], Operand.O: op.name}
    resident = frozenset(role for role, name in names.items() if name in place.addresses)
    collector = TileCollector(op.name)
    run = mac_operations(graph, op, nest, arch, place, collector, resident, is_apart=is_apart)

    def finish(done: Complete) -> tuple[TileOp, ...]:
        return (run.finish_of(done.sums, done.own, run.tiler.outputs(done.out)),)

    for block in run.blocks(finish):
        for item in block:
            collector.add(item)
    return collector.finish()

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

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product, takewhile
from typing import NamedTuple, TypeAlias

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError, VerifyError
from ...ir.graph import Graph, Op
from ...ir.isa.instructions import Space, Unit
from ...ir.isa.spaces import level_of_space
from ...ir.mapping import LoopNest
from ...ir.operators.access import Box, whole
from ...ir.operators.image import AXES, ImageAxes, matrix_axes, rows_met
from ...ir.operators.views import SlidingWindow, window_of
from ...ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp, dense_strides, multiplier_name
from ...ir.workload import DIMS, REDUCTION, RELEVANT, Dim, Operand, Workload
from ..analysis.tile_cost import TileCost, tile_cost
from ..analysis.traffic import Direction
from .collect import TileCollector
from .inner_nest import accumulates_inside, inner_nest, spread
from .residency import Residency

Ranges = Mapping[Dim, Range]

_Moving: TypeAlias = Sequence[tuple[Dim, Sequence[tuple[int, int]]]]
"""Dimensions, each with the outer loops along it: number, and distance of one step."""


_MOST_ADDITIONS = 64
"""How often an operation adds to each of its sums, at most, if the first time may be apart."""

_JOINED = 4096
"""Outputs for which operands of operators behind are fetched at once, if more are made."""


@dataclass(frozen=True)
class NestCuts:
    """How a nest splits into operations (outside) and descriptors (inside).

    Attributes:
        nest: The loops.
        arch: The machine.
        resident: Operands that lie whole in the scratchpad.
    """

    nest: LoopNest
    arch: Architecture
    resident: frozenset[Operand] = frozenset()

    @cached_property
    def accumulates_inside(self) -> bool:
        """Whether outputs are completed in the NPU's accumulators."""
        return accumulates_inside(self.nest, self.arch)

    def home_start(self, operand: Operand) -> int:
        """Return where the outermost on-chip tile of an operand starts."""
        on_chip = self.nest.of(operand)[1:]
        is_sums = operand is Operand.O and bool(on_chip)
        if operand in self.resident and not (is_sums and on_chip[0].level == self.arch.scratchpad):
            return 0
        if not on_chip:
            raise VerifyError(f"the nest keeps {operand} nowhere on chip")
        return on_chip[0].start

    @cached_property
    def accumulator_start(self) -> int:
        """Where the tile that accumulators hold starts: outside of what leaves it stationary."""
        start = self.nest.of(Operand.O)[-1].start
        while start > 0 and self.nest.temporal[start - 1].dim not in RELEVANT[Operand.O]:
            start -= 1
        return start

    @cached_property
    def boundary(self) -> int:
        """First loop that is left to the instruction's descriptor."""
        outer = max(self.home_start(Operand.W), self.home_start(Operand.I))
        if self.accumulates_inside:
            return max(outer, self.accumulator_start)
        return max(outer, self.home_start(Operand.O))

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Distance along its own dimension of one step of each temporal loop."""
        inner = dict.fromkeys(DIMS, 1)
        for loop in self.nest.spatial:
            inner[loop.dim] *= loop.extent
        steps: list[int] = []
        for loop in reversed(self.nest.temporal):
            steps.append(inner[loop.dim])
            inner[loop.dim] *= loop.extent
        return tuple(reversed(steps))

    @cached_property
    def sizes(self) -> tuple[Mapping[Dim, int], ...]:
        """The extents of the loops inside of each cut, temporal and spatial.

        From none of the temporal loops outside of it to all.
        """
        found: list[Mapping[Dim, int]] = []
        for cut in range(len(self.nest.temporal) + 1):
            inside = dict.fromkeys(DIMS, 1)
            for loop in (*self.nest.temporal[cut:], *self.nest.spatial):
                inside[loop.dim] *= loop.extent
            found.append(inside)
        return tuple(found)

    def ranges(self, index: tuple[int, ...]) -> Ranges | None:
        """Return the index ranges inside ``len(index)`` outer loops; ``None`` if all padding."""
        at_first, moving = self._cut_ranges[len(index)]
        found = dict(at_first)
        for dim, steps in moving:
            start = sum(index[loop] * step for loop, step in steps)
            stop = min(start + found[dim].stop, self.nest.workload.dims[dim])
            if start >= stop:
                return None
            found[dim] = Range(start, stop)
        return found

    @cached_property
    def _cut_ranges(self) -> tuple[tuple[Ranges, _Moving], ...]:
        """Ranges at the first index of the outer loops of each cut, and how these move them."""
        dims, loops = self.nest.workload.dims, list(enumerate(self.nest.temporal))
        found: list[tuple[Ranges, _Moving]] = []
        for cut, sizes in enumerate(self.sizes):
            at_first = {dim: Range(0, min(size, dims[dim])) for dim, size in sizes.items()}
            steps: dict[Dim, list[tuple[int, int]]] = {}
            for number, loop in loops[:cut]:
                steps.setdefault(loop.dim, []).append((number, self.steps[number]))
            found.append((at_first, tuple(steps.items())))
        return tuple(found)

    @property
    def sums_start(self) -> int:
        """Where the tile of sums starts that one operation finishes."""
        return self.accumulator_start if self.accumulates_inside else self.boundary

    @cached_property
    def joined_start(self) -> int:
        """Where parts of outputs start that operands of operators behind are fetched for.

        They are tiles of outputs where these are small enough; large ones, and all outputs if they
        lie whole in the scratchpad, are cut by the loops inside.
        """
        start = self.home_start(Operand.O)
        while start < self.sums_start and self._outputs(start) > _JOINED:
            start += 1
        return start

    def _outputs(self, start: int) -> int:
        """Return how many outputs the loops from one of them on make."""
        return math.prod(self.sizes[start][dim] for dim in RELEVANT[Operand.O])

    def first_apart(self, ranges: Ranges) -> tuple[Ranges, ...]:
        """Return an operation cut behind its first addition to each sum.

        Loops that add to a sum before the next one count as one addition. The operation is left
        whole where there is one, or very many.

        Args:
            ranges: Index ranges of the operation.
        """
        found: list[Ranges] = []
        count, left = 1, dict(ranges)
        for number in self._first_loops_that_add:
            dim = self.nest.temporal[number].dim
            size, whole = self.sizes[number + 1][dim], left[dim]
            if whole.size > size:
                count *= -(-whole.size // size)
                found.append({**left, dim: Range(whole.start + size, whole.stop)})
                left[dim] = Range(whole.start, whole.start + size)
        return (left, *reversed(found)) if 1 < count <= _MOST_ADDITIONS else (ranges,)

    @cached_property
    def _first_loops_that_add(self) -> tuple[int, ...]:
        """The outermost loops of an operation, if they go through all its sums again and again.

        Those between loops over outputs add, too. With them ResNet-50 takes 0.9 % more cycles on
        ``edge-1m``: weights come again for so many operations.
        """
        if not self.accumulates_inside:
            return ()
        loops = self.nest.temporal
        outputs = (n for n, loop in enumerate(loops) if loop.dim in RELEVANT[Operand.O])
        inside = range(self.boundary, max(outputs, default=0))
        return tuple(takewhile(lambda number: loops[number].dim in REDUCTION, inside))

    def iterations(self) -> Iterator[tuple[int, ...]]:
        """Yield the loop indices of every operation, in loop order."""
        yield from product(*(range(loop.extent) for loop in self.nest.temporal[: self.boundary]))


@dataclass(frozen=True)
class MacTiler:
    """Makes the tiles of one operator.

    Attributes:
        graph: The network.
        op: The operator.
        workload: Its extents.
        psum_space: Where its accumulators lie.
        place: What is resident.
        arch: The machine.
        parameters: Largest parameter tile that may remain for the whole operator [byte].
    """

    graph: Graph
    op: Op
    workload: Workload
    psum_space: Space
    place: Residency
    arch: Architecture
    parameters: int

    @cached_property
    def is_dense(self) -> bool:
        """Whether the operator is a matrix product rather than a convolution."""
        return self.op.kind == "dense"

    @cached_property
    def window(self) -> SlidingWindow:
        """How the filter moves over the input."""
        if self.is_dense:
            return SlidingWindow(kernel=(1, 1))
        return window_of(self.op, (self.workload.R, self.workload.S))

    def axes(self, channels: Dim) -> ImageAxes:
        """Return how the array sees the input (``C``) or the output (``K``)."""
        name = self.op.operands[0] if channels is Dim.C else self.op.name
        batch = matrix_axes(self.op.kind, self.graph.types[name].shape)
        return ImageAxes(self.workload.dims[channels], batch)

    def weights(self, ranges: Ranges) -> Tile:
        """Return the weight tile ``G K C R S`` of index ranges."""
        dims = self.workload.dims
        shape = tuple(dims[dim] for dim in (Dim.G, Dim.K, Dim.C, Dim.R, Dim.S))
        box = tuple(ranges[dim] for dim in (Dim.G, Dim.K, Dim.C, Dim.R, Dim.S))
        name = self.op.operands[1]
        if Operand.W in self.arch.scratchpad_level.holds:
            return self._in_scratchpad(name, Role.W, dense_strides(shape), shape, box)
        return Tile(
            tensor=name,
            role=Role.W,
            view=dense_strides(shape),
            box=box,
            element_bytes=self.graph.types[name].dtype.bytes,
            space=Space.WB,
        )

    def inputs(self, ranges: Ranges) -> Tile:
        """Return the input tile ``N G C row column`` that index ranges read, clipped."""
        name = self.op.operands[0]
        view, shape = self._image(name, Dim.C)
        box = (
            ranges[Dim.N],
            ranges[Dim.G],
            ranges[Dim.C],
            rows_met(self.window, 0, ranges[Dim.P], ranges[Dim.R], shape[3]),
            rows_met(self.window, 1, ranges[Dim.Q], ranges[Dim.S], shape[4]),
        )
        return self._in_scratchpad(name, Role.I, view, shape, box)

    def outputs(self, ranges: Ranges) -> Tile:
        """Return the output tile ``N G K P Q`` of index ranges."""
        name = self.op.name
        view, shape = self._image(name, Dim.K)
        return self._in_scratchpad(name, Role.O, view, shape, self.output_box(ranges))

    def accumulators(self, ranges: Ranges) -> Tile:
        """Return the accumulator tile ``N G K P Q`` of index ranges."""
        _, shape = self._image(self.op.name, Dim.K)
        return Tile(
            tensor=self.op.name,
            role=Role.PSUM,
            view=dense_strides(shape),
            box=self.output_box(ranges),
            element_bytes=self.arch.accumulator_bytes,
            space=self.psum_space,
        )

    def parameter_tiles(self, ranges: Ranges) -> tuple[Tile, ...]:
        """Return the bias and multiplier tiles ``G K`` that finishing index ranges reads."""
        dims = self.workload.dims
        shape = (dims[Dim.G], dims[Dim.K])
        names = parameter_names(self.graph, self.op)
        fits = 4 * math.prod(shape) * len(names) <= self.parameters
        box = whole(shape) if fits else (ranges[Dim.G], ranges[Dim.K])
        return tuple(
            Tile(
                tensor=name,
                role=Role.PARAM,
                view=dense_strides(shape),
                box=box,
                element_bytes=4,
                space=Space.PB,
            )
            for name in names
        )

    def _in_scratchpad(
        self,
        name: str,
        role: Role,
        view: tuple[int, ...],
        shape: tuple[int, ...],
        box: tuple[Range, ...],
    ) -> Tile:
        address = self.place.addresses.get(name)
        return Tile(
            tensor=name,
            role=role,
            view=view,
            box=box if address is None else whole(shape),
            element_bytes=self.graph.types[name].dtype.bytes,
            space=Space.GB,
            address=address,
        )

    def output_box(self, ranges: Ranges) -> tuple[Range, ...]:
        """Return the box over ``N G K P Q`` of index ranges."""
        return tuple(ranges[dim] for dim in (Dim.N, Dim.G, Dim.K, Dim.P, Dim.Q))

    def _image(self, name: str, channels: Dim) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return strides and extents of an activation seen as ``N G channel row column``."""
        shape = self.graph.types[name].shape
        if self.is_dense:
            *batch, rows, columns = shape
            size, matrices = rows * columns, math.prod(batch)
            return (matrices * size, size, 1, columns, 1), (1, matrices, columns, rows, 1)
        dims = self.workload.dims
        seen = (shape[0], dims[Dim.G], dims[channels], shape[2], shape[3])
        return dense_strides(seen), seen


def own_box(op: Op, axes: ImageAxes, box: Box) -> Box:
    """Return a box over ``N G channel row column`` as one over the tensor's own axes.

    Args:
        op: The operator whose nest has the box.
        axes: How the array sees the tensor.
        box: The box.

    Raises:
        InfeasibleError: It has parts of the channels of several groups.
    """
    own = axes.own_box(box)
    if own is None:
        raise InfeasibleError(
            f"the nest of %{op.name} cuts the channels of several groups at once",
            hint="use another mapper, or --fuse off",
        )
    return own


def parameter_names(graph: Graph, op: Op) -> tuple[str, ...]:
    """Return the names of the tensors that finishing an operator reads: bias and multiplier.

    A quantised operator has one float32 multiplier per output channel; it is derived from the
    scales when the program is made and is no tensor of the graph.
    """
    bias = op.operands[2:3]
    is_integer = graph.types[op.operands[0]].dtype.is_integer
    names = tuple(name for name in bias if name)
    return (*names, multiplier_name(op.name)) if is_integer else names


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
        inside, dims = self.cuts.sizes[start], self.dims
        extents = {
            dim: ranges[dim].size if dim in RELEVANT[operand] else min(inside[dim], dims[dim])
            for dim in DIMS
        }
        key = (operand, start, *extents.values())
        if key not in self._spreads:
            found = spread(self.cuts.nest, self.cuts.arch, tile, extents, start)
            self._spreads[key] = (
                None if found is None else (self.collector.nest(found.layout), found.footprint)
            )
        known = self._spreads[key]
        return tile if known is None else replace(tile, layout=known[0], footprint=known[1])


def _shape(ranges: Ranges, inputs: Tile) -> tuple[int, ...]:
    return (*(item.size for item in ranges.values()), *steps_of(inputs))


def steps_of(inputs: Tile) -> tuple[int, int]:
    """Return how far apart the rows and columns are that a tile of inputs has."""
    return (inputs.box[3].step, inputs.box[4].step) if len(inputs.box) == AXES else (1, 1)


def in_steps(workload: Workload, inputs: Tile) -> Workload:
    """Return a workload whose window steps over the rows and columns that a tile of inputs has."""
    rows, columns = steps_of(inputs)
    (down, right), (below, beside) = workload.stride, workload.dilation
    return replace(
        workload,
        stride=(down // rows, right // columns),
        dilation=(max(1, below // rows), max(1, beside // columns)),
    )


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

    def ranges(self, index: tuple[int, ...]) -> Ranges | None:
        """Return the index ranges inside of outer loops, in the operator's own rows."""
        found = self.cuts.ranges(index)
        if found is None or not self.first_row:
            return found
        rows = found[Dim.P]
        return {**found, Dim.P: Range(rows.start + self.first_row, rows.stop + self.first_row)}

    def blocks(self, finish: Finish) -> Iterator[tuple[TileOp, ...]]:
        """Yield operations in the order of the nest; sums are finished when they are complete.

        Each comes with what follows it at once.

        Args:
            finish: Makes the operations that follow the last one on an accumulator tile.
        """
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
            self.collector.op(
                self.tiler.op,
                unit=Unit.MX,
                box=tuple(part[dim] for dim in DIMS),
                reads=(inputs, weights),
                out=sums,
                nests=(nest,) * len(self.cuts.arch.npus),
                shifts=(self.first_channels[0], 0, 0),
            )
            for part, nest in zip(parts, nests, strict=True)
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
        parameters = tuple(map(self.collector.tile, self.tiler.parameter_tiles(ranges)))
        found = self.collector.op(
            self.tiler.op,
            unit=Unit.VX,
            box=self.collector.tiles[sums].box,
            reads=(sums, *parameters),
            out=self.collector.tile(out),
            shifts=(0, *(0 for _ in parameters), self.first_channels[1]),
        )
        return replace(found, written=written)


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

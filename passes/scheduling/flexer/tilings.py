"""Tilings of an operator, and the tile graph of each.

A tiling cuts ``P Q C K N G``; filters are never cut. Its tiles are numbered as the compiled
scheduler wants them: inputs, weights, accumulators, outputs, then parameters.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....ir.isa.instructions import Unit
from ....ir.mapping import LoopNest
from ....ir.operators.image import rows_met
from ....ir.tiles.graph import Range, Tile, TileGraph, TileOp
from ....ir.workload import DIMS, Dim, Operand
from ...tiling.collect import cuts, resident_operands
from .kernel.arrays import Ints
from .site import Site

CUT_DIMS = (Dim.G, Dim.N, Dim.P, Dim.Q, Dim.K, Dim.C)
"""Dimensions that are cut, in the order of the canonical loop nest."""

_I_DIMS = (Dim.N, Dim.G, Dim.C, Dim.P, Dim.Q)
_W_DIMS = (Dim.G, Dim.K, Dim.C)
_O_DIMS = (Dim.N, Dim.G, Dim.K, Dim.P, Dim.Q)


@dataclass(frozen=True, slots=True, kw_only=True)
class TileSizes:
    """Extents of the tiles of one tiling; border tiles are smaller."""

    G: int
    N: int
    P: int
    Q: int
    K: int
    C: int

    def of(self, dim: Dim) -> int:
        """Return the extent along a dimension that is cut."""
        return int(getattr(self, dim.value))

    def __str__(self) -> str:
        return " ".join(f"{dim}={self.of(dim)}" for dim in CUT_DIMS if self.of(dim) > 1) or "P=1"


@dataclass(frozen=True)
class Tiling:
    """An operator with tile sizes.

    Attributes:
        site: The operator.
        sizes: Extents of its tiles.
    """

    site: Site
    sizes: TileSizes

    @cached_property
    def ranges(self) -> dict[Dim, tuple[Range, ...]]:
        """Index ranges along each dimension."""
        dims = self.site.workload.dims
        found = {dim: cuts(dims[dim], self.sizes.of(dim)) for dim in CUT_DIMS}
        return {**found, Dim.R: (Range(0, dims[Dim.R]),), Dim.S: (Range(0, dims[Dim.S]),)}

    @cached_property
    def trips(self) -> dict[Dim, int]:
        """Number of ranges along each dimension."""
        return {dim: len(items) for dim, items in self.ranges.items()}

    @cached_property
    def op_count(self) -> int:
        """Number of operations."""
        return math.prod(self.trips[dim] for dim in CUT_DIMS)

    @cached_property
    def indices(self) -> dict[Dim, Ints]:
        """Range of every operation along each dimension, in canonical order ``[ops]``."""
        grids = np.indices([self.trips[dim] for dim in CUT_DIMS]).reshape(len(CUT_DIMS), -1)
        return {dim: grids[k].astype(np.int64) for k, dim in enumerate(CUT_DIMS)}

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """Number of input, weight and accumulator tiles."""
        inputs = 1 if self.site.resident[Operand.I] else self._count(_I_DIMS)
        weights = 1 if self.site.resident[Operand.W] else self._count(_W_DIMS)
        return inputs, weights, self._count(_O_DIMS)

    @cached_property
    def tile_count(self) -> int:
        """Number of all tiles but parameters."""
        inputs, weights, accs = self.counts
        return inputs + weights + 2 * accs

    def _count(self, dims: Sequence[Dim]) -> int:
        return math.prod(self.trips[dim] for dim in dims)

    def _number(self, dims: Sequence[Dim]) -> Ints:
        """Return the tile of every operation along some dimensions ``[ops]``."""
        return np.ravel_multi_index(
            tuple(self.indices[dim] for dim in dims), tuple(self.trips[dim] for dim in dims)
        ).astype(np.int64)

    @cached_property
    def reads(self) -> Ints:
        """Input, weight and accumulator tile of every operation ``[ops, 3]``."""
        inputs, weights, _ = self.counts
        first, second = self._number(_I_DIMS), self._number(_W_DIMS)
        if self.site.resident[Operand.I]:
            first = np.zeros_like(first)
        if self.site.resident[Operand.W]:
            second = np.zeros_like(second)
        second = second + inputs
        third = self._number(_O_DIMS) + inputs + weights
        return np.stack([first, second, third], axis=1)

    def _extents(self, dim: Dim) -> Ints:
        return np.array([item.size for item in self.ranges[dim]], np.int64)

    def _touched(self, dim: Dim) -> Ints:
        """Return input rows (of ``P``) or columns (of ``Q``) that each range reads."""
        tiler, axis = self.site.tiler, int(dim is Dim.Q)
        taps = self.ranges[Dim.S if axis else Dim.R][0]
        shape = self.site.graph.types[self.site.op.operands[0]].shape
        extent = shape[2 + axis] if not tiler.is_dense else (shape[-2] if axis == 0 else 1)
        return np.array(
            [rows_met(tiler.window, axis, item, taps, extent).size for item in self.ranges[dim]],
            np.int64,
        )

    @cached_property
    def tile_bytes(self) -> Ints:
        """Size of every tile, zero where it is resident [byte] ``[tiles]``."""
        site, types = self.site, self.site.graph.types
        extents = {dim: self._extents(dim) for dim in CUT_DIMS}
        rows = {**extents, Dim.P: self._touched(Dim.P), Dim.Q: self._touched(Dim.Q)}
        x_bytes, w_bytes = (types[name].dtype.bytes for name in site.op.operands[:2])
        taps = site.workload.R * site.workload.S
        inputs = _outer(rows, _I_DIMS) * x_bytes
        if site.resident[Operand.I]:
            inputs = np.zeros(1, np.int64)
        outputs = _outer(extents, _O_DIMS)
        out_bytes = 0 if site.resident[Operand.O] else types[site.op.name].dtype.bytes
        acc_bytes = site.arch.accumulator_bytes
        weights = _outer(extents, _W_DIMS) * taps * w_bytes
        if site.resident[Operand.W]:
            weights = np.zeros(1, np.int64)
        return np.concatenate([inputs, weights, outputs * acc_bytes, outputs * out_bytes])

    @cached_property
    def acc_elements(self) -> Ints:
        """Elements of every accumulator tile ``[accs]``."""
        return _outer({dim: self._extents(dim) for dim in CUT_DIMS}, _O_DIMS)

    @cached_property
    def acc_channels(self) -> tuple[Ints, Ints]:
        """Range along ``G`` and ``K`` of every accumulator tile ``[accs]``."""
        shape = tuple(self.trips[dim] for dim in _O_DIMS)
        _, groups, channels, _, _ = np.indices(shape).reshape(5, -1)
        return groups.astype(np.int64), channels.astype(np.int64)

    @cached_property
    def shapes(self) -> tuple[tuple[tuple[int, ...], ...], Ints]:
        """Distinct extents ``R S P Q C K N G`` of operations, and which one each has ``[ops]``."""
        columns = [
            self._extents(dim)[self.indices[dim]]
            if dim in self.indices
            else np.full(self.op_count, self.site.workload.dims[dim], np.int64)
            for dim in DIMS
        ]
        found, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        distinct = tuple(tuple(int(item) for item in row) for row in found)
        return distinct, inverse.reshape(-1).astype(np.int64)

    @property
    def finishing(self) -> Ints:
        """The operation that finishes what every operation adds to ``[ops]``."""
        first_acc = self.counts[0] + self.counts[1]
        return self.op_count + self.reads[:, 2] - first_acc

    def graph(self, nests: Sequence[tuple[LoopNest, ...]]) -> TileGraph:
        """Return the tile graph: its operations in canonical order, then the finishing ones.

        Args:
            nests: For each of :attr:`shapes` what the array of every NPU runs.
        """
        table: dict[LoopNest, int] = {}
        index = [tuple(table.setdefault(item, len(table)) for item in row) for row in nests]
        tiles, params = self._tiles()
        accs, first_acc = self.counts[2], self.counts[0] + self.counts[1]
        _, shape_of = self.shapes
        ops: list[TileOp] = []
        for number, ranges in enumerate(self.boxes(CUT_DIMS)):
            x, w, acc = (int(item) for item in self.reads[number])
            ops.append(
                TileOp(
                    operator=self.site.op.name,
                    unit=Unit.MX,
                    box=tuple(ranges[dim] for dim in DIMS),
                    reads=(x, w),
                    out=acc,
                    nests=index[int(shape_of[number])],
                )
            )
        for number, parameters in enumerate(params):
            acc = first_acc + number
            out = self.outputs_at(acc, accs)
            ops.append(
                TileOp(
                    operator=self.site.op.name,
                    unit=Unit.VX,
                    box=tiles[acc].box,
                    reads=(acc, *parameters),
                    out=out,
                )
            )
        return TileGraph(
            operators=(self.site.op.name,),
            tiles=tiles,
            ops=tuple(ops),
            nests=tuple(table),
            preloaded=resident_operands(tiles),
        )

    def outputs_at(self, acc: int, accs: int) -> int:
        """Return the output tile of an accumulator tile; a resident output is one tile."""
        return self.tile_count - accs if self.site.resident[Operand.O] else acc + accs

    def _tiles(self) -> tuple[tuple[Tile, ...], list[tuple[int, ...]]]:
        """Return all tiles, and the parameter tiles of each accumulator tile."""
        tiler = self.site.tiler
        inputs = [tiler.inputs(ranges) for ranges in self.boxes(_I_DIMS)]
        if self.site.resident[Operand.I]:
            del inputs[1:]
        weights = [tiler.weights(ranges) for ranges in self.boxes(_W_DIMS)]
        if self.site.resident[Operand.W]:
            del weights[1:]
        boxes = list(self.boxes(_O_DIMS))
        accs = [tiler.accumulators(ranges) for ranges in boxes]
        outs = [tiler.outputs(ranges) for ranges in boxes]
        if self.site.resident[Operand.O]:
            del outs[1:]
        found = [*inputs, *weights, *accs, *outs]
        index: dict[Tile, int] = {}
        params: list[tuple[int, ...]] = []
        for ranges in boxes:
            own = tiler.parameter_tiles(ranges[Dim.G], ranges[Dim.K])
            params.append(tuple(index.setdefault(tile, len(found) + len(index)) for tile in own))
        return (*found, *index), params

    def boxes(self, dims: Sequence[Dim]) -> Iterator[dict[Dim, Range]]:
        """Yield index ranges for every combination along some dimensions; else the first."""
        first = {dim: items[0] for dim, items in self.ranges.items()}
        for chosen in itertools.product(*(self.ranges[dim] for dim in dims)):
            yield {**first, **dict(zip(dims, chosen, strict=True))}


def _outer(extents: dict[Dim, Ints], dims: Sequence[Dim]) -> Ints:
    """Return the products of extents for every combination along some dimensions, flat."""
    product = np.ones(1, np.int64)
    for dim in dims:
        product = np.multiply.outer(product, extents[dim])
    return product.reshape(-1)


def uncut(site: Site) -> Tiling:
    """Return the tiling of one operation, whether or not it fits."""
    dims = site.workload.dims
    sizes = TileSizes(
        G=dims[Dim.G], N=dims[Dim.N], P=dims[Dim.P], Q=dims[Dim.Q], K=dims[Dim.K], C=dims[Dim.C]
    )
    return Tiling(site, sizes)

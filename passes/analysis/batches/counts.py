"""Visits, tiles and elements of every nest of a batch, and with them all that moves.

Arrays have one row per boundary ``J``, flow ``F`` or group of flows ``G`` (those of one operand in
one direction at one place), and one column per nest ``B``. All of them are whole numbers.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import numpy as np

from ....ir.arch import Architecture
from ....ir.workload import DIMS, OPERANDS, RELEVANT, Operand, Workload
from ..flows import Chains, flow_table
from .coefficients import FlowCoefficients, coefficients_of, widths_of
from .nest_batch import Ints, NestBatch, product_over

_FEW = 32
"""Coefficients of more unrollings than these are not remembered."""


def chains_of(
    levels: Mapping[Operand, tuple[str, ...]], arch: Architecture, placement: frozenset[Operand]
) -> Chains:
    """Return the chains of operands kept in some memories, their sources first.

    An operand of the placement lies whole in the scratchpad: the scratchpad is its source, and what
    is said about it there and further out is disregarded. An operand that the scratchpad cannot
    hold is streamed nevertheless.

    Args:
        levels: Memories of each operand, outermost first.
        arch: The machine.
        placement: Operands that lie whole in the scratchpad.
    """
    found: list[tuple[str, ...]] = []
    inside = arch.index(arch.scratchpad)
    for operand in OPERANDS:
        own = levels[operand]
        if operand in placement and operand in arch.scratchpad_level.holds:
            own = (arch.scratchpad, *(name for name in own if arch.index(name) > inside))
        found.append(own)
    return tuple(found)


class Counts:
    """What moves, for every nest of a batch.

    Args:
        batch: The nests.
        arch: The machine.
        placement: Operands that lie whole in the scratchpad.
        has_sums: Whether the source of the outputs holds sums already, which are added to.
        fetched: Elements that the inputs' boundaries move in all visits together, where that is
            not the whole tile in each; by position in the chain.

    Attributes:
        tiles: ``[J, B]``.
        elements: ``[J, B]``.
    """

    def __init__(
        self,
        batch: NestBatch,
        arch: Architecture,
        placement: frozenset[Operand] = frozenset(),
        *,
        has_sums: bool = False,
        fetched: Mapping[int, int] | None = None,
    ) -> None:
        self.batch = batch
        self.arch = arch
        self.placement = placement
        self.has_sums = has_sums
        self.coefficients = self._of_unrollings(batch.unrollings[1])
        self.index = self.coefficients.index
        self._fetched = fetched or {}
        self._fill()

    def take(self, rows: Ints) -> "Counts":
        """Return the counts of some of the nests.

        Args:
            rows: Their numbers.
        """
        found = object.__new__(Counts)
        found.batch, found.arch, found.placement = self.batch.take(rows), self.arch, self.placement
        found.has_sums, found._fetched, found.index = self.has_sums, self._fetched, self.index
        unrollings, which = self.batch.unrollings
        are_alike = len(unrollings) == 1
        found.coefficients = self.coefficients if are_alike else self._of_unrollings(which[rows])
        found.tiles, found.elements = self.tiles[:, rows], self.elements[:, rows]
        return found

    def _of_unrollings(self, which: Ints) -> FlowCoefficients:
        """Return the coefficients of nests, one column where all of the batch are unrolled alike.

        Args:
            which: The number of the unrolling of each.
        """
        batch = self.batch
        table = flow_table(self.arch, chains_of(batch.levels, self.arch, self.placement))
        widths, unrollings = widths_of(batch.workload, self.arch), batch.unrollings[0]
        make = coefficients_of if len(unrollings) <= _FEW else coefficients_of.__wrapped__
        found = make(table, batch.unrolled, unrollings, widths, has_sums=self.has_sums)
        return found if len(unrollings) == 1 else found.of(which)

    def _fill(self) -> None:
        """Fill in all boundaries; elements of one operation, at the MACs, are one."""
        batch, index = self.batch, self.index
        unrolled = self._unrolled([item.child for item in index.table.boundaries])
        self.tiles: Ints = np.empty_like(self._starts)
        self.elements: Ints = np.empty_like(self._starts)
        for operand, rows in index.rows.items():
            dims = RELEVANT[operand]
            own = batch.sizes(dims, self._starts[rows])
            self.tiles[rows] = batch.sizes(dims) // own
            if operand is Operand.I:
                extents = batch.inside(self._starts[rows]) * unrolled[rows]
                self.elements[rows] = tile_elements(batch.workload, operand, extents)
            else:
                self.elements[rows] = own * product_over(unrolled[rows], dims)
            self.elements[rows.stop - 1] = 1

    @cached_property
    def _starts(self) -> Ints:
        """Where the tiles of each boundary start, ``[J, B]``; at the MACs behind all loops."""
        boundaries, batch = self.index.table.boundaries, self.batch
        starts = np.full((len(boundaries), len(batch)), batch.extents.shape[1])
        for row, item in enumerate(boundaries):
            if item.child is not None:
                starts[row] = self._start(item.operand, item.child)
        return starts

    @cached_property
    def visits(self) -> Ints:
        """How often tiles come over each boundary, ``[J, B]``."""
        found = np.empty_like(self._starts)
        for operand, rows in self.index.rows.items():
            found[rows] = self.batch.turns(operand).visits(self._starts[rows])
            found[rows.stop - 1] = self.batch.steps
        return found

    @cached_property
    def _moved(self) -> Ints:
        """Elements that each boundary moves in all visits together, ``[J, B]``."""
        found = self.elements * self.visits
        for position, elements in self._fetched.items():
            found[self.index.inputs[position]] = elements
        return found

    def _start(self, operand: Operand, level: str) -> Ints:
        """Return where the tile in a memory starts, ``[B]``."""
        return self.batch.starts[operand][:, self.batch.levels[operand].index(level)]

    def _unrolled(self, levels: Sequence[str | None]) -> Ints:
        """Return what is unrolled beneath each of some memories, nothing beneath ``None``.

        Returns:
            ``[levels, B, 8]``, or ``[levels, 1, 8]`` where all nests are unrolled alike.
        """
        unrollings, which = self.batch.unrollings
        extents = np.array(unrollings, np.int64)
        found = np.ones((len(levels), len(extents), len(DIMS)), np.int64)
        for row, level in enumerate(levels):
            fanouts = () if level is None else self.arch.fanouts_beneath(level)
            beneath = {fanout.name for fanout in fanouts}
            for column, (name, dim) in enumerate(self.batch.unrolled):
                if name in beneath:
                    found[row, :, DIMS.index(dim)] *= extents[:, column]
        return found if len(extents) == 1 else found[:, which]

    def tile(self, operand: Operand, level: str) -> Ints:
        """Return the elements of the tile of an operand in one instance of a memory, ``[B]``.

        Args:
            operand: Of whose tiles.
            level: Name of a memory that keeps it.
        """
        row = self.index.row_above.get((operand, level))
        if row is not None:
            return self.elements[row]
        extents = self.batch.inside(self._start(operand, level)) * self._unrolled([level])[0]
        return tile_elements(self.batch.workload, operand, extents)

    @cached_property
    def busiest_bits(self) -> Ints:
        """Bits of each group through the busiest instance, ``[G, B]``."""
        own = self.coefficients
        return self._grouped(self._bits(own.visit, own.tile))

    @cached_property
    def _all_bits(self) -> Ints:
        """Bits of each flow through all instances, ``[F, B]``."""
        found = self._bits(self.coefficients.all_visit, self.coefficients.all_tile)
        for item in self.coefficients.restarts:
            row, outer = self.index.boundary[item.flow], self.index.sums[item.outer]
            again = self.visits[outer] * (self.tiles[row] // self.tiles[outer])
            found[item.flow] -= item.bits * again * self.elements[row]
        return found

    def _bits(self, visit: Ints, tile: Ints) -> Ints:
        rows = self.index.boundary
        found: Ints = visit * self._moved[rows]
        found += tile * (self.elements * self.tiles)[rows]
        return found

    @cached_property
    def bits(self) -> Ints:
        """Bits of each group through all instances, ``[G, B]``."""
        return self._grouped(self._all_bits)

    @property
    def group_elements(self) -> Ints:
        """Elements of each group through all instances, ``[G, B]``."""
        bits, closing = self._all_bits.copy(), self.index.closing
        rows = self.index.boundary[closing]
        saved = self.coefficients.all_tile[closing] * (self.elements * self.tiles)[rows]
        bits[closing] -= saved
        return self._grouped(bits // self.coefficients.widths)

    def _grouped(self, flows: Ints) -> Ints:
        return np.add.reduceat(flows, self.index.first_of_group, axis=0)


def tile_elements(workload: Workload, operand: Operand, extents: Ints) -> Ints:
    """Return the elements of tiles of given extents ``[.., 8]``; halo as in ``Workload``.

    Args:
        workload: What is computed.
        operand: The tensor.
        extents: Of the tiles, in the order of ``DIMS``.
    """
    if operand is not Operand.I:
        return product_over(extents, RELEVANT[operand])
    r, s, p, q, c, _, n, g = np.moveaxis(extents, -1, 0)
    rows = _touched(p, r, workload.stride[0], workload.dilation[0])
    columns = _touched(q, s, workload.stride[1], workload.dilation[1])
    return rows * columns * c * n * g


def bytes_from(batch: NestBatch, operand: Operand, fanouts: Collection[str], bits: int) -> Ints:
    """Return the bytes of tiles from each position, unrolled over fan-outs, ``[B, L + 1]``.

    Args:
        batch: The nests.
        operand: Of whose tiles.
        fanouts: Names of the fan-outs.
        bits: Of an element.
    """
    unrolled = np.ones((len(batch), 1, len(DIMS)), np.int64)
    for column, (fanout, dim) in enumerate(batch.unrolled):
        if fanout in fanouts:
            unrolled[:, 0, DIMS.index(dim)] *= batch.unrolled_extents[:, column]
    if operand is Operand.I:
        elements = tile_elements(batch.workload, operand, batch.tails * unrolled)
    else:
        dims = RELEVANT[operand]
        elements = batch.sizes_from(dims) * product_over(unrolled, dims)
    return -(-elements * bits // 8)


def _touched(outputs: Ints, taps: Ints, stride: int, dilation: int) -> Ints:
    """Vectorise :func:`accnn.ir.workload.touched`."""
    common = math.gcd(stride, dilation)
    step_p, step_r = dilation // common, stride // common
    return outputs * taps - np.maximum(0, outputs - step_p) * np.maximum(0, taps - step_r)

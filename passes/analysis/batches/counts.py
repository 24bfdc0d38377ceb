"""Visits, tiles and elements of every nest of a batch, and with them all that moves.

Arrays have one row per boundary ``J``, flow ``F`` or group of flows ``G`` (those of one operand in
one direction at one place), and one column per nest ``B``. All of them are whole numbers.
"""

from collections.abc import Collection, Mapping
from functools import cached_property, lru_cache

import numpy as np

from ....ir.arch import Architecture
from ....ir.workload import OPERANDS, Operand, Workload
from ..flows import Chains, flow_table
from .coefficients import FlowCoefficients, coefficients_of, widths_of
from .kernel.moving import Boundaries, Flows, fill_bits, fill_boundaries
from .nest_batch import Ints, NestBatch, shapes_of
from .unrollings import Unrollings

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


@lru_cache(maxsize=64)
def _coefficients(
    ways: Unrollings,
    workload: Workload,
    levels: Chains,
    arch: Architecture,
    placement: frozenset[Operand],
    *,
    has_sums: bool,
) -> FlowCoefficients:
    """Return the coefficients of ways to unroll, worked out once for all batches of a search."""
    chains = chains_of(dict(zip(OPERANDS, levels, strict=True)), arch, placement)
    table, widths = flow_table(arch, chains), widths_of(workload, arch)
    make = coefficients_of if len(ways) <= _FEW else coefficients_of.__wrapped__
    return make(table, ways.loops, ways.rows, widths, has_sums=has_sums)


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
        counted: At each boundary.
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
        levels = tuple([batch.levels[operand] for operand in OPERANDS])
        is_few = len(batch.unrollings) <= _FEW
        make = _coefficients if is_few else _coefficients.__wrapped__
        self.coefficients = make(
            batch.unrollings, batch.workload, levels, arch, placement, has_sums=has_sums
        )
        self.index = self.coefficients.index
        self._fetched = fetched or {}
        self.counted = self._count()

    def take(self, rows: Ints) -> "Counts":
        """Return the counts of some of the nests.

        Args:
            rows: Their numbers.
        """
        found = object.__new__(Counts)
        found.batch, found.arch, found.placement = self.batch.take(rows), self.arch, self.placement
        found.has_sums, found._fetched, found.index = self.has_sums, self._fetched, self.index
        found.coefficients = self.coefficients
        own = (self.counted.tiles, self.counted.elements, self.counted.visits)
        found.counted = Boundaries(*(np.take(item, rows, axis=1) for item in own))
        return found

    def _count(self) -> Boundaries:
        """Return what is counted at all boundaries."""
        batch, starts = self.batch, self._starts
        shapes = shapes_of(batch.workload, self.index.operands)
        found = Boundaries(*(np.empty_like(starts) for _ in range(3)))
        fill_boundaries(
            batch.loops, shapes, self.index.at_macs, starts, self.coefficients.beneath, found
        )
        return found

    @property
    def tiles(self) -> Ints:
        """How many different tiles cross each boundary, ``[J, B]``."""
        return self.counted.tiles

    @property
    def elements(self) -> Ints:
        """Elements of a tile of each boundary, ``[J, B]``; one at the MACs."""
        return self.counted.elements

    @property
    def visits(self) -> Ints:
        """How often tiles come over each boundary, ``[J, B]``."""
        return self.counted.visits

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
    def moved(self) -> Ints:
        """Elements that each boundary moves in all visits together, ``[J, B]``."""
        found = self.elements * self.visits
        for position, elements in self._fetched.items():
            found[self.index.inputs[position]] = elements
        return found

    def _start(self, operand: Operand, level: str) -> Ints:
        """Return where the tile in a memory starts, ``[B]``."""
        return self.batch.starts[operand][:, self.batch.levels[operand].index(level)]

    def tile(self, operand: Operand, level: str) -> Ints:
        """Return the elements of the tile of an operand in one instance of a memory, ``[B]``.

        Args:
            operand: Of whose tiles.
            level: Name of a memory that keeps it.
        """
        row = self.index.row_above.get((operand, level))
        if row is not None:
            return self.elements[row]
        beneath = [fanout.name for fanout in self.arch.fanouts_beneath(level)]
        elements = self.batch.elements_from(operand, beneath)
        return self.batch.at(elements, self._start(operand, level))

    @cached_property
    def busiest_bits(self) -> Ints:
        """Bits of each group through the busiest instance, ``[G, B]``."""
        own = self.coefficients
        return self._bits(own.visit, own.tile, self.index.group)

    @cached_property
    def bits(self) -> Ints:
        """Bits of each group through all instances, ``[G, B]``."""
        return self._all_bits(self.index.group)

    def _all_bits(self, group: Ints) -> Ints:
        """Return the bits of flows through all instances, added up group by group, ``[G, B]``.

        Args:
            group: Of each flow.
        """
        found = self._bits(self.coefficients.all_visit, self.coefficients.all_tile, group)
        for item in self.coefficients.restarts:
            row, outer = self.index.boundary[item.flow], self.index.sums[item.outer]
            again = self.visits[outer] * (self.tiles[row] // self.tiles[outer])
            found[group[item.flow]] -= item.bits[self.batch.which] * again * self.elements[row]
        return found

    def _bits(self, visit: Ints, tile: Ints, group: Ints) -> Ints:
        found = np.zeros((int(group[-1]) + 1, len(self.batch)), np.int64)
        flows = Flows(visit, tile, self.index.boundary, group)
        fill_bits(self.batch.which, flows, self.counted, self.moved, found)
        return found

    @property
    def group_elements(self) -> Ints:
        """Elements of each group through all instances, ``[G, B]``."""
        own, closing = self.coefficients, self.index.closing
        bits = self._all_bits(np.arange(len(self.index.flows)))
        rows = self.index.boundary[closing]
        bits[closing] -= (
            own.all_tile[closing][:, self.batch.which] * (self.elements * self.tiles)[rows]
        )
        return np.add.reduceat(bits // own.widths, self.index.first_of_group, axis=0)


def bytes_from(batch: NestBatch, operand: Operand, fanouts: Collection[str], bits: int) -> Ints:
    """Return the bytes of tiles from each position, unrolled over fan-outs, ``[B, L + 1]``.

    Args:
        batch: The nests.
        operand: Of whose tiles.
        fanouts: Names of the fan-outs.
        bits: Of an element.
    """
    return -(-batch.elements_from(operand, fanouts) * bits // 8)

"""Many nests of one workload as arrays, for the vectorised cost model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from ....ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from ....ir.workload import DIMS, REDUCTION, RELEVANT, Dim, Operand, Workload

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class NestBatch:
    """``B`` nests of one workload that keep each operand in the same memories.

    Attributes:
        workload: What is computed.
        dims: Dimension of each temporal loop, outermost first, as an index into ``DIMS``,
            ``[B, L]``. Shorter nests are filled with loops of extent one.
        extents: Extents of the temporal loops, ``[B, L]``.
        unrolled: Fan-out and dimension of each unrolled loop.
        unrolled_extents: Extents of the unrolled loops, ``[B, len(unrolled)]``.
        levels: Memories that keep each operand, outermost first.
        starts: Where the tile in each of them starts, ``[B, len(levels[operand])]``.
    """

    workload: Workload
    dims: Ints
    extents: Ints
    unrolled: tuple[tuple[str, Dim], ...]
    unrolled_extents: Ints
    levels: Mapping[Operand, tuple[str, ...]]
    starts: Mapping[Operand, Ints]

    def __len__(self) -> int:
        return self.extents.shape[0]

    def take(self, rows: Ints) -> "NestBatch":
        """Return some of the nests.

        Args:
            rows: Their numbers.
        """
        return NestBatch(
            workload=self.workload,
            dims=self.dims[rows],
            extents=self.extents[rows],
            unrolled=self.unrolled,
            unrolled_extents=self.unrolled_extents[rows],
            levels=self.levels,
            starts={operand: starts[rows] for operand, starts in self.starts.items()},
        )

    @cached_property
    def padded(self) -> Ints:
        """Extents of every dimension with padding, ``[B, 8]``."""
        found = self.whole.copy()
        for index, (_, dim) in enumerate(self.unrolled):
            found[:, DIMS.index(dim)] *= self.unrolled_extents[:, index]
        return found

    @cached_property
    def prefix(self) -> Ints:
        """Iterations of the loops outside of each position, ``[B, L + 1]``."""
        extents = np.ascontiguousarray(self.extents.T)
        found = np.ones((len(extents) + 1, len(self)), np.int64)
        for at, own in enumerate(extents):  # faster than NumPy's product along an axis
            np.multiply(found[at], own, out=found[at + 1])
        return found.T

    @property
    def steps(self) -> Ints:
        """Steps of all temporal loops, ``[B]``."""
        return self.prefix[:, -1]

    @cached_property
    def whole(self) -> Ints:
        """Extents of all temporal loops, ``[B, 8]``."""
        return self.inside(self._outermost)

    @cached_property
    def _outermost(self) -> Ints:
        return np.zeros(len(self), np.int64)

    @cached_property
    def rows(self) -> Ints:
        """Numbers of the nests, ``[B]``."""
        return np.arange(len(self))

    @cached_property
    def unrollings(self) -> tuple[tuple[tuple[int, ...], ...], Ints]:
        """Different extents of the unrolled loops, and which of them each nest has ``[B]``."""
        if self.unrolled_extents.shape[1] == 0:
            return ((),), self._outermost
        extents = np.ascontiguousarray(self.unrolled_extents)
        rows = extents.view(f"V{extents[0].nbytes}")[:, 0].tolist()
        numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
        found = tuple(tuple(np.frombuffer(row, np.int64).tolist()) for row in numbers)
        return found, np.array([numbers[row] for row in rows], np.int64)

    def turns(self, operand: Operand) -> "Turns":
        """Return the loops that change an operand's tile."""
        return Turns(self, RELEVANT[operand])

    @property
    def reductions(self) -> "Turns":
        """Loops that add to the same outputs."""
        return Turns(self, REDUCTION)

    def at(self, table: Ints, start: Ints) -> Ints:
        """Return what a table says of given positions of each nest, ``[.., B]``.

        Args:
            table: ``[B, L + 1]``, best with what nests have at one position side by side.
            start: The positions, ``[.., B]``.
        """
        return np.take(table.T.reshape(-1), self._flat(start))

    def _flat(self, start: Ints) -> Ints:
        """Return where positions lie in tables that have those of all nests side by side."""
        return start * len(self) + self.rows

    @cached_property
    def tails(self) -> Ints:
        """Extents inside of each position of the temporal loops, ``[B, L + 1, 8]``.

        What nests have of one dimension at one position lies side by side.
        """
        dims, extents = np.ascontiguousarray(self.dims.T), np.ascontiguousarray(self.extents.T)
        found = np.ones((len(DIMS), len(dims) + 1, len(self)), np.int64)
        for number, own in enumerate(found):
            np.copyto(own[:-1], extents, where=dims == number)
            for at in reversed(range(len(dims))):  # faster than NumPy's product along an axis
                own[at] *= own[at + 1]
        return found.transpose(2, 1, 0)

    def inside(self, start: Ints) -> Ints:
        """Return extents of the temporal loops from given positions inwards, ``[.., B, 8]``."""
        tails = self.tails.transpose(2, 1, 0).reshape(len(DIMS), -1)
        return np.moveaxis(np.take(tails, self._flat(start), axis=1), 0, -1)

    def sizes(self, dims: frozenset[Dim], start: Ints | None = None) -> Ints:
        """Return how many values some dimensions take from given positions inwards, ``[.., B]``.

        Args:
            dims: The dimensions.
            start: The positions, ``[.., B]``; everything if ``None``.
        """
        sizes = self.sizes_from(dims)
        return sizes[:, 0] if start is None else self.at(sizes, start)

    def sizes_from(self, dims: frozenset[Dim]) -> Ints:
        """Return how many values some dimensions take from each position, ``[B, L + 1]``."""
        if dims not in self._sizes:
            self._sizes[dims] = product_over(self.tails, dims)
        return self._sizes[dims]

    @cached_property
    def _sizes(self) -> dict[frozenset[Dim], Ints]:
        return {}

    def turning(self, dims: frozenset[Dim]) -> Ints:
        """Return the position behind the last loop over dimensions that turns, ``[B, L + 1]``.

        Args:
            dims: The dimensions; of the loops outside of each position.
        """
        if dims not in self._turning:
            turning = _columns(dims)[self.dims.T] & (self.extents.T > 1)
            found = np.zeros((len(turning) + 1, len(self)), np.int64)
            place: Ints = np.arange(1, len(found), dtype=np.int64)
            np.maximum.accumulate(np.where(turning, place[:, None], 0), axis=0, out=found[1:])
            self._turning[dims] = found.T
        return self._turning[dims]

    @cached_property
    def _turning(self) -> dict[frozenset[Dim], Ints]:
        return {}

    def nest(self, index: int) -> LoopNest:
        """Return one nest, loops of extent one left out."""
        kept = np.flatnonzero(self.extents[index] > 1)
        before = np.concatenate(([0], np.cumsum(self.extents[index] > 1)))
        return LoopNest(
            workload=self.workload,
            temporal=tuple(
                Loop(DIMS[int(self.dims[index, at])], int(self.extents[index, at])) for at in kept
            ),
            spatial=tuple(
                SpatialLoop(dim, int(extent), fanout)
                for (fanout, dim), extent in zip(
                    self.unrolled, self.unrolled_extents[index], strict=True
                )
                if extent > 1
            ),
            allocations=tuple(
                Allocation(operand, level, int(before[start]))
                for operand in Operand
                for level, start in zip(
                    self.levels[operand], self.starts[operand][index], strict=True
                )
            ),
        )


@dataclass(frozen=True, kw_only=True)
class LevelledBatch(NestBatch):
    """Nests whose tiles start at the same loops in all of them, ``width`` loops per level.

    Attributes:
        width: Loops of each level.
        inner: Extents of the temporal loops from each level inwards, ``[B, slots + 1, 8]``.
    """

    width: int
    inner: Ints

    def inside(self, start: Ints) -> Ints:
        """Return extents of the temporal loops from given positions inwards, ``[.., B, 8]``."""
        level = start[..., 0] // self.width if self.width else 0 * start[..., 0]
        return np.moveaxis(self.inner[:, level], 0, -2)

    def sizes(self, dims: frozenset[Dim], start: Ints | None = None) -> Ints:
        """Return how many values some dimensions take from given positions inwards, ``[.., B]``.

        Args:
            dims: The dimensions.
            start: The positions, ``[.., B]``; everything if ``None``.
        """
        return product_over(self.whole if start is None else self.inside(start), dims)


@dataclass(frozen=True)
class Turns:
    """The loops over some dimensions that turn, in every nest of a batch.

    Attributes:
        batch: The nests.
        dims: The dimensions.
    """

    batch: NestBatch
    dims: frozenset[Dim]

    def behind(self, start: Ints) -> Ints:
        """Return the position behind the last of the loops outside of positions, ``[.., B]``."""
        return self.batch.at(self.batch.turning(self.dims), start)

    def visits(self, start: Ints) -> Ints:
        """Return how often what depends on the dimensions changes outside of places, ``[.., B]``.

        Its first appearance counts.
        """
        return self.batch.at(self.batch.prefix, self.behind(start))

    def tiles(self, start: Ints) -> Ints:
        """Return how many values the loops take, outside of where a tile starts, ``[B]``."""
        return self.batch.sizes(self.dims) // self.batch.sizes(self.dims, start)


def product_over(extents: Ints, dims: frozenset[Dim]) -> Ints:
    """Return the product of extents along some dimensions, at least one.

    One column after the other: NumPy takes several times as long along a short last axis.

    Args:
        extents: In the order of ``DIMS``, ``[.., 8]``.
        dims: The dimensions.
    """
    first, *others = (column for column, dim in enumerate(DIMS) if dim in dims)
    found = extents[..., first].copy(order="K")
    for column in others:
        found *= extents[..., column]
    return found


@cache
def _columns(dims: frozenset[Dim]) -> Bools:
    return np.array([dim in dims for dim in DIMS])


def batch_nests(nests: Sequence[LoopNest]) -> NestBatch:
    """Return nests of one workload as a batch.

    Raises:
        ValueError: The workloads differ, or an operand is kept in different memories.
    """
    first = nests[0]
    levels = {operand: _levels(first, operand) for operand in Operand}
    for nest in nests:
        if nest.workload != first.workload:
            raise ValueError("nests of one batch must have one workload")
        if any(_levels(nest, operand) != levels[operand] for operand in Operand):
            raise ValueError("nests of one batch must keep operands in the same memories")
    longest = max(len(nest.temporal) for nest in nests)
    dims = np.zeros((len(nests), longest), np.int64)
    extents = np.ones((len(nests), longest), np.int64)
    unrolled = sorted({(item.fanout, item.dim) for nest in nests for item in nest.spatial})
    spatial = np.ones((len(nests), len(unrolled)), np.int64)
    for row, nest in enumerate(nests):
        for column, loop in enumerate(nest.temporal):
            dims[row, column] = DIMS.index(loop.dim)
            extents[row, column] = loop.extent
        for loop in nest.spatial:
            spatial[row, unrolled.index((loop.fanout, loop.dim))] *= loop.extent
    return NestBatch(
        workload=first.workload,
        dims=dims,
        extents=extents,
        unrolled=tuple(unrolled),
        unrolled_extents=spatial,
        levels=levels,
        starts={
            operand: np.array([[item.start for item in nest.of(operand)] for nest in nests])
            for operand in Operand
        },
    )


def _levels(nest: LoopNest, operand: Operand) -> tuple[str, ...]:
    return tuple(item.level for item in nest.of(operand))

"""Many nests of one workload as arrays, for the vectorised cost model."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ....ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from ....ir.workload import DIMS, RELEVANT, Dim, Operand, Workload
from .kernel.moving import Shapes, TemporalLoops, fill_elements
from .unrollings import Unrollings

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_NO_STEPS = (0, 0)
_NUMBER = {dim: number for number, dim in enumerate(DIMS)}


@dataclass(frozen=True, kw_only=True)
class NestBatch:
    """``B`` nests of one workload that keep each operand in the same memories.

    Attributes:
        workload: What is computed.
        dims: Dimension of each temporal loop, outermost first, as an index into ``DIMS``,
            ``[B, L]``. Shorter nests are filled with loops of extent one.
        extents: Extents of the temporal loops, ``[B, L]``.
        unrollings: ``U`` ways to unroll.
        which: In which of these ways each nest is unrolled, ``[B]``.
        levels: Memories that keep each operand, outermost first.
        starts: Where the tile in each of them starts, ``[B, len(levels[operand])]``.
    """

    workload: Workload
    dims: Ints
    extents: Ints
    unrollings: Unrollings
    which: Ints
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
            unrollings=self.unrollings,
            which=self.which[rows],
            levels=self.levels,
            starts={operand: starts[rows] for operand, starts in self.starts.items()},
        )

    @cached_property
    def prefix(self) -> Ints:
        """Iterations of the loops outside of each position, ``[B, L + 1]``."""
        extents = np.ascontiguousarray(self.extents.T)
        found = np.ones((len(extents) + 1, len(self)), np.int64)
        for at, own in enumerate(extents):  # faster than NumPy's product along an axis
            np.multiply(found[at], own, out=found[at + 1])
        return found.T

    @cached_property
    def steps(self) -> Ints:
        """Steps of all temporal loops, ``[B]``."""
        found: Ints = self.extents.prod(axis=1)
        return found

    @cached_property
    def rows(self) -> Ints:
        """Numbers of the nests, ``[B]``."""
        return np.arange(len(self))

    def unrolled_in(
        self, fanouts: Collection[str] | None = None, dims: Collection[Dim] = DIMS
    ) -> Ints:
        """Return how many steps each nest unrolls into one, ``[B]``.

        Args:
            fanouts: Over which fan-outs; all if ``None``.
            dims: Along which dimensions.
        """
        return self.unrollings.steps(fanouts, dims)[self.which]

    def turns(self, operand: Operand) -> "Turns":
        """Return the loops that change an operand's tile."""
        return Turns(self, RELEVANT[operand])

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
            shapes = Shapes(columns_of(dims)[None], np.array([False]), _NO_STEPS, _NO_STEPS)
            self._sizes[dims] = self._filled(shapes, self.unrollings.over(()))
        return self._sizes[dims]

    @cached_property
    def _sizes(self) -> dict[frozenset[Dim], Ints]:
        return {}

    def elements_from(self, operand: Operand, fanouts: Collection[str]) -> Ints:
        """Return the elements of tiles from each position, unrolled over fan-outs, ``[B, L + 1]``.

        Args:
            operand: Of whose tiles.
            fanouts: Names of the fan-outs.
        """
        shapes = shapes_of(self.workload, (operand,))
        return self._filled(shapes, self.unrollings.over(fanouts))

    def _filled(self, shapes: Shapes, unrolled: Ints) -> Ints:
        found = np.empty((self.dims.shape[1] + 1, len(self)), np.int64)
        fill_elements(self.loops, shapes, unrolled, found)
        return found.T

    @cached_property
    def loops(self) -> TemporalLoops:
        """What compiled code reads of the nests."""
        return TemporalLoops(*map(in_rows, (self.dims, self.extents, self.which)))

    def turning(self, dims: frozenset[Dim]) -> Ints:
        """Return the position behind the last loop over dimensions that turns, ``[B, L + 1]``.

        Args:
            dims: The dimensions; of the loops outside of each position.
        """
        if dims not in self._turning:
            turning = columns_of(dims)[self.dims.T] & (self.extents.T > 1)
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
                SpatialLoop(dim, extent, fanout)
                for (fanout, dim), extent in zip(
                    self.unrollings.loops, self.unrollings.rows[int(self.which[index])], strict=True
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


@lru_cache(maxsize=64)
def shapes_of(workload: Workload, operands: tuple[Operand, ...]) -> Shapes:
    """Return how the elements of tiles of some operands follow from their extents."""
    steps: list[tuple[int, int]] = []
    for stride, dilation in zip(workload.stride, workload.dilation, strict=True):
        common = math.gcd(stride, dilation)
        steps.append((dilation // common, stride // common))
    relevant = np.stack([columns_of(RELEVANT[operand]) for operand in operands])
    return Shapes(relevant, np.array([item is Operand.I for item in operands]), *steps)


def in_rows(numbers: Ints) -> Ints:
    """Return numbers as compiled code reads them: as they are where they lie row by row."""
    return numbers if numbers.flags.carray else np.array(numbers)


@cache
def columns_of(dims: frozenset[Dim]) -> Bools:
    """Return whether each dimension is one of some ``[8]``."""
    return np.array([dim in dims for dim in DIMS])


def distinct(rows: Ints) -> tuple[Ints, Ints]:
    """Return where each different row stands first, in order, and which of them each row is.

    Args:
        rows: One below the other, ``[B, n]``.
    """
    if rows.shape[1] == 0:
        return np.zeros(min(1, len(rows)), np.int64), np.zeros(len(rows), np.int64)
    keys = np.ascontiguousarray(rows).view(f"V{rows.itemsize * rows.shape[1]}")[:, 0].tolist()
    numbers: dict[bytes, int] = {}
    which = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    return np.flatnonzero(np.diff(np.maximum.accumulate(which), prepend=-1)), which


def batch_nests(nests: Sequence[LoopNest]) -> NestBatch:
    """Return nests of one workload as a batch.

    Raises:
        ValueError: The workloads differ, or an operand is kept in different memories.
    """
    first = nests[0]
    levels = {operand: _levels(first, operand) for operand in Operand}
    for nest in nests:
        if nest.workload is not first.workload and nest.workload != first.workload:
            raise ValueError("nests of one batch must have one workload")
        for operand, own in levels.items():
            if _levels(nest, operand) != own:
                raise ValueError("nests of one batch must keep operands in the same memories")
    longest = max([len(nest.temporal) for nest in nests])
    unrollings, which = unrollings_of([nest.spatial for nest in nests])
    return NestBatch(
        workload=first.workload,
        dims=_filled([[_NUMBER[loop.dim] for loop in nest.temporal] for nest in nests], 0, longest),
        extents=_filled([[loop.extent for loop in nest.temporal] for nest in nests], 1, longest),
        unrollings=unrollings,
        which=which,
        levels={operand: tuple(own) for operand, own in levels.items()},
        starts={
            operand: np.array([[item.start for item in nest.of(operand)] for nest in nests])
            for operand in Operand
        },
    )


def _filled(rows: list[list[int]], value: int, length: int) -> Ints:
    """Return rows that are filled with a value as far as a length."""
    return np.array([row + [value] * (length - len(row)) for row in rows], np.int64)


def _levels(nest: LoopNest, operand: Operand) -> list[str]:
    return [item.level for item in nest.of(operand)]


def unrollings_of(spatial: Iterable[Iterable[SpatialLoop]]) -> tuple[Unrollings, Ints]:
    """Return the different ones of some unrollings, and which of them each is.

    Args:
        spatial: The unrolled loops of each.
    """
    return _unrollings_of(tuple(map(tuple, spatial)))


# The same few are asked again and again while nests of one workload are improved, and keep their
# products.
@lru_cache(maxsize=64)
def _unrollings_of(spatial: tuple[tuple[SpatialLoop, ...], ...]) -> tuple[Unrollings, Ints]:
    loops = sorted({(item.fanout, item.dim) for own in spatial for item in own})
    columns = {loop: column for column, loop in enumerate(loops)}
    extents = np.ones((len(spatial), len(loops)), np.int64)
    for row, own in enumerate(spatial):
        for item in own:
            extents[row, columns[item.fanout, item.dim]] *= item.extent
    firsts, which = distinct(extents)
    return Unrollings(tuple(loops), extents[firsts]), which

"""Even mappings as arrays: factors per level and fan-out, and a stationary operand per level.

All operands that a level keeps have the same tile start there. Of the orders of one level's loops
only the innermost ones matter, for they decide which operand is kept: the dimensions that do not
index W, I and O, that is {P Q N}, {K} and {R S C}, have none in common, so an order is given by its
*stationary operand*, whose irrelevant loops stand innermost. ``G`` indexes all three and stands
outermost.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .....ir.errors import InfeasibleError
from .....ir.mapping import LoopNest
from .....ir.workload import DIMS, OPERANDS, REDUCTION, RELEVANT, Dim, Operand
from ....analysis.batches.batch import BatchCost, evaluate_batch
from ....analysis.batches.nest_batch import NestBatch, distinct
from ....analysis.batches.unrollings import Unrollings
from ...problem import MappingProblem, OfProblem

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class EvenSpace(OfProblem):
    """The even mappings of one problem.

    Attributes:
        extents: Extent of every dimension, padding included; loops multiply to exactly these.
    """

    extents: Mapping[Dim, int]

    @cached_property
    def dims(self) -> tuple[Dim, ...]:
        """Dimensions of more than one step."""
        return tuple(dim for dim in DIMS if self.extents[dim] > 1)

    @cached_property
    def primes(self) -> tuple[tuple[Dim, int, int], ...]:
        """(dimension, prime, multiplicity), in order."""
        return tuple(
            (dim, prime, count)
            for dim in self.dims
            for prime, count in prime_factors(self.extents[dim])
        )

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """Levels that have temporal loops: the outermost, and each that keeps a tile."""
        tiled = {index for chain in self.chains.values() for index in chain[1:]}
        return tuple(
            index for index in range(len(self.arch.levels)) if index == 0 or index in tiled
        )

    @cached_property
    def chains(self) -> Mapping[Operand, tuple[int, ...]]:
        """Levels that keep each operand, by index, its source first."""
        return {
            operand: tuple(self.arch.index(level.name) for level in self.chain(operand))
            for operand in Operand
        }

    @cached_property
    def unrollable(self) -> tuple[tuple[str, Dim], ...]:
        """(fan-out, dimension) pairs that may be unrolled."""
        return tuple(
            (fanout.name, dim)
            for fanout in self.arch.fanouts
            for dim in self.dims
            if dim in fanout.dims and (fanout.reduction or dim not in REDUCTION)
        )

    @cached_property
    def movable(self) -> tuple[tuple[Operand, ...], ...]:
        """Per slot, the operands whose tiles further in may remain while its loops run."""
        return tuple(
            tuple(item for item in Operand if any(at > level for at in self.chains[item][1:]))
            for level in self.slots
        )

    @cached_property
    def orders(self) -> Mapping[Operand, tuple[int, ...]]:
        """Per stationary operand, positions in ``dims`` from the outermost loop inwards."""
        return {
            operand: tuple(
                sorted(
                    range(len(self.dims)),
                    key=lambda at: (
                        self.dims[at] not in RELEVANT[operand],
                        self.dims[at] is not Dim.G,
                        at,
                    ),
                )
            )
            for operand in Operand
        }


def prime_factors(number: int) -> tuple[tuple[int, int], ...]:
    """Return (prime, multiplicity) pairs of a positive number."""
    found: list[tuple[int, int]] = []
    divisor = 2
    while number > 1:
        if divisor * divisor > number:
            divisor = number
        count = 0
        while number % divisor == 0:
            number //= divisor
            count += 1
        if count:
            found.append((divisor, count))
        divisor += 1
    return tuple(found)


@dataclass(frozen=True)
class EvenBatch:
    """``B`` even mappings.

    Attributes:
        space: What they map.
        temporal: Extents, ``[B, slots, dims]``.
        spatial: Extents, ``[B, unrollable]``.
        stationary: Index of the stationary operand, ``[B, slots]``.
    """

    space: EvenSpace
    temporal: Ints
    spatial: Ints
    stationary: Ints

    def __len__(self) -> int:
        return self.temporal.shape[0]

    def take(self, rows: Ints | Sequence[int]) -> "EvenBatch":
        """Return some of the mappings."""
        return replace(
            self,
            temporal=self.temporal[rows],
            spatial=self.spatial[rows],
            stationary=self.stationary[rows],
        )

    def nests(self) -> NestBatch:
        """Return the mappings as loop nests."""
        space = self.space
        order = np.array([space.orders[operand] for operand in OPERANDS], np.int64)
        chosen = order[self.stationary]
        extents = np.take_along_axis(self.temporal, chosen, axis=2)
        index = np.array([DIMS.index(dim) for dim in space.dims], np.int64)
        dims = index[chosen]
        count = len(self)
        width = len(space.dims)
        starts = {operand: np.tile(self._starts(operand, width), (count, 1)) for operand in Operand}
        firsts, which = distinct(self.spatial)
        return NestBatch(
            workload=space.workload,
            dims=dims.reshape(count, -1),
            extents=extents.reshape(count, -1),
            unrollings=Unrollings(space.unrollable, self.spatial[firsts]),
            which=which,
            levels={operand: self._levels(operand) for operand in Operand},
            starts=starts,
        )

    def _levels(self, operand: Operand) -> tuple[str, ...]:
        chain = self.space.chains[operand]
        kept = chain if chain[0] == 0 else (0, *chain[1:])
        return tuple(self.space.arch.levels[at].name for at in kept)

    def _starts(self, operand: Operand, width: int) -> list[int]:
        inner = self.space.chains[operand][1:]
        return [0, *(self.space.slots.index(level) * width for level in inner)]

    def cost(self) -> BatchCost:
        """Return the cost of every mapping."""
        return evaluate_batch(self.nests(), self.space.arch, placement=self.space.resident)

    def nest(self, row: int) -> LoopNest:
        """Return one mapping as a nest, checked against the machine."""
        nest = self.take([row]).nests().nest(0)
        nest.verify(self.space.arch)
        return nest


def joined(batches: Sequence[EvenBatch]) -> EvenBatch:
    """Return batches of one space as one, in order; at least one is needed."""
    return replace(
        batches[0],
        temporal=np.concatenate([batch.temporal for batch in batches]),
        spatial=np.concatenate([batch.spatial for batch in batches]),
        stationary=np.concatenate([batch.stationary for batch in batches]),
    )


def with_all_orders(batch: EvenBatch) -> EvenBatch:
    """Return each mapping with every choice of stationary operands that can matter."""
    choices = stationary_choices(batch.space)
    rows = np.repeat(np.arange(len(batch)), len(choices))
    stationary = np.tile(choices, (len(batch), 1))
    return replace(batch.take(rows), stationary=stationary)


def stationary_choices(space: EvenSpace) -> Ints:
    """Return all choices of stationary operands, ``[choices, slots]``."""
    options = [[OPERANDS.index(item) for item in items] or [0] for items in space.movable]
    return np.array(list(itertools.product(*options)), np.int64)


def even_from_factors(
    space: EvenSpace,
    temporal: Mapping[tuple[int, Dim], int],
    spatial: Mapping[tuple[str, Dim], int],
    stationary: Sequence[Operand],
) -> EvenBatch:
    """Return a batch of one mapping.

    Args:
        space: What is mapped.
        temporal: Extents by (level index, dimension); one where absent.
        spatial: Extents by (fan-out, dimension); one where absent.
        stationary: Stationary operand of each slot.
    """
    rows = [[temporal.get((level, dim), 1) for dim in space.dims] for level in space.slots]
    return EvenBatch(
        space,
        np.array([rows], np.int64).reshape(1, len(space.slots), len(space.dims)),
        np.array([[spatial.get(pair, 1) for pair in space.unrollable]], np.int64).reshape(1, -1),
        np.array([[OPERANDS.index(operand) for operand in stationary]], np.int64),
    )


def even_space(problem: MappingProblem, extents: Mapping[Dim, int] | None = None) -> EvenSpace:
    """Return the space of even mappings.

    Args:
        problem: What is mapped.
        extents: Extent of every dimension, padding included; the workload's own if ``None``.

    Raises:
        InfeasibleError: Not even one element of each operand fits.
    """
    space = EvenSpace(
        problem=problem, extents=problem.workload.dims if extents is None else extents
    )
    outer = {(0, dim): space.extents[dim] for dim in space.dims}
    smallest = [
        even_from_factors(space, outer, {}, [operand] * len(space.slots)) for operand in Operand
    ]
    failure: InfeasibleError | None = None
    for batch in smallest:
        try:
            batch.nest(0)
        except InfeasibleError as error:
            failure = error
        else:
            return space
    assert failure is not None
    raise failure


def useful_macs(space: EvenSpace) -> float:
    """Return the share of executed multiply-accumulates that padding does not waste, 0 .. 1."""
    return space.workload.macs / math.prod(space.extents.values())

"""Best-improvement local search over loop orders and uneven tile starts of one nest.

Loops are split into prime factors. A step moves one loop to another position, or lets one
operand's tile at one memory start elsewhere; unrolling is kept. Where tiles may carry loops, a loop
may also move past the starts of tiles without another one taking its place. The result is never
worse than the start, and need not be even.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ....ir.mapping import LoopNest
from ....ir.workload import DIMS, OPERANDS
from ...analysis.batches.batch import BatchCost, evaluate_batch
from ...analysis.batches.nest_batch import Floats, Ints, NestBatch, batch_nests
from ..problem import MappingProblem
from .even.space import prime_factors
from .kernel.steps import LoopOrders, fill_steps, most_steps
from .merging import merge_loops

Measure = Callable[[BatchCost], Floats]
Judge = Callable[[NestBatch, BatchCost], Floats]
"""What is minimised, given nests and what the cost model says of them."""


def judged(batch: NestBatch, problem: MappingProblem, judge: Judge) -> Floats:
    """Return what a judge says of nests, infinite where they do not fit.

    Args:
        batch: The nests.
        problem: What they solve.
        judge: Says what is minimised.
    """
    return fitting(batch, problem).values(judge)


@dataclass(frozen=True)
class FittingNests:
    """Those of a batch's nests that fit, and what they cost.

    Attributes:
        rows: Their numbers in the batch.
        cost: What they cost; ``None`` where none fits.
        count: How many nests there are in the batch.
    """

    rows: Ints
    cost: BatchCost | None
    count: int

    def values(self, judge: Judge) -> Floats:
        """Return what a judge says of all nests, infinite where they do not fit.

        Args:
            judge: Says what is minimised.
        """
        found = np.full(self.count, np.inf)
        if self.cost is not None:
            found[self.rows] = judge(self.cost.counts.batch, self.cost)
        return found


def fitting(batch: NestBatch, problem: MappingProblem) -> FittingNests:
    """Return the nests of a batch that fit.

    Args:
        batch: The nests.
        problem: What they solve.
    """
    cost = evaluate_batch(batch, problem.machine, placement=problem.held)
    rows = np.flatnonzero(cost.fits)
    own = BatchCost(cost.counts.take(rows)) if len(rows) else None
    return FittingNests(rows, own, len(batch))


def improve_unevenly(
    nest: LoopNest, problem: MappingProblem, measure: Measure, *, rounds: int = 40
) -> LoopNest:
    """Return a nest that no single step improves.

    Args:
        nest: Where to start; it fits.
        problem: What it solves.
        measure: What is minimised.
        rounds: Steps at most.
    """
    return improve(nest, problem, lambda _, cost: measure(cost), rounds=rounds, carry=False)


def improve(
    nest: LoopNest, problem: MappingProblem, judge: Judge, *, rounds: int = 40, carry: bool = True
) -> LoopNest:
    """Return a nest that no single step improves in the eyes of a judge.

    Args:
        nest: Where to start; it fits.
        problem: What it solves.
        judge: Says what is minimised.
        rounds: Steps at most.
        carry: Whether a loop may join or leave tiles without another one taking its place.
    """
    return improve_all((nest,), problem, judge, rounds=rounds, carry=carry)[0]


def improve_all(
    nests: Sequence[LoopNest],
    problem: MappingProblem,
    judge: Judge,
    *,
    rounds: int = 40,
    carry: bool = True,
) -> tuple[LoopNest, ...]:
    """Return nests that no single step improves, one from each start; all are judged together.

    Args:
        nests: Where to start, at least one; they fit, and keep operands in the same memories.
        problem: What they solve.
        judge: Says what is minimised.
        rounds: Steps of each at most.
        carry: Whether a loop may join or leave tiles without another one taking its place.
    """
    search = _Search(nests, problem, judge)
    best = left = search.split
    least = search.values(best)
    is_better = np.zeros(len(nests), np.bool_)
    for _ in range(rounds):
        steps = search.steps(left, carry=carry)
        values = search.values(steps)
        rows = _least_of_each(values, steps.nest)
        rows = rows[values[rows] < least[steps.nest[rows]] * (1.0 - 1e-9)]
        if not len(rows):
            break
        left = LoopOrders(*(item[rows] for item in steps))
        least[left.nest], is_better[left.nest] = values[rows], True
        for kept, new in zip(best, left, strict=True):
            kept[left.nest] = new
    found = search.batch(best)
    return tuple(
        search.nest(found, number) if is_better[number] else nest
        for number, nest in enumerate(nests)
    )


class _Search:
    def __init__(self, nests: Sequence[LoopNest], problem: MappingProblem, judge: Judge) -> None:
        self.nests = nests
        self.problem = problem
        self.judge = judge
        self.first = batch_nests(nests)
        self.columns = [len(self.first.levels[operand]) - 1 for operand in OPERANDS]

    @property
    def split(self) -> LoopOrders:
        """The nests, their loops split into prime factors."""
        parts = [_split(nest) for nest in self.nests]
        longest = max(len(dims) for dims, _, _ in parts)
        found = LoopOrders(
            np.zeros((len(parts), longest), np.int64),
            np.ones((len(parts), longest), np.int64),
            np.array([starts for _, _, starts in parts], np.int64),
            np.arange(len(parts)),
        )
        for number, (dims, extents, _) in enumerate(parts):
            found.dims[number, : len(dims)] = dims
            found.extents[number, : len(extents)] = extents
        return found

    def steps(self, orders: LoopOrders, *, carry: bool) -> LoopOrders:
        """Return what is one step away from nests, from each in a row."""
        is_first = np.concatenate([np.arange(count) == 0 for count in self.columns])
        most = most_steps(orders)
        found = LoopOrders(*(np.empty((most, *item.shape[1:]), np.int64) for item in orders))
        count = fill_steps(orders, is_first, carry, found)
        return LoopOrders(*(item[:count] for item in found))

    def batch(self, orders: LoopOrders) -> NestBatch:
        """Return orders as nests."""
        source = np.zeros((len(orders.nest), 1), np.int64)
        parts = np.split(orders.starts, np.cumsum(self.columns[:-1]), axis=1)
        return replace(
            self.first,
            dims=orders.dims,
            extents=orders.extents,
            which=self.first.which[orders.nest],
            starts={
                operand: np.concatenate((source, part), axis=1)
                for operand, part in zip(OPERANDS, parts, strict=True)
            },
        )

    def values(self, orders: LoopOrders) -> Floats:
        """Return what is compared of each nest; infinite where it does not fit."""
        return judged(self.batch(orders), self.problem, self.judge)

    def nest(self, found: NestBatch, number: int) -> LoopNest:
        """Return one of the nests that were found, unrolled in the order of where it began."""
        return replace(merge_loops(found.nest(number)), spatial=self.nests[number].spatial)


def _split(nest: LoopNest) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Return dimensions and extents of prime factors of loops, and where tiles start among them."""
    dims: list[int] = []
    extents: list[int] = []
    first: list[int] = []
    for loop in nest.temporal:
        first.append(len(dims))
        for prime, many in prime_factors(loop.extent):
            dims += [DIMS.index(loop.dim)] * many
            extents += [prime] * many
    first.append(len(dims))
    starts = [first[item.start] for operand in OPERANDS for item in nest.of(operand)[1:]]
    return dims, extents, starts


def _least_of_each(values: Floats, nest: Ints) -> Ints:
    """Return the first row of the least value of each nest, whose rows follow each other."""
    ends = np.flatnonzero(np.diff(nest, append=-1)) + 1
    parts = pairwise((0, *ends.tolist()))
    return np.array([first + values[first:last].argmin() for first, last in parts], np.int64)

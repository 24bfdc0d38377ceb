"""Best-improvement local search over loop orders and uneven tile starts of one nest.

Loops are split into prime factors. A step moves one loop to another position, or lets one
operand's tile at one memory start elsewhere; unrolling is kept. Where tiles may carry loops, a loop
may also move past the starts of tiles without another one taking its place. The result is never
worse than the start, and need not be even.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....ir.mapping import LoopNest
from ....ir.workload import DIMS, OPERANDS
from ...analysis.batches.batch import BatchCost, evaluate_batch
from ...analysis.batches.nest_batch import NestBatch
from ..problem import MappingProblem
from .even.space import prime_factors
from .merging import merge_loops

Ints = NDArray[np.int64]
Measure = Callable[[BatchCost], NDArray[np.float64]]
Judge = Callable[[NestBatch, BatchCost], NDArray[np.float64]]
"""What is minimised, given nests and what the cost model says of them."""


@dataclass(frozen=True)
class States:
    """``B`` nests of the same loops in different orders.

    Attributes:
        dims: Dimension of each loop, as an index into ``DIMS``, ``[B, L]``.
        extents: Prime extent of each loop, ``[B, L]``.
        starts: Where tiles start, operand by operand, of all levels but the source, ``[B, S]``.
    """

    dims: Ints
    extents: Ints
    starts: Ints

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: Ints) -> "States":
        """Return some of the nests."""
        return States(self.dims[rows], self.extents[rows], self.starts[rows])

    def with_starts(self, starts: Ints) -> "States":
        """Return a single nest with tiles that start elsewhere, ``[B, S]``."""
        rows = np.zeros(len(starts), np.int64)
        return States(self.dims[rows], self.extents[rows], starts)

    @property
    def distinct(self) -> "States":
        """Each different nest once, where it stands first."""
        rows = np.concatenate((self.dims, self.extents, self.starts), axis=1)
        first = {row.tobytes(): at for at, row in reversed(tuple(enumerate(rows)))}
        return self.take(np.array(sorted(first.values()), np.int64))


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
    search = _Search(nest, problem, judge)
    state = start = _split(nest)
    value = float(search.values(state)[0])
    for _ in range(rounds):
        options = _joined(search.restarted(state), moved(state, carry=carry)).distinct
        if not len(options):
            break
        values = search.values(options)
        at = values.argmin()
        if not values[at] < value * (1.0 - 1e-9):
            break
        state, value = options.take(np.array([at])), float(values[at])
    return nest if state is start else merge_loops(search.batch(state).nest(0))


class _Search:
    def __init__(self, nest: LoopNest, problem: MappingProblem, judge: Judge) -> None:
        self.problem = problem
        self.judge = judge
        self.levels = {
            operand: tuple(item.level for item in nest.of(operand)) for operand in OPERANDS
        }
        self.unrolled = tuple((loop.fanout, loop.dim) for loop in nest.spatial)
        self.unrolled_extents = np.array([[loop.extent for loop in nest.spatial]], np.int64)
        self.columns = np.cumsum([len(self.levels[operand]) - 1 for operand in OPERANDS])

    def batch(self, states: States) -> NestBatch:
        """Return states as nests."""
        count = len(states)
        source = np.zeros((count, 1), np.int64)
        parts = np.split(states.starts, self.columns[:-1], axis=1)
        return NestBatch(
            workload=self.problem.workload,
            dims=states.dims,
            extents=states.extents,
            unrolled=self.unrolled,
            unrolled_extents=np.repeat(self.unrolled_extents.reshape(1, -1), count, axis=0),
            levels=self.levels,
            starts={
                operand: np.concatenate((source, part), axis=1)
                for operand, part in zip(OPERANDS, parts, strict=True)
            },
        )

    def values(self, states: States) -> NDArray[np.float64]:
        """Return what is compared; infinite where a state does not fit."""
        batch = self.batch(states)
        cost = evaluate_batch(batch, self.problem.machine, placement=self.problem.held)
        return np.where(cost.fits, self.judge(batch, cost), np.inf)

    def restarted(self, state: States) -> States:
        """Return a nest with one tile of one operand that starts elsewhere."""
        own, loops = state.starts[0], state.dims.shape[1]
        firsts = {0, *self.columns.tolist()}
        found: list[Ints] = []
        for column, start in enumerate(own.tolist()):
            low = 0 if column in firsts else int(own[column - 1])
            high = loops if column + 1 in firsts else int(own[column + 1])
            others = np.array([at for at in range(low, high + 1) if at != start], np.int64)
            changed = np.repeat(state.starts, len(others), axis=0)
            changed[:, column] = others
            found.append(changed)
        return state.with_starts(np.concatenate(found) if found else state.starts[:0])


def _split(nest: LoopNest) -> States:
    """Return a nest with its loops split into prime factors."""
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
    return States(*(np.array([row], np.int64) for row in (dims, extents, starts)))


def _joined(one: States, other: States) -> States:
    """Return two groups of nests as one, in order."""
    return States(
        np.concatenate((one.dims, other.dims)),
        np.concatenate((one.extents, other.extents)),
        np.concatenate((one.starts, other.starts)),
    )


def moved(state: States, *, carry: bool) -> States:
    """Return a nest with one loop at another position, in each way that differs.

    Args:
        state: One nest.
        carry: Whether a move past starts of tiles comes a second time, with starts that move along.
    """
    dims, extents = state.dims[0], state.extents[0]
    loops = len(dims)
    if not loops:
        return state.take(np.zeros(0, np.int64))
    differs = (np.diff(dims) != 0) | (np.diff(extents) != 0)
    run = np.concatenate(([0], np.cumsum(differs)))
    source, target = (place.reshape(-1, 1) for place in np.indices((loops, loops)))
    is_move = (run[source] != run[target])[:, 0]  # others only pass loops that are equal
    source, target = source[is_move], target[is_move]
    low, high = np.minimum(source, target), np.maximum(source, target)
    way = np.where(target > source, 1, -1)
    place = np.arange(loops)
    order = place + way * ((low <= place) & (place <= high))
    np.put_along_axis(order, target, source, axis=1)
    starts = np.repeat(state.starts, len(source), axis=0)
    if not carry:
        return States(dims[order], extents[order], starts)
    along = starts - way * ((low < starts) & (starts <= high))
    ways = 1 + (along != starts).any(axis=1)
    rows = np.repeat(np.arange(len(source)), ways)
    is_second = np.concatenate(([False], rows[1:] == rows[:-1]))[:, None]
    order = order[rows]
    return States(dims[order], extents[order], np.where(is_second, along[rows], starts[rows]))

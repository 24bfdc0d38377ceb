"""Best-improvement local search over loop orders and uneven tile starts of one nest.

Loops are split into prime factors. A step moves one loop to another position, or lets one
operand's tile at one memory start elsewhere; unrolling is kept. Where tiles may carry loops, a loop
may also move past the starts of tiles without another one taking its place. The result is never
worse than the start, and need not be even.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ....ir.mapping import LoopNest
from ....ir.workload import DIMS, OPERANDS
from ...analysis.batches.batch import BatchCost, evaluate_batch
from ...analysis.batches.nest_batch import NestBatch, batch_nests, distinct
from ..problem import MappingProblem
from .even.space import prime_factors
from .merging import merge_loops

Ints = NDArray[np.int64]
Measure = Callable[[BatchCost], NDArray[np.float64]]
Judge = Callable[[NestBatch, BatchCost], NDArray[np.float64]]
"""What is minimised, given nests and what the cost model says of them."""


def judged(batch: NestBatch, problem: MappingProblem, judge: Judge) -> NDArray[np.float64]:
    """Return what a judge says of nests, infinite where they do not fit.

    Args:
        batch: The nests.
        problem: What they solve.
        judge: Says what is minimised.
    """
    cost = evaluate_batch(batch, problem.machine, placement=problem.held)
    found = np.full(len(batch), np.inf)
    fitting = np.flatnonzero(cost.fits)
    if len(fitting):
        counts = cost.counts.take(fitting)
        found[fitting] = judge(counts.batch, BatchCost(counts))
    return found


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
        firsts, _ = distinct(np.concatenate((self.dims, self.extents, self.starts), axis=1))
        return self.take(firsts)


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
    starts = {number: _split(nest) for number, nest in enumerate(nests)}
    best, left = dict(starts), dict(starts)
    least = {number: values[0] for number, values in search.values(starts).items()}
    for _ in range(rounds):
        steps = {
            number: _joined(search.restarted(state), moved(state, carry=carry)).distinct
            for number, state in left.items()
        }
        steps = {number: states for number, states in steps.items() if len(states)}
        left = {}
        for number, values in search.values(steps).items():
            at = values.argmin()
            if values[at] < least[number] * (1.0 - 1e-9):
                least[number] = values[at]
                left[number] = best[number] = steps[number].take(np.array([at]))
        if not left:
            break
    return tuple(
        nest if best[number] is starts[number] else search.nest(number, best[number])
        for number, nest in enumerate(nests)
    )


class _Search:
    def __init__(self, nests: Sequence[LoopNest], problem: MappingProblem, judge: Judge) -> None:
        self.nests = nests
        self.problem = problem
        self.judge = judge
        self.first = batch_nests(nests)
        levels = self.first.levels
        self.columns = np.cumsum([len(levels[operand]) - 1 for operand in OPERANDS])

    def batch(self, states: Mapping[int, States]) -> NestBatch:
        """Return states as nests, those that came of the same one in a row.

        Args:
            states: By the number of the nest that they came of.
        """
        longest = max(item.dims.shape[1] for item in states.values())
        counts = [len(item) for item in states.values()]
        source = np.zeros((sum(counts), 1), np.int64)
        starts = np.concatenate([item.starts for item in states.values()])
        parts = np.split(starts, self.columns[:-1], axis=1)
        return replace(
            self.first,
            dims=_stacked([item.dims for item in states.values()], longest, 0),
            extents=_stacked([item.extents for item in states.values()], longest, 1),
            which=np.repeat(self.first.which[list(states)], counts),
            starts={
                operand: np.concatenate((source, part), axis=1)
                for operand, part in zip(OPERANDS, parts, strict=True)
            },
        )

    def values(self, states: Mapping[int, States]) -> Mapping[int, NDArray[np.float64]]:
        """Return what is compared of each state; infinite where it does not fit.

        Args:
            states: By the number of the nest that they came of.
        """
        if not states:
            return {}
        values = judged(self.batch(states), self.problem, self.judge)
        ends = np.cumsum([len(item) for item in states.values()])
        return dict(zip(states, np.split(values, ends[:-1]), strict=True))

    def nest(self, number: int, state: States) -> LoopNest:
        """Return a single state as a nest, unrolled in the same order as the one it came of."""
        found = merge_loops(self.batch({number: state}).nest(0))
        return replace(found, spatial=self.nests[number].spatial)

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


def _stacked(parts: Sequence[Ints], width: int, value: int) -> Ints:
    """Return arrays below each other, their rows filled up with a value."""
    found = np.full((sum(map(len, parts)), width), value, np.int64)
    first = 0
    for part in parts:
        found[first : first + len(part), : part.shape[1]] = part
        first += len(part)
    return found


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
    if not len(dims):
        return state.take(np.zeros(0, np.int64))
    differs = (np.diff(dims) != 0) | (np.diff(extents) != 0)
    run = np.concatenate(([0], np.cumsum(differs)))
    source, target, order = _moves(len(dims))
    is_move = run[source] != run[target]  # others only pass loops that are equal
    source, target, order = source[is_move], target[is_move], order[is_move]
    starts = np.repeat(state.starts, len(source), axis=0)
    if not carry:
        return States(dims[order], extents[order], starts)
    low, high, way = _passed(source, target)
    along = starts - way * ((low < starts) & (starts <= high))
    ways = 1 + (along != starts).any(axis=1)
    rows = np.repeat(np.arange(len(source)), ways)
    is_second = np.concatenate(([False], rows[1:] == rows[:-1]))[:, None]
    order = order[rows]
    return States(dims[order], extents[order], np.where(is_second, along[rows], starts[rows]))


@lru_cache(maxsize=64)
def _moves(loops: int) -> tuple[Ints, Ints, Ints]:
    """Return where a loop is and goes to in each move of one, ``[M]``, and what order that makes.

    Args:
        loops: How many there are.

    Returns:
        The third is ``[M, L]``: which loop stands at each position.
    """
    source, target = (place.ravel() for place in np.indices((loops, loops)))
    low, high, way = _passed(source, target)
    place = np.arange(loops)
    order = place + way * ((low <= place) & (place <= high))
    np.put_along_axis(order, target[:, None], source[:, None], axis=1)
    return source, target, order


def _passed(source: Ints, target: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the first and the last position that moves touch, and which way they go, ``[M, 1]``.

    Args:
        source: Where loops are, ``[M]``.
        target: Where they go to, ``[M]``.
    """
    source, target = source[:, None], target[:, None]
    low, high = np.minimum(source, target), np.maximum(source, target)
    return low, high, np.where(target > source, 1, -1)

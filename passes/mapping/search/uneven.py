"""Best-improvement local search over loop orders and uneven tile starts of one nest.

Loops are split into prime factors. A step moves one loop to another position, or lets one
operand's tile at one memory start elsewhere; unrolling is kept. Where tiles may carry loops, a loop
may also move past the starts of tiles without another one taking its place. The result is never
worse than the start, and need not be even.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....ir.mapping import LoopNest
from ....ir.workload import DIMS, Operand
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
class _State:
    """A nest as arrays; starts by operand, all levels but the source."""

    dims: Ints
    extents: Ints
    starts: tuple[tuple[int, ...], ...]


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
    state = _split(nest)
    values = search.values([state])
    value, start = float(values[0]), state
    for _ in range(rounds):
        options = list(_neighbours(state, carry=carry))
        if not options:
            break
        values = search.values(options)
        at = int(values.argmin())
        if not values[at] < value * (1.0 - 1e-9):
            break
        state, value = options[at], float(values[at])
    return nest if state is start else merge_loops(search.batch([state]).nest(0))


class _Search:
    def __init__(self, nest: LoopNest, problem: MappingProblem, judge: Judge) -> None:
        self.problem = problem
        self.judge = judge
        self.levels = {
            operand: tuple(item.level for item in nest.of(operand)) for operand in Operand
        }
        self.unrolled = tuple((loop.fanout, loop.dim) for loop in nest.spatial)
        self.unrolled_extents = np.array([[loop.extent for loop in nest.spatial]], np.int64)

    def batch(self, states: list[_State]) -> NestBatch:
        """Return states as nests."""
        count = len(states)
        return NestBatch(
            workload=self.problem.workload,
            dims=np.array([state.dims for state in states]).reshape(count, -1),
            extents=np.array([state.extents for state in states]).reshape(count, -1),
            unrolled=self.unrolled,
            unrolled_extents=np.repeat(self.unrolled_extents.reshape(1, -1), count, axis=0),
            levels=self.levels,
            starts={
                operand: np.array([(0, *state.starts[at]) for state in states], np.int64)
                for at, operand in enumerate(Operand)
            },
        )

    def values(self, states: list[_State]) -> NDArray[np.float64]:
        """Return what is compared; infinite where a state does not fit."""
        batch = self.batch(states)
        cost = evaluate_batch(batch, self.problem.machine, placement=self.problem.held)
        return np.where(cost.fits, self.judge(batch, cost), np.inf)


def _split(nest: LoopNest) -> _State:
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
    starts = tuple(tuple(first[item.start] for item in nest.of(op)[1:]) for op in Operand)
    return _State(np.array(dims, np.int64), np.array(extents, np.int64), starts)


def _neighbours(state: _State, *, carry: bool) -> Iterator[_State]:
    yield from _restarted(state)
    for source in range(len(state.dims)):
        for target in range(len(state.dims)):
            if target == source or _same_loops(state, source, target):
                continue
            order = np.insert(np.delete(np.arange(len(state.dims)), source), target, source)
            dims, extents = state.dims[order], state.extents[order]
            yield _State(dims, extents, state.starts)
            if carry:
                moved = tuple(
                    tuple(_carried(at, source, target) for at in row) for row in state.starts
                )
                if moved != state.starts:
                    yield _State(dims, extents, moved)


def _restarted(state: _State) -> Iterator[_State]:
    for at, starts in enumerate(state.starts):
        for position, start in enumerate(starts):
            low = starts[position - 1] if position else 0
            high = starts[position + 1] if position + 1 < len(starts) else len(state.dims)
            for other in range(low, high + 1):
                if other != start:
                    changed = (*starts[:position], other, *starts[position + 1 :])
                    yield _State(
                        state.dims,
                        state.extents,
                        (*state.starts[:at], changed, *state.starts[at + 1 :]),
                    )


def _carried(start: int, source: int, target: int) -> int:
    """Return where a tile starts that a loop joins or leaves as it moves past the start."""
    if source < start <= target:
        return start - 1
    return start + 1 if target < start <= source else start


def _same_loops(state: _State, source: int, target: int) -> bool:
    """Whether a move only passes loops equal to the one that moves."""
    low, high = min(source, target), max(source, target)
    between = slice(low, high + 1)
    return bool(
        (state.dims[between] == state.dims[source]).all()
        and (state.extents[between] == state.extents[source]).all()
    )

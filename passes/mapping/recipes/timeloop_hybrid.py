"""The mapper ``timeloop-hybrid``: the search of Timeloop's mapper that papers compare with.

Threads share out the factorisations of the extents. Each draws one at random, sees whether it fits,
visits its orders of loops one after the other, and draws the next one; it ends after so many valid
mappings in a row that are no better than its best. The best of all threads counts. Threads are
simulated, so the result follows from the seed.

Deviation: of the orders of a factorisation Timeloop leaves out those that differ in loops of one
step only; here all go that cost the same in the cost model. So a thread sees more factorisations
before it ends, and the search is at least as strong as Timeloop's with equal limits. Where
Timeloop gives a thread up after 1000 mappings in a row that do not fit, here it takes 100,000: at
most one of a hundred fits, in some layers one of ten thousand.

References:
    Parashar et al.: Timeloop: A Systematic Approach to DNN Accelerator Evaluation. ISPASS 2019.
    Huang et al.: CoSA: Scheduling by Constrained Optimization for Spatial Accelerators. ISCA 2021,
    section IV-B: 32 threads, 500 mappings.
    Timeloop's documentation of its mapper, "hybrid": threads, victory condition, timeout.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....ir.errors import InfeasibleError
from ....ir.workload import OPERANDS, RELEVANT, Dim
from ..mapper import Mapper, MappingResult, MappingStatus
from ..problem import MappingProblem
from ..search.even.draws import draw_factorisations
from ..search.even.space import EvenBatch, EvenSpace, even_space, stationary_choices
from .drawn import assignments

_PART = 4000
_FEWEST = 16
"""Factorisations that a thread has for itself on average, at least; else fewer threads run."""

_LARGE_PRIME = 2_147_483_647


@dataclass(frozen=True, kw_only=True)
class TimeloopHybrid(Mapper):
    """Random factorisations, each with a sweep of its orders, by many simulated threads.

    Attributes:
        name: Spelling on the command line.
        threads: How many share out the factorisations.
        victory: Valid mappings in a row without improvement after which a thread ends.
        timeout: Factorisations in a row that do not fit after which it gives up.
    """

    name: str = "timeloop-hybrid"
    threads: int = 32
    victory: int = 500
    timeout: int = 100_000

    def find(self, problem: MappingProblem) -> MappingResult:
        """Return the best mapping of all threads; ``evaluations`` bounds the valid ones.

        Loops that are given as unrolled are, with padding where they do not divide the extents.
        """
        space = even_space(problem, _padded(problem))
        rng = np.random.default_rng(problem.seed)
        threads = _Threads(self, space)
        while threads.are_running:
            threads.take(draw_factorisations(space, _PART, rng, problem.spatial))
        if threads.best is None:
            raise InfeasibleError(f"none of {threads.samples} random factorisations fits")
        nest = threads.best.nest(0)
        problem.check(nest)
        return MappingResult(
            nest=nest,
            mapper=self.name,
            status=MappingStatus.HEURISTIC,
            objective=threads.value,
            note=f"{threads.valid} evaluations of {threads.samples} samples",
        )


def _padded(problem: MappingProblem) -> Mapping[Dim, int] | None:
    """Return the extents that the unrolled loops divide; ``None`` where these are not given."""
    if problem.spatial is None:
        return None
    unrolled = dict.fromkeys(problem.workload.dims, 1)
    for loop in problem.spatial:
        unrolled[loop.dim] *= loop.extent
    return {
        dim: math.ceil(extent / unrolled[dim]) * unrolled[dim]
        for dim, extent in problem.workload.dims.items()
    }


class _Threads:
    """The state of all threads; it does not leave the search.

    Attributes:
        best: The best mapping so far, a batch of one.
        value: Its objective.
        valid: Valid mappings that were looked at.
        samples: Mappings that were looked at, factorisations that do not fit as one each.
    """

    def __init__(self, mapper: TimeloopHybrid, space: EvenSpace) -> None:
        count = max(1, min(mapper.threads, assignments(space) // _FEWEST))
        self._mapper = mapper
        self._space = space
        self._measure = space.problem.objective.of
        budget = space.problem.evaluations
        self._most = math.inf if budget is None else budget
        self._best = np.full(count, np.inf)
        self._idle = np.zeros(count, np.int64)
        self._unfit = np.zeros(count, np.int64)
        self._ended = np.zeros(count, np.bool_)
        self.best: EvenBatch | None = None
        self.value = math.inf
        self.valid = 0
        self.samples = 0

    @property
    def are_running(self) -> bool:
        """Whether a thread has not ended, and mappings may still be looked at."""
        return self.valid < self._most and not self._ended.all()

    def take(self, drawn: EvenBatch) -> None:
        """Give factorisations to the threads that they belong to, in order."""
        owner = _owner(drawn, len(self._best))
        mine = np.flatnonzero(~self._ended[owner])
        likely = mine[_unrolls(drawn.take(mine))]
        fits = likely[drawn.take(likely).cost().fits] if len(likely) else likely
        for row in mine[~np.isin(mine, fits)]:
            self._refuse(int(owner[row]))
        choices = stationary_choices(self._space)
        part = max(1, _PART // len(choices))
        for begin in range(0, len(fits), part):
            rows = fits[begin : begin + part]
            swept, of = distinct_orders(drawn.take(rows))
            cost = swept.cost()
            values = np.where(cost.fits, self._measure(cost), np.inf)
            for at, row in enumerate(rows):
                own = np.flatnonzero(of == at)
                self._sweep(int(owner[row]), swept, own, values[own])

    def _refuse(self, thread: int) -> None:
        if self._ended[thread]:
            return
        self.samples += 1
        self._unfit[thread] += 1
        self._ended[thread] = self._unfit[thread] >= self._mapper.timeout

    def _sweep(
        self, thread: int, swept: EvenBatch, rows: NDArray[np.int64], values: NDArray[np.float64]
    ) -> None:
        """Visit the orders of one factorisation until the thread ends."""
        for row, value in zip(rows, values, strict=True):
            if self._ended[thread] or self.valid >= self._most:
                return
            self.samples += 1
            if math.isinf(value):
                continue
            self.valid += 1
            self._unfit[thread] = 0
            if value < self._best[thread]:
                self._best[thread], self._idle[thread] = value, 0
                if value < self.value:
                    self.value, self.best = float(value), swept.take([int(row)])
                continue
            self._idle[thread] += 1
            self._ended[thread] = self._idle[thread] >= self._mapper.victory


def _owner(drawn: EvenBatch, threads: int) -> NDArray[np.int64]:
    """Return the thread of each factorisation; equal ones have the same."""
    mixed = np.zeros(len(drawn), np.int64)
    for column in (*drawn.temporal.reshape(len(drawn), -1).T, *drawn.spatial.T):
        mixed = (mixed * 1_000_003 + column) % _LARGE_PRIME
    return mixed % threads


def _unrolls(drawn: EvenBatch) -> NDArray[np.bool_]:
    """Return which mappings unroll no more than the fan-outs have; a cheap part of what fits."""
    fine = np.ones(len(drawn), np.bool_)
    for fanout in drawn.space.arch.fanouts:
        own = [at for at, (name, _) in enumerate(drawn.space.unrollable) if name == fanout.name]
        fine &= drawn.spatial[:, own].prod(axis=1) <= fanout.size
    return fine


def distinct_orders(batch: EvenBatch) -> tuple[EvenBatch, NDArray[np.int64]]:
    """Return every mapping with its orders, those of equal cost once, and whose each one is."""
    choices = stationary_choices(batch.space)
    runs = _runs(batch)
    fresh = np.ones((len(batch), len(batch.space.slots), len(OPERANDS)), np.bool_)
    for slot, movable in enumerate(batch.space.movable):
        known = [OPERANDS.index(item) for item in movable]
        for later, choice in enumerate(known):
            for earlier in known[:later]:
                same = (runs[:, slot, choice] == runs[:, slot, earlier])[:, known].all(axis=1)
                fresh[:, slot, choice] &= ~same
    kept = fresh[:, np.arange(len(batch.space.slots)), choices].all(axis=2)
    of, chosen = np.nonzero(kept)
    swept = batch.take(of)
    return EvenBatch(swept.space, swept.temporal, swept.spatial, choices[chosen]), of


def _runs(batch: EvenBatch) -> NDArray[np.int64]:
    """Return for how many steps tiles are kept, ``[B, slots, chosen operand, kept operand]``.

    These are the innermost loops of a slot that do not index the operand; an order decides no more.
    """
    space = batch.space
    runs = np.ones((*batch.temporal.shape[:2], len(OPERANDS), len(OPERANDS)), np.int64)
    for choice, stationary in enumerate(OPERANDS):
        order = space.orders[stationary][::-1]
        for which, operand in enumerate(OPERANDS):
            kept = np.ones(batch.temporal.shape[:2], np.bool_)
            for at in order:
                extent = batch.temporal[:, :, at]
                kept &= (extent == 1) | (space.dims[at] not in RELEVANT[operand])
                runs[:, :, choice, which] *= np.where(kept, extent, 1)
    return runs

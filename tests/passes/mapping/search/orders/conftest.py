"""An oracle: every allocation of an order, evaluated by the vectorised cost model."""

import itertools

import numpy as np
import pytest

from accnn.ir.workload import DIMS, OPERANDS
from accnn.passes.analysis.batches.batch import evaluate_batch
from accnn.passes.analysis.batches.nest_batch import NestBatch
from accnn.passes.analysis.batches.unrollings import Unrollings


def _monotone(loops, memories):
    """All non-increasing starts of a chain, innermost memory first."""
    return [
        starts[::-1]
        for starts in itertools.combinations_with_replacement(range(loops + 1), memories)
    ]


def _all_allocations(problem, order):
    """Yield every allocation of an order as starts of W, I and O, along their chains."""
    chains = [_monotone(len(order), len(chain) - 1) for chain in problem.chains]
    for starts in itertools.product(*chains):
        if not problem.problem.even or _is_even(problem, starts):
            yield starts


def _is_even(problem, starts):
    at = {}
    for chain, own in zip(problem.chains, starts, strict=True):
        for level, start in zip(chain, own, strict=False):
            if at.setdefault(level.name, start) != start:
                return False
    return True


def _repeated(row, times):
    return np.tile(np.array(row, np.int64), (times, 1))


@pytest.fixture(scope="session")
def all_allocations():
    return _all_allocations


@pytest.fixture(scope="session")
def best_by_brute_force():
    """Least value of the objective over all allocations of an order that fit, else infinity."""

    def least(problem, order):
        rows = list(_all_allocations(problem, order))
        dram = problem.arch.off_chip.name
        levels = {
            x: (dram, *(level.name for level in reversed(chain[:-1])))
            for x, chain in zip(OPERANDS, problem.chains, strict=True)
        }
        starts = {
            x: np.array([(0, *row[at][::-1]) for row in rows], np.int64)
            for at, x in enumerate(OPERANDS)
        }
        batch = NestBatch(
            workload=problem.workload,
            dims=_repeated([DIMS.index(loop.dim) for loop in order], len(rows)),
            extents=_repeated([loop.extent for loop in order], len(rows)),
            unrollings=Unrollings(
                tuple((loop.fanout, loop.dim) for loop in problem.spatial),
                np.array([[loop.extent for loop in problem.spatial]], np.int64),
            ),
            which=np.zeros(len(rows), np.int64),
            levels=levels,
            starts=starts,
        )
        cost = evaluate_batch(batch, problem.arch, placement=problem.resident)
        values = {"energy": cost.energy_pj, "latency": cost.cycles, "edp": cost.edp}
        return float(np.where(cost.fits, values[problem.problem.objective.value], np.inf).min())

    return least

"""Annealing for a user's own function of the cost report."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .....ir.errors import InfeasibleError
from .....ir.mapping import LoopNest
from ....analysis.cost import CostReport
from .allocation import allocate_in
from .engine import BestOrder, OrderEngine, SearchOptions
from .kernel.records import Ints
from .loops import loop_prime_factors
from .machine import UnrolledProblem
from .orders import OrderSpace

UserObjective = Callable[[CostReport], float]


def search_by(
    problem: UnrolledProblem,
    objective: UserObjective,
    options: SearchOptions = SearchOptions(),  # noqa: B008 - frozen
) -> BestOrder:
    """Return the best order by a user's function of the cost report.

    Memory is allocated for the problem's own objective; every order is evaluated by the full cost
    model, so this is about a hundred times slower than :func:`.engine.search`.

    Args:
        problem: What is searched.
        objective: What is minimised; positive.
        options: ``iterations``, ``temperature``, ``decay``, ``restarts`` and ``seed`` count.

    Raises:
        InfeasibleError: As :func:`.engine.search`.
    """
    problem.check()
    space = OrderSpace.of(problem, loop_prime_factors(problem.temporal, options.limit))
    runs = [_anneal(space, objective, options, run) for run in range(max(1, options.restarts))]
    best = min(runs, key=lambda run: run.value)
    if best.nest is None:
        raise InfeasibleError(f"no order of {problem.workload} fits")
    return BestOrder(
        nest=best.nest,
        value=best.value,
        engine=OrderEngine.ANNEALING,
        orders=space.count,
        evaluations=sum(run.evaluations for run in runs),
    )


@dataclass(frozen=True, slots=True)
class _Run:
    nest: LoopNest | None
    value: float
    evaluations: int


def _anneal(space: OrderSpace, objective: UserObjective, options: SearchOptions, run: int) -> _Run:
    """Anneal once, as :func:`.kernel.engines.anneal` does, without descent."""
    rng = np.random.default_rng((options.seed, run))
    current = space.sums_innermost if run == 0 else rng.permutation(space.first)
    best = latest = _look(space, objective, current)
    temperature = options.temperature
    iterations = options.iterations if len(space.kinds) > 1 else 0
    for _ in range(iterations):
        trial_order = _swapped(current, rng)
        trial = _look(space, objective, trial_order)
        if _is_accepted(trial.value, latest.value, temperature, rng):
            current, latest = trial_order, trial
            if trial.value < best.value:
                best = trial
        temperature *= options.decay
    return _Run(best.nest, best.value, 1 + iterations)


def _look(space: OrderSpace, objective: UserObjective, order: Ints) -> _Run:
    try:
        nest, _ = allocate_in(space, order)
    except InfeasibleError:
        return _Run(None, np.inf, 1)
    report = space.problem.problem.cost(nest)
    return _Run(nest, objective(report), 1)


def _swapped(order: Ints, rng: np.random.Generator) -> Ints:
    """Return an order with two loops exchanged that are not alike, eq. (2)."""
    i = int(rng.integers(len(order)))
    j = int(rng.choice(np.flatnonzero(order != order[i])))
    swapped = order.copy()
    swapped[[i, j]] = swapped[[j, i]]
    return swapped


def _is_accepted(trial: float, value: float, temperature: float, rng: np.random.Generator) -> bool:
    """Whether to move on, eq. (3)."""
    if trial <= value:
        return True
    return np.isfinite(trial) and rng.random() < np.exp((value - trial) / (value * temperature))

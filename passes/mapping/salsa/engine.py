"""The two engines and the choice between them: all orders, or simulated annealing.

*Exhaustive* (LOMA): every distinct order of the loops; with a limit on the number of loops this
is LOMA's search, without one its result is the best order there is.

*Annealing* (SALSA): runs of simulated annealing with the paper's neighbourhood, acceptance and
schedule, each followed by a descent (every improving swap until there is none), and descents from
random orders. Where the objective has several basins, an annealed run prefers the widest one and
descents find the others; together they are more reliable than either for the same work.

Deviation: the paper anneals once and returns the best order on the way. V in eq. (3) is relative
to the value of the current order, so that ``T0 = 0.05`` means five per cent for every objective
and workload. The paper compares ``T(n, k) = tau n! / prod k_i!`` with the time of its annealer,
which is tau times its evaluations; tau cancels, so we compare numbers of evaluations and the
choice is the same on every machine. Loops that are alike are never swapped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ....ir.errors import InfeasibleError, OptionError
from ....ir.mapping import Loop, LoopNest
from ....ir.workload import DIMS
from ...analysis.cost import CostReport, evaluate
from . import kernel
from .kernel import Floats, Ints, Loops
from .loops import count_orders, loop_prime_factors
from .machine import Problem


class Engine(StrEnum):
    """Which engine searches the orders."""

    AUTO = "auto"
    EXHAUSTIVE = "exhaustive"
    ANNEALING = "annealing"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """Settings of a search.

    Attributes:
        engine: Which engine; ``auto`` takes all orders where these are no more than the
            evaluations that annealing would need.
        iterations: Of one annealing run (the paper's I).
        temperature: First temperature (T0), relative to the value of the current order.
        decay: Factor on the temperature after each iteration (rho).
        restarts: Annealing runs.
        descents: Descents from random orders.
        seed: Of all random numbers.
        limit: Most loops (LOMA's ``lpf_limit``); ``None`` splits into primes.
        most_orders: The exhaustive engine refuses to look at more.
    """

    engine: Engine = Engine.AUTO
    iterations: int = 1000
    temperature: float = 0.05
    decay: float = 0.999
    restarts: int = 4
    descents: int = 64
    seed: int = 0
    limit: int | None = None
    most_orders: int = 20_000_000

    def __post_init__(self) -> None:
        if self.iterations < 0 or self.restarts < 0 or self.descents < 0:
            raise OptionError("iterations, restarts and descents cannot be negative")
        if self.restarts + self.descents == 0:
            raise OptionError("annealing needs at least one restart or descent")
        if not (self.temperature > 0 and 0 < self.decay <= 1):
            raise OptionError("the temperature must be positive, its decay in (0, 1]")
        if self.limit is not None and self.limit < 1:
            raise OptionError(f"a limit of {self.limit} loops, must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best order of one problem.

    Attributes:
        nest: Its nest, tiles allocated.
        value: Its objective: [pJ], [cycle] or their product.
        engine: Which engine ran.
        orders: How many distinct orders there are.
        evaluations: How many were evaluated.
    """

    nest: LoopNest
    value: float
    engine: Engine
    orders: int
    evaluations: int


def choose_engine(orders: int, loops: int, options: SearchOptions) -> Engine:
    """Return the engine that needs fewer evaluations."""
    if options.engine is not Engine.AUTO:
        return options.engine
    return Engine.EXHAUSTIVE if orders <= expected_evaluations(loops, options) else Engine.ANNEALING


def expected_evaluations(loops: int, options: SearchOptions) -> int:
    """Return about how many orders the annealing engine evaluates (a descent: 3/4 n^2)."""
    descent = 3 * loops * loops // 4
    return options.restarts * (options.iterations + descent // 2) + options.descents * descent


def search(problem: Problem, options: SearchOptions = SearchOptions()) -> Found:
    """Return the best order that the chosen engine finds.

    Raises:
        InfeasibleError: A memory cannot hold one step of the unrolled loops, or no order lets
            outputs that lie in the scratchpad be finished beneath it.
        OptionError: The exhaustive engine was asked for too many orders.
    """
    problem.check()
    every = loop_prime_factors(problem.temporal, options.limit)
    loops, first = loops_of(every)
    orders = count_orders(every)
    engine = choose_engine(orders, len(every), options)
    if engine is Engine.EXHAUSTIVE:
        if orders > options.most_orders:
            raise OptionError(
                f"{problem.workload} has {orders} orders, more than {options.most_orders}",
                hint="limit the number of loops, or anneal",
            )
        _, evaluations = kernel.exhaust(problem.machine, loops, first)
        best = first
    else:
        best, evaluations = _anneal_often(problem, loops, first, options)
    return _found(problem, loops, best, engine, orders, evaluations)


def _found(
    problem: Problem, loops: Loops, order: Ints, engine: Engine, orders: int, evaluations: int
) -> Found:
    nest, value = allocate(problem, loops_in(loops, order))
    return Found(nest=nest, value=value, engine=engine, orders=orders, evaluations=evaluations)


def allocate(problem: Problem, order: Sequence[Loop]) -> tuple[LoopNest, float]:
    """Return the nest of an order with the best allocation, and its value.

    Raises:
        InfeasibleError: No allocation of this order fits.
    """
    dims = np.array([DIMS.index(loop.dim) for loop in order], np.int64)
    extents = np.array([loop.extent for loop in order], np.int64)
    value, starts = kernel.evaluate(problem.machine, dims, extents)
    if np.isinf(value):
        raise InfeasibleError(f"no allocation of this order of {problem.workload} fits")
    return problem.nest(order, starts.tolist()), _without_tie(problem, order, starts, value)


def _without_tie(problem: Problem, order: Sequence[Loop], starts: Ints, value: float) -> float:
    """Return the objective itself: latency is searched with a small share of the energy."""
    if problem.machine.objective != kernel.LATENCY:
        return value
    nest = problem.nest(order, starts.tolist())
    return evaluate(nest, problem.arch, placement=problem.resident).cycles


def _anneal_often(
    problem: Problem, loops: Loops, first: Ints, options: SearchOptions
) -> tuple[Ints, int]:
    """Return the best order of all runs, and the evaluations of all."""
    best, lowest, evaluations = first, np.inf, 0
    for run in range(options.restarts + options.descents):
        iterations = options.iterations if run < options.restarts else 0
        order, value, used, _ = anneal_once(problem, loops, first, options, run, iterations)
        evaluations += used
        if value < lowest:
            best, lowest = order, value
    return best, evaluations


def anneal_once(
    problem: Problem,
    loops: Loops,
    first: Ints,
    options: SearchOptions,
    run: int,
    iterations: int,
) -> tuple[Ints, float, int, Floats]:
    """Anneal from a random order and descend.

    Args:
        problem: What is searched.
        loops: Its distinct loops.
        first: Any order.
        options: Temperature, decay and seed.
        run: Number of the run; with the seed it determines the random numbers.
        iterations: Of annealing; 0 only descends.

    Returns:
        The best order, its value, the evaluations, and the values of all orders looked at while
        annealing.
    """
    rng = np.random.default_rng((options.seed, run))
    order = rng.permutation(first)
    if run == 0:
        order = _sums_innermost(loops, first)
    if len(loops.dims) < 2:
        iterations = 0
    visited = np.zeros(iterations)
    value, used = kernel.anneal(
        problem.machine,
        loops,
        order,
        rng.random((iterations, 3)),
        options.temperature,
        options.decay,
        visited,
    )
    return order, value, used, visited


def _sums_innermost(loops: Loops, order: Ints) -> Ints:
    """Return an order that always fits: loops of sums inside, so that outputs can be finished."""
    summed = np.isin(loops.dims[order], (kernel.R, kernel.S, kernel.C))
    return order[np.argsort(summed, kind="stable")]


def loops_of(every: Sequence[Loop]) -> tuple[Loops, Ints]:
    """Return the distinct loops, and all loops as indices of them, sorted."""
    kinds = sorted(set(every), key=lambda loop: (DIMS.index(loop.dim), loop.extent))
    loops = Loops(
        np.array([DIMS.index(loop.dim) for loop in kinds], np.int64),
        np.array([loop.extent for loop in kinds], np.int64),
    )
    return loops, np.array(sorted(kinds.index(loop) for loop in every), np.int64)


def loops_in(loops: Loops, order: Ints) -> tuple[Loop, ...]:
    """Return an order of indices as loops."""
    return tuple(Loop(DIMS[loops.dims[kind]], int(loops.extents[kind])) for kind in order)


def search_by(
    problem: Problem, objective: Callable[[CostReport], float], options: SearchOptions
) -> Found:
    """Return the best order by a user's function of the cost report.

    Memory is allocated for the problem's own objective; every order is evaluated by the full cost
    model, so this is about a hundred times slower than :func:`search`.

    Args:
        problem: What is searched.
        objective: What is minimised; positive.
        options: ``iterations``, ``temperature``, ``decay``, ``restarts`` and ``seed`` count.

    Raises:
        InfeasibleError: As :func:`search`.
    """
    problem.check()
    every = loop_prime_factors(problem.temporal, options.limit)
    best: tuple[float, LoopNest] | None = None
    evaluations = 0
    for run in range(max(1, options.restarts)):
        value, nest, used = _anneal_by(problem, every, objective, options, run)
        evaluations += used
        if best is None or value < best[0]:
            best = value, nest
    assert best is not None
    return Found(
        nest=best[1],
        value=best[0],
        engine=Engine.ANNEALING,
        orders=count_orders(every),
        evaluations=evaluations,
    )


def _anneal_by(
    problem: Problem,
    every: Sequence[Loop],
    objective: Callable[[CostReport], float],
    options: SearchOptions,
    run: int,
) -> tuple[float, LoopNest, int]:
    rng = np.random.default_rng((options.seed, run))
    loops, first = loops_of(every)
    current = _sums_innermost(loops, first) if run == 0 else rng.permutation(first)

    def look(order: Ints) -> tuple[float, LoopNest | None]:
        try:
            nest, _ = allocate(problem, loops_in(loops, order))
        except InfeasibleError:
            return np.inf, None
        return objective(evaluate(nest, problem.arch, placement=problem.resident)), nest

    value, nest = look(current)
    best, temperature = (value, nest), options.temperature
    evaluations = 1
    for _ in range(options.iterations if len(loops.dims) > 1 else 0):
        i = int(rng.integers(len(current)))
        j = int(rng.choice(np.flatnonzero(current != current[i])))
        trial = current.copy()
        trial[[i, j]] = trial[[j, i]]
        found, nest = look(trial)
        evaluations += 1
        if found <= value or rng.random() < np.exp((value - found) / (value * temperature)):
            current, value = trial, found
            if found < best[0]:
                best = found, nest
        temperature *= options.decay
    if best[1] is None:
        raise InfeasibleError(f"no order of {problem.workload} fits")
    return best[0], best[1], evaluations

"""The two engines and the choice between them: all orders, or simulated annealing.

*Exhaustive* (LOMA): every distinct order of the loops; with a limit on the number of loops this
is LOMA's search, without one its result is the best order there is.

*Annealing* (SALSA): runs of simulated annealing with the paper's neighbourhood, acceptance and
schedule, each followed by a descent (every improving exchange until there is none), and descents
from random orders. Where the objective has several basins, an annealed run prefers the widest one
and descents find the others; together they are more reliable than either for the same work.

Deviation: the paper anneals once and returns the best order on the way. V in eq. (3) is relative
to the value of the current order, so that ``T0 = 0.05`` means five per cent for every objective
and workload. The paper compares ``T(n, k) = tau n! / prod k_i!`` with the time of its annealer,
which is tau times its evaluations; tau cancels, so we compare numbers of evaluations and the
choice is the same on every machine. Loops that are alike are never swapped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np

from .....ir.errors import OptionError
from .....ir.mapping import Loop, LoopNest
from .allocation import allocate_in
from .kernel.engines import Annealing, anneal, evaluate, exhaust
from .kernel.records import (
    Floats,
    Ints,
    loops_of,
    machine_of,
    new_candidates,
    new_rows,
    new_state,
)
from .loops import loop_prime_factors
from .machine import UnrolledProblem
from .orders import OrderSpace


class OrderEngine(StrEnum):
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

    engine: OrderEngine = OrderEngine.AUTO
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
class BestOrder:
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
    engine: OrderEngine
    orders: int
    evaluations: int


@cache
def prepare() -> None:
    """Load the compiled kernel, or compile it, so that the time of no search includes that.

    Compiling takes about twenty seconds, once per installation; see :mod:`accnn.ir.compiled`.
    """
    empty = machine_of({"chain": np.ones(3, np.int64), "last": -1})
    loops, order = loops_of({}), np.zeros(0, np.int64)
    scratch = (new_rows(1), new_candidates(), new_state())
    evaluate(empty, loops, order, *scratch)


def choose_engine(orders: int, loops: int, options: SearchOptions) -> OrderEngine:
    """Return the engine that needs fewer evaluations.

    Args:
        orders: How many there are.
        loops: How many are ordered.
        options: Settings of the search.
    """
    if options.engine is not OrderEngine.AUTO:
        return options.engine
    return (
        OrderEngine.EXHAUSTIVE
        if orders <= expected_evaluations(loops, options)
        else OrderEngine.ANNEALING
    )


def expected_evaluations(loops: int, options: SearchOptions) -> int:
    """Return about how many orders the annealing engine evaluates (a descent: 3/4 n^2)."""
    descent = 3 * loops * loops // 4
    return options.restarts * (options.iterations + descent // 2) + options.descents * descent


def search(
    problem: UnrolledProblem,
    options: SearchOptions = SearchOptions(),
    models: Sequence[Sequence[Loop]] = (),
) -> BestOrder:
    """Return the best order that the chosen engine finds.

    Args:
        problem: What is searched.
        options: Engine and effort.
        models: Orders to descend from, besides all others, when annealing; they need not have the
            same loops.

    Raises:
        InfeasibleError: A memory cannot hold one step of the unrolled loops, or no order lets
            outputs that lie in the scratchpad be finished beneath it.
        OptionError: The exhaustive engine was asked for too many orders.
    """
    problem.check()
    space = OrderSpace.of(problem, loop_prime_factors(problem.temporal, options.limit))
    engine = choose_engine(space.count, len(space.first), options)
    match engine:
        case OrderEngine.EXHAUSTIVE:
            order, evaluations = _exhaust(space, options)
        case _:
            order, evaluations = _anneal_often(space, options, models)
    nest, value = allocate_in(space, order)
    return BestOrder(
        nest=nest, value=value, engine=engine, orders=space.count, evaluations=evaluations
    )


def _exhaust(space: OrderSpace, options: SearchOptions) -> tuple[Ints, int]:
    if space.count > options.most_orders:
        raise OptionError(
            f"{space.problem.workload} has {space.count} orders, more than {options.most_orders}",
            hint="limit the number of loops, or anneal",
        )
    order = space.first.copy()
    _, evaluations = exhaust(space.problem.machine, space.loops, order, *space.scratch)
    return order, evaluations


def _anneal_often(
    space: OrderSpace, options: SearchOptions, models: Sequence[Sequence[Loop]]
) -> tuple[Ints, int]:
    """Return the best order of all runs, and the evaluations of all."""
    runs = [_descend(space, options, space.nearest(model)) for model in models]
    runs += [
        anneal_once(space, options, run, options.iterations if run < options.restarts else 0)
        for run in range(options.restarts + options.descents)
    ]
    best = min(runs, key=lambda run: run.value)
    return best.order, sum(run.evaluations for run in runs)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of annealing with its descent.

    Attributes:
        order: The best one.
        value: Its value.
        evaluations: How many orders were evaluated.
        visited: Values of all orders looked at while annealing.
    """

    order: Ints
    value: float
    evaluations: int
    visited: Floats


def anneal_once(space: OrderSpace, options: SearchOptions, run: int, iterations: int) -> Run:
    """Anneal from a random order and descend.

    Args:
        space: What is searched.
        options: Temperature, decay and seed.
        run: Number of the run; with the seed it determines the random numbers. Run 0 starts from
            an order that always fits.
        iterations: Of annealing; 0 only descends.
    """
    rng = np.random.default_rng((options.seed, run))
    order = space.sums_innermost if run == 0 else rng.permutation(space.first)
    iterations = iterations if len(space.kinds) > 1 else 0
    return _anneal(space, options, order, rng.random((iterations, 3)))


def _descend(space: OrderSpace, options: SearchOptions, order: Ints) -> Run:
    return _anneal(space, options, order, np.zeros((0, 3)))


def _anneal(space: OrderSpace, options: SearchOptions, order: Ints, draws: Floats) -> Run:
    """Anneal from an order, as many steps as there are draws, and descend."""
    visited = np.zeros(len(draws))
    annealing = Annealing(draws, options.temperature, options.decay, visited)
    value, evaluations = anneal(
        space.problem.machine, space.loops, order, annealing, *space.scratch
    )
    return Run(order, value, evaluations, visited)

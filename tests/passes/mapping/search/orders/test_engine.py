"""The two engines: which one runs, what it finds, and that it finds it again."""

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError, OptionError
from accnn.ir.mapping import Loop, SpatialLoop
from accnn.ir.workload import Dim, Workload
from accnn.passes.analysis.cost import evaluate
from accnn.passes.mapping.problem import SEARCHED, MappingProblem, Objective, Rules
from accnn.passes.mapping.search.orders.allocation import allocate
from accnn.passes.mapping.search.orders.by_report import search_by
from accnn.passes.mapping.search.orders.engine import (
    OrderEngine,
    SearchOptions,
    anneal_once,
    choose_engine,
    expected_evaluations,
    search,
)
from accnn.passes.mapping.search.orders.kernel.records import MOST_LOOPS
from accnn.passes.mapping.search.orders.loops import loop_prime_factors
from accnn.passes.mapping.search.orders.machine import UnrolledProblem
from accnn.passes.mapping.search.orders.orders import OrderSpace
from accnn.passes.mapping.search.orders.spatial import dataflow_unrolling
from tests.thinned import examples, thinned

EYERISS = load_architecture("eyeriss.toml")
ANNEAL = SearchOptions(engine=OrderEngine.ANNEALING)
EXHAUST = SearchOptions(engine=OrderEngine.EXHAUSTIVE)
RESNET34 = {  # those with the fewest orders
    "conv5_skip": Workload(P=7, Q=7, C=256, K=512, stride=(2, 2)),
    "conv4_skip": Workload(P=14, Q=14, C=128, K=256, stride=(2, 2)),
    "fc": Workload(C=512, K=1000),
}


def changed(problem, **changes):
    return replace(problem, problem=replace(problem.problem, **changes))


def problem_of(workload, **settings):
    return UnrolledProblem(
        problem=MappingProblem(
            workload=workload, arch=EYERISS, **{"objective": Objective.ENERGY, **settings}
        ),
        spatial=dataflow_unrolling(workload, EYERISS),
    )


def space_of(problem):
    return OrderSpace.of(problem, loop_prime_factors(problem.temporal))


@pytest.mark.parametrize(("name", "rules"), [*thinned([*RESNET34], [Rules.ACCNN, Rules.ZIGZAG])])
def test_annealing_finds_the_optimum_for_every_seed(name, rules):
    problem = problem_of(RESNET34[name], rules=rules)
    least = search(problem, EXHAUST)
    assert least.evaluations == least.orders <= 1_000_000

    for seed in range(examples(40)):
        found = search(problem, replace(ANNEAL, seed=seed))

        assert found.value == pytest.approx(least.value, rel=1e-12)


@pytest.mark.parametrize("objective", SEARCHED)
def test_all_orders_are_never_beaten_by_annealing(objective):
    problem = problem_of(Workload(R=3, S=3, P=28, Q=4, C=12, K=8), objective=objective)

    assert search(problem, EXHAUST).value <= search(problem, ANNEAL).value * (1 + 1e-12)


@cache
def annealed(objective):
    """Return what annealing finds of a layer, once for all objectives that look at it."""
    workload = Workload(R=3, S=3, P=28, Q=28, C=128, K=128)
    return search(problem_of(workload, objective=objective), ANNEAL)


@pytest.mark.parametrize("objective", SEARCHED)
def test_each_objective_is_truly_searched(objective):
    found = annealed(objective)
    own = objective.of(evaluate(found.nest, EYERISS))

    assert found.value == pytest.approx(own, rel=1e-9)
    for other in SEARCHED:
        elsewhere = annealed(other).nest
        assert own <= objective.of(evaluate(elsewhere, EYERISS)) * (1 + 1e-9)


def test_the_same_seed_gives_the_same_nest_and_any_seed_a_valid_one():
    problem = problem_of(Workload(R=5, S=5, P=26, Q=26, C=48, K=128, G=2))
    short = replace(ANNEAL, restarts=1, descents=0, iterations=50)

    nests = [search(problem, replace(short, seed=seed)).nest for seed in (3, 3, 4)]

    assert nests[0] == nests[1] != nests[2]
    for nest in nests:
        nest.verify(EYERISS)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=examples(15), deadline=None)
def test_any_path_of_swaps_keeps_the_nest_valid(seed):
    rng = random.Random(seed)
    problem = problem_of(Workload(R=3, S=3, P=28, Q=28, C=24, K=10, stride=(2, 2)))
    order = list(loop_prime_factors(problem.temporal))
    for _ in range(rng.randrange(30)):
        i, j = rng.randrange(len(order)), rng.randrange(len(order))
        order[i], order[j] = order[j], order[i]
        nest, value = allocate(problem, order)
        MappingProblem(workload=nest.workload, arch=EYERISS).check(nest)
        assert nest.temporal == tuple(order)
        assert value == pytest.approx(evaluate(nest, EYERISS).energy_pj, rel=1e-9)


def test_equal_loops_are_never_swapped():
    problem = UnrolledProblem(
        problem=MappingProblem(workload=Workload(K=256), arch=EYERISS, objective=Objective.ENERGY),
        spatial=(),
    )
    alike = anneal_once(space_of(problem), ANNEAL, 1, 1000)
    mixed = anneal_once(
        space_of(
            UnrolledProblem(
                problem=MappingProblem(
                    workload=Workload(K=4, C=2), arch=EYERISS, objective=Objective.ENERGY
                ),
                spatial=(),
            )
        ),
        ANNEAL,
        1,
        50,
    )

    assert alike.evaluations == 1
    assert mixed.evaluations > 50
    assert np.all(mixed.visited > 0)


@pytest.mark.parametrize("engine", OrderEngine)
def test_a_workload_without_temporal_loops_has_one_order(engine):
    problem = UnrolledProblem(
        problem=MappingProblem(
            workload=Workload(P=14, R=3), arch=EYERISS, objective=Objective.ENERGY
        ),
        spatial=(SpatialLoop(Dim.P, 14, "column"), SpatialLoop(Dim.R, 3, "row")),
    )

    found = search(problem, SearchOptions(engine=engine))

    assert (found.orders, found.nest.temporal) == (1, ())
    found.nest.verify(EYERISS)


@pytest.mark.parametrize("engine", OrderEngine)
def test_a_memory_too_small_for_one_element_is_infeasible_with_its_cause(engine):
    levels = tuple(
        replace(level, capacity=1) if level.name == "ab" else level for level in EYERISS.levels
    )
    problem = changed(problem_of(Workload(P=4, K=4)), arch=replace(EYERISS, levels=levels))

    with pytest.raises(InfeasibleError, match="one step of the unrolled loops") as info:
        search(problem, SearchOptions(engine=engine))

    assert info.value.shortage is not None
    assert (info.value.shortage.resource, info.value.shortage.capacity) == ("ab", 1)


def test_the_cheaper_engine_is_chosen_by_the_number_of_evaluations():
    options = SearchOptions()
    few = expected_evaluations(12, options)

    assert choose_engine(few, 12, options) is OrderEngine.EXHAUSTIVE
    assert choose_engine(few + 1, 12, options) is OrderEngine.ANNEALING
    assert choose_engine(1, 12, ANNEAL) is OrderEngine.ANNEALING


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"iterations": -1}, "cannot be negative"),
        ({"restarts": 0, "descents": 0}, "at least one restart or descent"),
        ({"temperature": 0.0}, "temperature must be positive"),
        ({"decay": 1.5}, "temperature must be positive, its decay"),
        ({"limit": 0}, "a limit of 0 loops"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(OptionError, match=message):
        SearchOptions(**settings)


def test_the_exhaustive_engine_refuses_what_would_take_days():
    problem = problem_of(Workload(R=3, S=3, P=56, Q=56, C=64, K=64))

    with pytest.raises(OptionError, match="orders, more than"):
        search(problem, EXHAUST)


def test_more_loops_than_there_is_room_for_are_refused():
    problem = UnrolledProblem(
        problem=MappingProblem(workload=Workload(K=2), arch=EYERISS, objective=Objective.ENERGY),
        spatial=(),
    )

    with pytest.raises(OptionError, match=f"{MOST_LOOPS + 1} loops, at most {MOST_LOOPS}"):
        OrderSpace.of(problem, [Loop(Dim.K, 2)] * (MOST_LOOPS + 1))


def test_a_limit_never_finds_better_orders():
    problem = problem_of(RESNET34["conv4_skip"])
    values = [search(problem, replace(EXHAUST, limit=limit)).value for limit in (4, 6, None)]

    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1]


def test_a_users_function_of_the_report_is_minimised():
    problem = problem_of(Workload(R=3, S=3, P=28, Q=28, C=32, K=32))
    options = SearchOptions(iterations=150, restarts=2)

    def objective(report):
        return report.energy_pj * report.cycles**2

    found = search_by(problem, objective, options)
    plain = search(problem, ANNEAL)

    assert found.value == pytest.approx(objective(evaluate(found.nest, EYERISS)))
    assert found.value <= 1.05 * objective(evaluate(plain.nest, EYERISS))
    assert found.evaluations == 2 * 151
    assert search_by(problem, objective, options) == found


def test_a_users_function_cannot_make_the_impossible_fit():
    levels = tuple(
        replace(level, capacity=1) if level.name == "ab" else level for level in EYERISS.levels
    )
    problem = changed(problem_of(Workload(P=4, K=4)), arch=replace(EYERISS, levels=levels))

    with pytest.raises(InfeasibleError):
        search_by(problem, lambda report: report.cycles)


def test_uneven_allocation_is_used_where_it_pays():
    rng = random.Random(1)
    problem = problem_of(Workload(R=3, S=3, P=28, Q=28, C=128, K=128))
    order = list(loop_prime_factors(problem.temporal))
    gains = []
    for _ in range(30):
        rng.shuffle(order)
        uneven, least = allocate(problem, order)
        even, value = allocate(changed(problem, even=True), order)
        gains.append(value / least - 1)
        starts = [
            {item.start for item in nest.allocations if item.level == "gb"}
            for nest in (uneven, even)
        ]
        assert len(starts[1]) == 1
        assert gains[-1] == pytest.approx(0) or len(starts[0]) == 2

    assert min(gains) > -1e-12
    assert max(gains) > 0.01

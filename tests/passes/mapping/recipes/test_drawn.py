import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.errors import OptionError
from accnn.ir.workload import Operand, Workload
from accnn.passes.analysis.cost import evaluate
from accnn.passes.mapping.mapper import MappingStatus
from accnn.passes.mapping.problem import SEARCHED, MappingProblem, Objective
from accnn.passes.mapping.recipes.drawn import Exhaustive, RandomBest, RandomPruned
from accnn.passes.mapping.registry import MAPPERS, find_mapper
from accnn.passes.mapping.search.even.draws import draw_filling, draw_uniform
from accnn.passes.mapping.search.even.local_search import polish
from accnn.passes.mapping.search.even.space import even_space, prime_factors, with_all_orders
from accnn.passes.mapping.search.measures import smooth_measure
from accnn.passes.mapping.search.uneven import improve_unevenly

ARCH = load_architecture("simba.toml")
WORK = Workload(R=3, S=3, P=14, Q=14, C=32, K=48)
NONE = frozenset()


@given(st.integers(1, 10**6))
def test_prime_factors_multiply_to_the_number(number):
    factors = prime_factors(number)

    assert math.prod(prime**many for prime, many in factors) == number
    assert all(prime_factors(prime) == ((prime, 1),) for prime, _ in factors)


@pytest.mark.parametrize("draw", [draw_uniform, draw_filling])
def test_drawn_mappings_compute_the_whole_workload(draw):
    space = even_space(MappingProblem(workload=WORK, arch=ARCH))

    batch = draw(space, 50, np.random.default_rng(1)).nests()

    assert all(batch.nest(row).extents == WORK.dims for row in range(50))


def test_what_fits_in_a_batch_passes_the_verifier():
    space = even_space(MappingProblem(workload=WORK, arch=ARCH))
    batch = draw_filling(space, 300, np.random.default_rng(2))
    fitting = np.flatnonzero(batch.cost().fits)

    for row in fitting[:10]:
        nest = batch.nest(int(row))
        assert evaluate(nest, ARCH).cycles == batch.cost().cycles[row]

    assert len(fitting) >= 3


@pytest.mark.parametrize("objective", SEARCHED)
def test_local_search_is_never_worse_and_repairs_what_does_not_fit(objective):
    space = even_space(MappingProblem(workload=WORK, arch=ARCH))
    start = draw_uniform(space, 1, np.random.default_rng(3))
    measure = objective.of

    found = polish(start, measure)
    again = polish(found.batch, measure)

    assert found.batch.cost().fits[0]
    assert found.values[0] == measure(found.batch.cost())[0]
    assert again.values[0] == found.values[0]
    orders = with_all_orders(start).cost()
    assert found.values[0] <= np.where(orders.fits, measure(orders), np.inf).min()


def test_searches_from_several_starts_do_not_disturb_each_other():
    space = even_space(MappingProblem(workload=WORK, arch=ARCH))
    starts = draw_uniform(space, 3, np.random.default_rng(4))
    measure = Objective.LATENCY.of

    together = polish(starts, measure)
    alone = [polish(starts.take([row]), measure) for row in range(3)]

    assert together.values.tolist() == [found.values[0] for found in alone]
    assert together.values[together.best] == together.values.min()


def test_smooth_measure_is_close_to_the_exact_one_and_above():
    space = even_space(MappingProblem(workload=WORK, arch=ARCH))
    cost = draw_filling(space, 500, np.random.default_rng(4)).cost()
    exact, smooth = Objective.LATENCY.of(cost), smooth_measure(Objective.LATENCY)(cost)

    assert (smooth >= exact * (1 - 1e-9)).all()
    assert (smooth <= exact * 1.4).all()


def test_uneven_search_is_never_worse_and_stays_valid():
    problem = MappingProblem(workload=WORK, arch=ARCH)
    nest = RandomBest().map(problem).nest
    before = evaluate(nest, ARCH).cycles

    better = improve_unevenly(nest, problem, Objective.LATENCY.of)

    better.verify(ARCH)
    assert evaluate(better, ARCH).cycles <= before
    assert better.extents == nest.extents


def test_random_search_is_seeded_and_more_evaluations_do_not_hurt():
    few = RandomPruned().map(MappingProblem(workload=WORK, arch=ARCH, evaluations=20_000))
    more = RandomPruned().map(MappingProblem(workload=WORK, arch=ARCH, evaluations=60_000))
    other = RandomBest().map(MappingProblem(workload=WORK, arch=ARCH, seed=1))

    assert few == RandomPruned().map(MappingProblem(workload=WORK, arch=ARCH, evaluations=20_000))
    assert more.objective <= few.objective
    assert other != RandomBest().map(MappingProblem(workload=WORK, arch=ARCH))


def test_exhaustive_search_beats_everything_drawn():
    work = Workload(P=2, C=4, K=2)

    best = Exhaustive().map(MappingProblem(workload=work, arch=ARCH))

    assert best.status is MappingStatus.OPTIMAL
    space = even_space(MappingProblem(workload=work, arch=ARCH))
    cost = draw_uniform(space, 3000, np.random.default_rng(5)).cost()
    assert best.objective <= cost.cycles[cost.fits].min()


def test_exhaustive_search_refuses_large_spaces():
    with pytest.raises(OptionError, match=r"mappings, more than 3000000"):
        Exhaustive().map(MappingProblem(workload=WORK, arch=ARCH))


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(sorted(set(MAPPERS) & {"output-stationary", "random", "random-pruned"})))
def test_every_mapper_respects_residency(name):
    resident = frozenset({Operand.I, Operand.O})

    result = find_mapper(name).map(
        MappingProblem(
            workload=WORK, arch=ARCH, workspace=64, resident=resident, evaluations=20_000
        )
    )

    assert result.nest.bytes_at(ARCH, "gb") == ()
    assert not result.nest.holds_psums(ARCH, "gb")

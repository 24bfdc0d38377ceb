"""Timeloop's hybrid search: its threads, its sweeps, when it ends, and what it can find."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.mapping import SpatialLoop
from accnn.ir.workload import Dim, Workload
from accnn.passes.mapping.mapper import MappingStatus
from accnn.passes.mapping.problem import SEARCHED, MappingProblem, Objective
from accnn.passes.mapping.recipes.drawn import Exhaustive, RandomBest, assignments
from accnn.passes.mapping.recipes.timeloop_hybrid import TimeloopHybrid, distinct_orders
from accnn.passes.mapping.search.even.draws import draw_factorisations
from accnn.passes.mapping.search.even.space import EvenBatch, even_space, with_all_orders
from tests.thinned import thinned

ARCH = load_architecture("simba.toml")
WORK = Workload(R=3, S=3, P=14, Q=14, C=32, K=48)
PROBLEM = MappingProblem(workload=WORK, arch=ARCH)
SMALL = (Workload(P=2, C=4, K=2), Workload(N=2, Q=2, K=3), Workload(K=5))
SHORT = TimeloopHybrid(threads=4, victory=40)


def evaluations(note: str) -> tuple[int, int]:
    """Return the valid mappings and the samples of a note."""
    words = note.split()
    return int(words[0]), int(words[3])


@pytest.mark.parametrize(("work", "objective"), [*thinned(SMALL, SEARCHED, one_in=3)])
def test_finds_the_optimum_of_small_workloads(work: Workload, objective: Objective):
    problem = MappingProblem(workload=work, arch=ARCH, objective=objective)

    found = TimeloopHybrid(threads=4).map(problem)

    assert found.objective == pytest.approx(Exhaustive().map(problem).objective)
    assert found.status is MappingStatus.HEURISTIC
    assert found.bound is None


@pytest.mark.parametrize("objective", SEARCHED)
def test_its_nest_passes_the_verifier_and_costs_what_it_says(objective: Objective):
    problem = replace(PROBLEM, objective=objective)

    found = SHORT.map(problem)

    problem.check(found.nest)
    assert problem.value(found.nest) == pytest.approx(found.objective)


def test_follows_from_the_seed():
    other = SHORT.map(replace(PROBLEM, seed=1))

    assert SHORT.map(PROBLEM) == SHORT.map(PROBLEM)
    assert SHORT.map(PROBLEM) != other


def test_is_better_than_five_draws_and_no_better_than_the_bound():
    found = SHORT.map(PROBLEM)

    assert found.objective < RandomBest().map(PROBLEM).objective
    assert found.objective >= PROBLEM.bound


def test_every_thread_ends_after_as_many_mappings_in_vain():
    valid, samples = evaluations(SHORT.map(PROBLEM).note)
    more, _ = evaluations(replace(SHORT, victory=80).map(PROBLEM).note)

    assert samples > valid >= 4 * (40 + 1)
    assert more >= 4 * (80 + 1)
    assert more > valid


def test_one_thread_without_patience_takes_the_first_that_is_followed_by_a_worse_one():
    valid, _ = evaluations(replace(SHORT, threads=1, victory=1).map(PROBLEM).note)

    assert 2 <= valid < 50


def test_more_patience_does_not_hurt():
    values = [
        replace(SHORT, victory=victory).map(PROBLEM).objective for victory in (1, 10, 40, 100)
    ]

    assert values == sorted(values, reverse=True)


def test_evaluations_end_the_search():
    valid, _ = evaluations(SHORT.map(replace(PROBLEM, evaluations=50)).note)

    assert valid == 50 < evaluations(SHORT.map(PROBLEM).note)[0]


def test_threads_that_see_nothing_valid_give_up():
    impossible = replace(PROBLEM, workload=Workload(R=211, S=211, P=211, K=211))

    with pytest.raises(InfeasibleError, match=r"none of \d+ random factorisations fits"):
        replace(SHORT, timeout=2).map(impossible)


def test_threads_have_factorisations_of_their_own():
    space = even_space(MappingProblem(workload=Workload(K=5), arch=ARCH))

    assert assignments(space) < 16
    assert replace(SHORT, threads=32).map(space.problem) == SHORT.map(space.problem)


def test_factorisations_are_drawn_alike():
    space = even_space(MappingProblem(workload=Workload(K=4, N=3), arch=ARCH))
    batch = draw_factorisations(space, 40_000, np.random.default_rng(0))

    table = np.concatenate([batch.temporal.reshape(len(batch), -1), batch.spatial], axis=1)
    counted = Counter(map(bytes, table))

    _, first = np.unique(table, axis=0, return_index=True)
    nests = batch.take(first).nests()
    assert len(counted) == len(nests) == assignments(space)
    assert all(nests.nest(row).extents == space.extents for row in range(len(nests)))
    assert min(counted.values()) > 0.6 * 40_000 / len(counted)
    assert max(counted.values()) < 1.5 * 40_000 / len(counted)


def costs(batch: EvenBatch) -> set[tuple[float, float, bool]]:
    cost = batch.cost()
    rows = zip(cost.cycles.round(6), cost.energy_pj.round(3), cost.fits, strict=True)
    return {(float(cycles), float(energy), bool(fits)) for cycles, energy, fits in rows}


def test_orders_that_are_left_out_cost_what_others_cost():
    space = even_space(PROBLEM)
    drawn = draw_factorisations(space, 400, np.random.default_rng(3))
    drawn = drawn.take(np.flatnonzero(drawn.cost().overflow <= 4.0))

    fewer = 0
    for row in range(len(drawn)):
        one = drawn.take([row])
        swept, of = distinct_orders(one)
        fewer += len(with_all_orders(one)) - len(swept)
        assert costs(swept) == costs(with_all_orders(one))
        assert (of == 0).all()

    assert len(drawn) >= 5
    assert fewer >= len(drawn)


def test_unrolls_what_is_given_and_pads_for_it():
    spatial = (SpatialLoop(Dim.C, 8, "mac"), SpatialLoop(Dim.K, 10, "pe"))

    found = SHORT.map(replace(PROBLEM, spatial=spatial))

    PROBLEM.check(found.nest)
    assert set(found.nest.spatial) == set(spatial)
    assert found.nest.extents == {**WORK.dims, Dim.K: 50}


def test_chooses_what_to_unroll_where_nothing_is_given():
    found = SHORT.map(PROBLEM)

    assert found.nest.spatial
    assert found.nest.extents == WORK.dims

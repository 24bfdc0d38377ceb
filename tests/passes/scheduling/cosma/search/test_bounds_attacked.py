"""Random plans, made step by step without a look at any bound, against what COSMA proves."""

import random

import pytest
from hypothesis import Phase, given, settings

from accnn.passes.scheduling.cosma import solve as solving
from accnn.passes.scheduling.cosma.problem import PlanProblem
from accnn.passes.scheduling.cosma.solve import CosmaOptions, PlanEngine, solve
from tests.passes.scheduling.cosma.oracle import brute_force, problems, random_plan
from tests.thinned import examples

_WALKS = 30


def least_of_random_plans(problem: PlanProblem) -> int:
    rng = random.Random(0)
    costs = (random_plan(problem, rng) for _ in range(_WALKS))
    return min((cost for cost in costs if cost is not None), default=brute_force(problem))


def assert_no_plan_beats_the_bound(problem: PlanProblem, options: CosmaOptions) -> None:
    solution = solving.solve(problem, options)
    assert solution.bound <= least_of_random_plans(problem)
    assert solution.bound <= solution.cost


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(problems(most=7, slack=3))
def test_no_plan_of_whole_tensors_beats_a_bound(problem: PlanProblem):
    for nodes in (3, 100_000):
        assert_no_plan_beats_the_bound(
            problem, CosmaOptions(engine=PlanEngine.SEARCH, search_nodes=nodes)
        )


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(problems(most=5, menus=True))
def test_no_plan_of_a_menu_beats_a_bound(problem: PlanProblem):
    for nodes in (3, 100_000):
        assert_no_plan_beats_the_bound(
            problem, CosmaOptions(engine=PlanEngine.SEARCH, search_nodes=nodes)
        )


@settings(max_examples=10, deadline=None, derandomize=True)
@given(problems(most=4, slack=2))
def test_no_plan_beats_the_bound_of_the_program(problem: PlanProblem):
    assert_no_plan_beats_the_bound(problem, CosmaOptions(engine=PlanEngine.ILP))


def test_the_attack_notices_one_byte_too_much(monkeypatch: pytest.MonkeyPatch):
    def lying(problem: PlanProblem, options: CosmaOptions):
        found = solve(problem, options)
        return type(found)(
            plan=found.plan,
            addresses=found.addresses,
            status=found.status,
            cost=found.cost + 1,
            bound=found.bound + 1,
        )

    monkeypatch.setattr(solving, "solve", lying)

    @settings(max_examples=60, deadline=None, derandomize=True, phases=[Phase.generate])
    @given(problems(most=5, slack=3))
    def attack(problem: PlanProblem):
        assert_no_plan_beats_the_bound(problem, CosmaOptions(engine=PlanEngine.SEARCH))

    with pytest.raises(AssertionError):
        attack()

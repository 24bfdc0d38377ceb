import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings

from accnn.ir.errors import OptionError
from accnn.ir.graph_schedule import SolveStatus
from accnn.models.graphs import deeplabv3, r2plus1d, resnet50
from accnn.passes.mip import Solver
from accnn.passes.scheduling.cosma.budgets import budgets_of
from accnn.passes.scheduling.cosma.plan import plan_of
from accnn.passes.scheduling.cosma.problem import Option, PlanProblem, problem_of
from accnn.passes.scheduling.cosma.program.literal import solve_literal
from accnn.passes.scheduling.cosma.program.reduced import solve_peak, solve_reduced
from accnn.passes.scheduling.cosma.search.best_first import search
from accnn.passes.scheduling.cosma.search.divide import divide
from accnn.passes.scheduling.cosma.search.moves import MoveTable
from accnn.passes.scheduling.cosma.search.peak import least_peak
from accnn.passes.scheduling.cosma.solve import CosmaOptions, PlanEngine, PlanOrder, solve
from tests.thinned import examples

from ..oracle import brute_force, problems


@settings(max_examples=examples(25), deadline=None)
@given(problems(most=5, slack=2))
def test_the_reduced_program_finds_what_brute_force_finds(problem: PlanProblem):
    result = solve_reduced(problem)

    assert result.status is SolveStatus.OPTIMAL
    assert result.cost == result.bound == brute_force(problem)


@settings(max_examples=examples(25), deadline=None)
@given(problems(most=5, menus=True))
def test_the_reduced_program_chooses_options_as_brute_force_does(problem: PlanProblem):
    assert solve_reduced(problem.restrict_menus()).cost == brute_force(problem)


@settings(max_examples=examples(25), deadline=None)
@given(problems(most=5, menus=True, slack=2, in_place=True))
def test_the_reduced_program_writes_results_in_place_as_brute_force_does(problem: PlanProblem):
    assert solve_reduced(problem.restrict_menus()).cost == brute_force(problem)


@settings(max_examples=examples(12), deadline=None)
@given(problems(most=5, slack=1))
def test_the_literal_program_never_beats_the_reduced_one(problem: PlanProblem):
    reduced, literal = solve_reduced(problem), solve_literal(problem)

    assert literal.status is SolveStatus.OPTIMAL
    assert literal.cost >= reduced.cost
    if literal.cost > reduced.cost:
        assert literal.plan is not None


@settings(max_examples=10, deadline=None)
@given(problems(most=5, slack=2, menus=True))
def test_cbc_agrees_with_highs(problem: PlanProblem):
    problem = problem.restrict_menus()

    highs, cbc = (solve_reduced(problem, solver=solver, same=True) for solver in Solver)

    assert highs.status is cbc.status is SolveStatus.OPTIMAL
    assert highs.cost == highs.bound == cbc.cost == solve_reduced(problem).cost
    assert highs.plan is not None
    assert highs.plan.cost == highs.cost
    assert highs.plan == cbc.plan


@settings(max_examples=examples(20), deadline=None)
@given(problems(most=5, slack=2, menus=True))
def test_a_known_plan_is_taken_where_it_is_optimal(problem: PlanProblem):
    problem = problem.restrict_menus()
    in_order = solve(problem, CosmaOptions(order=PlanOrder.GIVEN)).plan

    for known in (plan_of(problem, search(MoveTable(problem)).moves), in_order):
        found = solve_reduced(problem, known=known)

        assert found.cost == brute_force(problem)
        assert (found.plan is known) == (known.cost == found.cost)


@settings(max_examples=examples(5), deadline=None)
@given(problems(most=4, slack=2))
def test_cbc_agrees_with_highs_on_addresses(problem: PlanProblem):
    highs, cbc = (solve_literal(problem, solver=solver, same=True) for solver in Solver)

    assert highs.status is cbc.status is SolveStatus.OPTIMAL
    assert highs.plan is not None
    assert highs.plan == cbc.plan
    assert highs.addresses == cbc.addresses
    blocks = list(zip(highs.plan.blocks, highs.addresses, strict=True))
    for (one, low), (other, high) in itertools.combinations(blocks, 2):
        if one.first <= other.last and other.first <= one.last:
            assert low + one.bytes <= high or high + other.bytes <= low
    assert all(0 <= at <= problem.budget - block.bytes for block, at in blocks)


@settings(max_examples=10, deadline=None)
@given(problems(most=5, slack=2, menus=True))
def test_both_solvers_give_the_same_plan(problem: PlanProblem):
    highs, cbc = (
        solve(problem, CosmaOptions(engine=PlanEngine.ILP, solver=solver)) for solver in Solver
    )

    assert highs == cbc


@settings(max_examples=10, deadline=None)
@given(problems(most=5, slack=2, menus=True))
def test_both_solvers_give_the_same_plan_where_no_search_has_one(problem: PlanProblem):
    options = CosmaOptions(engine=PlanEngine.ILP, search_nodes=0)

    highs, cbc = (solve(problem, replace(options, solver=solver)) for solver in Solver)

    assert highs == cbc


@settings(max_examples=examples(15), deadline=None)
@given(problems(most=5))
def test_the_least_peak_is_that_of_the_program(problem: PlanProblem):
    peak, _, proven = least_peak(problem)

    assert proven
    assert solve_peak(problem) == (peak, peak)


def test_the_literal_program_agrees_on_a_network():
    graph = r2plus1d()
    problem = problem_of(graph, budgets_of(graph).mr)
    whole = search(MoveTable(problem))

    pieces = [solve_literal(piece.problem) for piece in divide(problem)]

    assert all(piece.status is SolveStatus.OPTIMAL for piece in pieces)
    assert sum(piece.cost for piece in pieces) == whole.cost


@pytest.mark.parametrize("network", [resnet50, deeplabv3])
def test_the_reduced_program_agrees_on_networks_with_parameters(network):
    graph = network()
    budgets = budgets_of(graph, include_parameters=True)
    problem = problem_of(graph, budgets.mr, include_parameters=True)
    whole = search(MoveTable(problem))

    cost = sum(solve_reduced(piece.problem).cost for piece in divide(problem))

    assert cost == whole.cost > problem.compulsory


def test_a_fixed_order_costs_no_less():
    graph = deeplabv3()
    problem = problem_of(graph, budgets_of(graph).mr)

    fixed = solve_reduced(problem, order=range(len(problem.operations)))

    assert fixed.status is SolveStatus.OPTIMAL
    assert fixed.cost >= search(MoveTable(problem)).cost


@settings(max_examples=examples(25), deadline=None)
@given(problems(most=5, slack=2))
def test_operators_that_stand_in_order_have_that_order_in_every_program(problem: PlanProblem):
    given_order = range(len(problem.operations))
    ordered = replace(problem, is_ordered=True)

    fixed = solve_reduced(problem, order=given_order).cost
    found = solve(problem, CosmaOptions(order=PlanOrder.GIVEN))

    assert solve_reduced(ordered).cost == fixed
    assert search(MoveTable(ordered)).cost == fixed
    assert sum(search(MoveTable(piece.problem)).cost for piece in divide(ordered)) == fixed
    assert found.bound == fixed >= brute_force(problem)
    assert [op for op, _, _ in found.plan.steps] == list(given_order)


@settings(max_examples=1, deadline=None)
@given(problems(most=2))
def test_the_literal_program_refuses_menus(problem: PlanProblem):
    first = problem.operations[0]
    menu = (Option(streamed=((first.reads[0], 1),), workspace=1),)
    changed = replace(problem, operations=(replace(first, menu=menu),))

    with pytest.raises(OptionError, match="has no streaming"):
        solve_literal(changed)
    over = replace(problem, operations=(replace(first, replaces=first.reads[:1]),))
    with pytest.raises(OptionError, match="no results in the place of operands"):
        solve_literal(over)

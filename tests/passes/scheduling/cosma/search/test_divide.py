from hypothesis import given, settings

from accnn.models.graphs import resnet50
from accnn.passes.scheduling.cosma.plan import plan_of, replay
from accnn.passes.scheduling.cosma.problem import PlanProblem, problem_of
from accnn.passes.scheduling.cosma.search.best_first import search
from accnn.passes.scheduling.cosma.search.divide import break_nodes, divide, join
from accnn.passes.scheduling.cosma.search.moves import MoveTable
from tests.thinned import examples

from ..oracle import problems


@settings(max_examples=examples(200), deadline=None)
@given(problems(most=8))
def test_pieces_cost_what_the_whole_costs(problem: PlanProblem):
    pieces = divide(problem)
    results = [search(MoveTable(piece.problem)) for piece in pieces]

    assert sum(result.cost for result in results) == search(MoveTable(problem)).cost
    assert len(pieces) == len(break_nodes(problem)) + 1


@settings(max_examples=100, deadline=None)
@given(problems(most=8))
def test_joined_plans_are_plans_of_the_whole(problem: PlanProblem):
    pieces = divide(problem)
    steps = [
        plan_of(piece.problem, search(MoveTable(piece.problem)).moves).steps for piece in pieces
    ]

    plan = replay(problem, join(pieces, steps))

    assert sorted(plan.order) == list(range(len(problem.operations)))


def test_resnet_divides_at_its_blocks():
    problem = problem_of(resnet50(), 1 << 22)

    assert len(divide(problem)) > 16

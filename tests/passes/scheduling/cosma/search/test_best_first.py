import math

import hypothesis.strategies as st
import pytest
from hypothesis import Phase, given, settings

from accnn.ir.graph_schedule import SolveStatus
from accnn.models.graphs import r2plus1d, transformer, vit
from accnn.passes.scheduling.cosma.problem import Operation, PlanProblem, Tensor, problem_of
from accnn.passes.scheduling.cosma.search.best_first import beam_search, search
from accnn.passes.scheduling.cosma.search.bounds import WallBound
from accnn.passes.scheduling.cosma.search.moves import MoveTable, PlanState
from tests.thinned import examples

from ..oracle import brute_force, corridors, forks, problems


@settings(max_examples=examples(150), deadline=None)
@given(problems(most=6))
def test_the_search_finds_what_brute_force_finds(problem: PlanProblem):
    result = search(MoveTable(problem))

    assert result.status is SolveStatus.OPTIMAL
    assert result.cost == result.bound == brute_force(problem)


@settings(max_examples=20, deadline=None)
@given(problems(most=8, slack=1))
def test_the_search_finds_what_brute_force_finds_on_larger_graphs(problem: PlanProblem):
    assert search(MoveTable(problem)).cost == brute_force(problem)


@settings(max_examples=examples(100), deadline=None)
@given(problems(most=5, menus=True))
def test_the_search_chooses_options_as_brute_force_does(problem: PlanProblem):
    assert search(MoveTable(problem)).cost == brute_force(problem)


@settings(max_examples=examples(150), deadline=None)
@given(problems(most=6, slack=2, in_place=True))
def test_results_in_the_place_of_operands_are_found_as_brute_force_does(problem: PlanProblem):
    problem.verify()

    assert search(MoveTable(problem)).cost == brute_force(problem)


@settings(max_examples=examples(100), deadline=None)
@given(problems(most=5, menus=True, slack=2, in_place=True))
def test_so_they_are_where_tensors_may_be_streamed(problem: PlanProblem):
    assert search(MoveTable(problem)).cost == brute_force(problem)


def assert_no_plan_beats_the_walls(problem: PlanProblem) -> None:
    """Compare with the optimum at its start and after each of its steps."""
    table = MoveTable(problem)
    bound = WallBound(table)
    result = search(table)
    left = result.cost

    assert bound(table.start()) <= left
    for move in result.moves:
        left -= move.cost
        assert bound(move.after) <= left


@settings(max_examples=100, deadline=None)
@given(problems(most=6, slack=1) | problems(most=6, slack=1, in_place=True))
def test_the_bound_of_the_walls_never_exceeds_the_optimum(problem: PlanProblem):
    assert_no_plan_beats_the_walls(problem)


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(forks())
def test_what_several_operators_need_again_behind_a_wall_is_fetched_once(problem: PlanProblem):
    assert WallBound(MoveTable(problem))(MoveTable(problem).start()) <= brute_force(problem)
    assert_no_plan_beats_the_walls(problem)


def corridor_with_a_side(length: int) -> PlanProblem:
    """Return a chain that fills the scratchpad, and operators from its input to its end.

    That input is not read any more when the first two operators run that leave no room for it.
    """
    chain = {"k": "x", "m": "k", "v": "m", "w": "v"}
    names = [f"side{index}" for index in range(length)]
    reads = {name: (source,) for name, source in zip(names, ("x", *names), strict=False)}
    reads = {**{name: (source,) for name, source in chain.items()}, **reads}
    reads["y"] = ("k", "w", names[-1])
    numbers = {name: index for index, name in enumerate(("x", *reads))}
    tensors = tuple(
        Tensor(
            name=name,
            bytes=8 if name in ("m", "v", "w") else 2,
            on_host=name == "x",
            is_output=name == "y",
        )
        for name in numbers
    )
    operations = tuple(
        Operation(name=name, reads=tuple(map(numbers.__getitem__, read)), writes=(numbers[name],))
        for name, read in reads.items()
    )
    return PlanProblem(name="side", tensors=tensors, operations=operations, budget=16)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_what_may_be_made_again_behind_walls_from_what_is_fetched_is_paid_for_once(length: int):
    problem = corridor_with_a_side(length)
    table = MoveTable(problem)
    bound, result, left = WallBound(table), search(table), brute_force(problem)

    assert result.cost == left
    assert bound(table.start()) <= left
    for move in result.moves:
        left -= move.cost
        assert bound(move.after) <= left


def test_what_one_operator_needs_again_behind_a_wall_is_mostly_proven():
    exact: list[bool] = []

    @settings(max_examples=150, deadline=None, derandomize=True, phases=[Phase.generate])
    @given(forks(sides=("side",)))
    def compare(problem: PlanProblem):
        bound = WallBound(MoveTable(problem))
        if bound._walls:
            exact.append(bound(MoveTable(problem).start()) == brute_force(problem))

    compare()
    assert sum(exact) >= 0.8 * len(exact)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(corridors())
def test_where_nothing_is_left_to_choose_the_walls_prove_it_all(problem: PlanProblem):
    table = MoveTable(problem)
    bound, left = WallBound(table), brute_force(problem)

    assert bound(table.start()) == left
    for move in search(table).moves:
        left -= move.cost
        assert bound(move.after) == left


def plain_beam(table: MoveTable, bound: WallBound, width: int) -> int | None:
    """Return what a beam finds that looks at every move, and keeps the cheapest of all states."""
    layer = {table.start(): 0}
    for _ in table.problem.operations:
        costs: dict[PlanState, int] = {}
        for state, cost in layer.items():
            for move in table.moves(state):
                costs[move.after] = min(cost + move.cost, costs.get(move.after, math.inf))
        order = sorted(
            costs, key=lambda at: (costs[at] + bound(at), table.room_of(at.resident), at)
        )
        layer = {state: costs[state] for state in order[:width]}
    return min(layer.values(), default=None)


@settings(max_examples=examples(300), deadline=None)
@given(problems(most=8, menus=True, slack=2, in_place=True) | problems(most=8), st.integers(1, 9))
def test_moves_that_a_beam_leaves_out_lead_to_nothing_that_is_kept(
    problem: PlanProblem, width: int
):
    table = MoveTable(problem)
    bound = WallBound(table)

    moves = beam_search(table, bound, width=width)

    found = sum(move.cost for move in moves) if moves else None
    assert found == plain_beam(MoveTable(problem), bound, width)


@settings(max_examples=examples(200), deadline=None)
@given(problems(most=6, menus=True, slack=2, in_place=True), st.integers(0, 60))
def test_moves_that_cost_more_than_is_wanted_are_left_out(problem: PlanProblem, most: int):
    """Never one that costs less; and there are problems where some are."""
    table = MoveTable(problem)
    if not WallBound(table).is_of_moves:
        return
    for state in (table.start(), *(move.after for move in search(table).moves)):
        every, some = table.moves(state), table.moves(state, most)

        wanted = [item for item in every if item.cost + table.at_least(item.after) <= most]
        assert [item for item in some if item in wanted] == wanted
        assert all(item in every for item in some)


def test_a_beam_leaves_moves_out():
    """A narrow one, that knows soon what is too much."""
    graph = transformer()
    table = MoveTable(problem_of(graph, problem_of(graph, 0).minimum))
    state, least = table.start(), 10**9
    for _ in range(4):
        moves = table.moves(state)
        state, least = moves[0].after, min(least, moves[0].cost + table.at_least(moves[0].after))

    assert len(table.moves(table.start(), least - 1)) < len(table.moves(table.start()))


@pytest.mark.parametrize(
    ("made", "has_limits"),
    [
        (problems(most=6, menus=True, slack=1), {True: {False, True}}),
        (forks(), {True: {False, True}, False: {False}}),
    ],
)
def test_full_beams_say_what_is_too_much(
    monkeypatch: pytest.MonkeyPatch,
    made: st.SearchStrategy[PlanProblem],
    has_limits: dict[bool, set[bool]],
):
    """But not where states are kept by a bound that is not the table's."""
    usual, limits = MoveTable.moves, dict[bool, set[bool]]()

    @settings(max_examples=60, deadline=None, derandomize=True, phases=[Phase.generate])
    @given(made)
    def look(problem: PlanProblem):
        table = MoveTable(problem)
        bound = WallBound(table)

        def noted(table: MoveTable, state: PlanState, most: float = math.inf) -> object:
            limits.setdefault(bound.is_of_moves, set()).add(math.isfinite(most))
            return usual(table, state, most)

        with monkeypatch.context() as patch:
            patch.setattr(MoveTable, "moves", noted)
            beam_search(table, bound, width=2)

    look()
    assert limits == has_limits


def test_without_nodes_there_is_still_a_plan_and_a_bound():
    graph = transformer()
    table = MoveTable(problem_of(graph, problem_of(graph, 0).minimum))

    result = search(table, node_limit=10, beam=5)

    assert result.status is SolveStatus.FEASIBLE
    assert 0 < result.bound < result.cost


def test_a_wider_beam_is_a_plan_too():
    graph = vit()
    table = MoveTable(problem_of(graph, problem_of(graph, 0).minimum))

    moves = beam_search(table, WallBound(table), width=30)

    assert sum(move.cost for move in moves) >= search(table).cost


def test_the_residual_of_r2plus1d_goes_out_and_back_four_times():
    graph = r2plus1d()
    problem = problem_of(graph, problem_of(graph, 0).minimum)

    result = search(MoveTable(problem))

    assert result.cost - problem.compulsory == 4 * 64 * 16 * 112 * 112


def test_walls_prove_the_transformer():
    graph = transformer()
    problem = problem_of(graph, problem_of(graph, 0).minimum)

    result = search(MoveTable(problem))

    assert result.status is SolveStatus.OPTIMAL
    assert result.cost - problem.compulsory == 4_915_200

"""What COSMA decides on: what tensors and operators of a problem take and cost, by hand."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings

from accnn.ir.errors import InfeasibleError, VerifyError
from accnn.passes.scheduling.cosma.plan import Stay, replay
from accnn.passes.scheduling.cosma.problem import (
    Operation,
    Option,
    PlanProblem,
    Tensor,
    problem_of,
)
from accnn.passes.scheduling.cosma.solve import CosmaOptions, PlanEngine, solve
from tests.networks import NetworkBuilder
from tests.passes.scheduling.cosma.oracle import problems

X, ONCE, T, Y, DEAD = range(5)

TENSORS = (
    Tensor(name="x", bytes=1, on_host=True),  # read twice
    Tensor(name="once", bytes=10, on_host=True),
    Tensor(name="t", bytes=100),
    Tensor(name="y", bytes=1000, is_output=True),
    Tensor(name="dead", bytes=10_000),
)
STREAMING = Option(streamed=((X, 7), (ONCE, 30)), workspace=5, constant_bytes=200, delay=3000)
FIRST = Operation(name="t", reads=(X, ONCE, X), writes=(T, DEAD), menu=(Option(), STREAMING))
LAST = Operation(name="y", reads=(T, X), writes=(Y,), menu=(Option(), Option(streamed=((Y, 2),))))
PROBLEM = PlanProblem(name="p", tensors=TENSORS, operations=(FIRST, LAST), budget=20_000)
UNREAD = replace(PROBLEM, tensors=(*TENSORS, Tensor(name="unread", bytes=9, on_host=True)))
HOSTED = replace(TENSORS[X], is_output=True)


def test_who_makes_and_reads_what() -> None:
    assert PROBLEM.producer == (None, None, 0, 1, 0)
    assert PROBLEM.consumers == ((0, 0, 1), (0,), (1,), (), ())
    assert PROBLEM.predecessors == (frozenset(), frozenset({0}))


def test_in_one_order_each_operator_waits_for_the_one_before() -> None:
    apart = replace(PROBLEM, operations=(FIRST, replace(LAST, reads=(X,))))

    assert apart.predecessors == (frozenset(), frozenset())
    assert replace(apart, is_ordered=True).predecessors == (frozenset(), frozenset({0}))
    one = replace(apart, operations=(FIRST,), is_ordered=True)
    assert one.predecessors == (frozenset(),)


def test_what_matters_to_one_operator_only() -> None:
    private = [PROBLEM.is_private(tensor) for tensor in range(5)]

    assert private == [False, True, False, True, True]
    assert UNREAD.is_private(5)


def test_what_each_option_takes_and_costs() -> None:
    whole, streamed = FIRST.menu

    assert PROBLEM.footprint(0, whole) == 1 + 10 + 100 + 10_000
    assert PROBLEM.footprint(0, streamed) == 5 + 100 + 10_000
    assert PROBLEM.held(0, whole) == 10 + 10_000
    assert PROBLEM.held(0, streamed) == 5 + 10_000
    assert PROBLEM.held(1, LAST.menu[0]) == 1000
    assert PROBLEM.step_cost(0, whole) == 10
    assert PROBLEM.step_cost(0, streamed) == 37 + 200 + 3000
    assert [PROBLEM.step_cost(1, option) for option in LAST.menu] == [1000, 2]
    assert PROBLEM.minimum == 10_111


def test_what_every_plan_moves() -> None:
    assert PROBLEM.compulsory == 1 + 10 + 1000
    assert UNREAD.compulsory == PROBLEM.compulsory  # what nobody reads remains where it is
    hosted = replace(PROBLEM, tensors=(HOSTED, *TENSORS[1:]))
    assert hosted.compulsory == PROBLEM.compulsory  # off chip from the start


def test_what_is_always_streamed() -> None:
    menu = (STREAMING, Option(streamed=((X, 9),), workspace=1))
    twice = replace(PROBLEM, operations=(replace(FIRST, menu=menu), replace(LAST, menu=())))

    assert [PROBLEM.always_streamed(op) for op in range(2)] == [frozenset(), frozenset()]
    assert [twice.always_streamed(op) for op in range(2)] == [frozenset({X}), frozenset()]


def test_menus_are_cut_to_what_fits() -> None:
    exact = replace(PROBLEM, budget=10_111)

    assert exact.restrict_menus() == exact
    (first, last) = replace(PROBLEM, budget=10_110).restrict_menus().operations
    assert first.menu == (STREAMING,)
    assert last.menu == LAST.menu


def test_what_does_not_fit_at_all_is_listed() -> None:
    with pytest.raises(InfeasibleError, match="%t does not fit") as error:
        replace(PROBLEM, budget=10_104).restrict_menus()

    shortage = error.value.shortage
    assert shortage is not None
    assert (shortage.demand, shortage.capacity) == (10_105, 10_104)
    assert shortage.terms == (("t", 100), ("dead", 10_000), ("workspace", 5))
    whole = replace(PROBLEM, operations=(replace(FIRST, menu=(Option(),)), LAST))
    with pytest.raises(InfeasibleError) as error:
        replace(whole, budget=50).restrict_menus()
    assert error.value.shortage is not None
    assert error.value.shortage.terms == (("x", 1), ("once", 10), ("t", 100), ("dead", 10_000))


def test_an_operator_without_a_menu_is_named() -> None:
    empty = replace(PROBLEM, operations=(FIRST, replace(LAST, menu=())))

    with pytest.raises(InfeasibleError, match="%y does not fit 20000 byte: not one tile"):
        empty.restrict_menus()
    with pytest.raises(VerifyError, match="%y has an empty menu"):
        empty.verify()


def test_reads_and_streams_are_checked() -> None:
    PROBLEM.verify()
    with pytest.raises(VerifyError, match="%y reads %t too early"):
        replace(PROBLEM, operations=(LAST, FIRST)).verify()
    other = replace(LAST, menu=(Option(streamed=((ONCE, 1),)),))
    with pytest.raises(VerifyError, match="%y streams what it does not touch"):
        replace(PROBLEM, operations=(FIRST, other)).verify()


def test_a_graph_becomes_a_problem() -> None:
    net = NetworkBuilder()
    x = net.input("x", (1, 4, 6, 6))
    net.input("nobody", (1, 4, 6, 6))
    graph = net.build(net.conv(net.conv(x, "a", 8, 3), "b", 2, 1))

    plain, whole = (problem_of(graph, 99, include_parameters=item) for item in (False, True))

    assert (plain.name, plain.budget) == (graph.name, 99)
    names = ("x", *(value.name for op in graph.ops for value in op.results))
    assert tuple(item.name for item in plain.tensors) == names
    assert [item.on_host for item in plain.tensors] == [name == "x" for name in names]
    assert [item.is_output for item in plain.tensors] == [name in graph.outputs for name in names]
    assert not any(item.is_constant for item in plain.tensors)
    assert [item.bytes for item in plain.tensors] == [graph.types[name].bytes for name in names]
    constants = {item.name for item in whole.tensors if item.is_constant}
    assert constants == {item.name for item in graph.constants if graph.consumers[item.name]}
    assert all(item.on_host for item in whole.tensors if item.is_constant)
    for op, found in zip(graph.ops, whole.operations, strict=True):
        assert tuple(whole.tensors[tensor].name for tensor in found.reads) == op.inputs
        assert tuple(whole.tensors[tensor].name for tensor in found.writes) == tuple(
            value.name for value in op.results
        )
    whole.verify()


def test_a_plan_says_what_comes_leaves_and_remains() -> None:
    """``x`` and ``t`` leave in between: one is fetched again, the other is spilled before."""
    between = Operation(name="z", reads=(ONCE,), writes=(5,))
    after = replace(LAST, menu=(Option(workspace=4),))
    problem = replace(
        PROBLEM,
        tensors=(*TENSORS, Tensor(name="z", bytes=6)),
        operations=(replace(FIRST, menu=(Option(),)), between, after),
    )

    plan = replay(problem, [(0, 0, 0), (1, 0, 1 << X | 1 << T), (2, 0, 0)])

    assert plan.order == (0, 1, 2)
    assert plan.spills == ((T, 1),)
    assert plan.fetches == ((X, 0), (ONCE, 0), (T, 2), (X, 2))
    assert plan.stays == (
        Stay(tensor=X, first=0, last=0),
        Stay(tensor=ONCE, first=0, last=1),
        Stay(tensor=T, first=0, last=0),
        Stay(tensor=DEAD, first=0, last=0),
        Stay(tensor=5, first=1, last=1),
        Stay(tensor=X, first=2, last=2),
        Stay(tensor=T, first=2, last=2),
        Stay(tensor=Y, first=2, last=2),
    )
    assert plan.workspaces == ((2, 4),)
    assert [(block.first, block.last, block.bytes) for block in plan.blocks[-2:]] == [
        (2, 2, 1000),
        (2, 2, 4),
    ]
    assert plan.cost == (1 + 10 + 100 + 1) + 100 + 1000


A, B, C, D = range(4)

OVER = PlanProblem(
    name="over",
    tensors=(
        Tensor(name="a", bytes=8, on_host=True),
        Tensor(name="b", bytes=8),
        Tensor(name="c", bytes=8),
        Tensor(name="d", bytes=8, is_output=True),
    ),
    operations=(
        Operation(name="b", reads=(A,), writes=(B,), menu=(Option(workspace=3),)),
        Operation(name="c", reads=(A, B), writes=(C,), replaces=(A, B)),
        Operation(
            name="d",
            reads=(C,),
            writes=(D,),
            menu=(Option(), Option(streamed=((D, 8),), workspace=1)),
            replaces=(C,),
        ),
    ),
    budget=19,
)
"""``c`` is written over ``a`` or ``b``, and ``d`` over ``c`` unless it is streamed."""


def test_a_result_in_the_place_of_an_operand_takes_no_room_of_its_own() -> None:
    OVER.verify()
    whole, streamed = OVER.operations[2].menu

    assert [OVER.footprint(index, Option()) for index in range(3)] == [16, 16, 8]
    assert OVER.footprint(2, streamed) == 9
    assert [OVER.held(0, OVER.operations[0].menu[0]), OVER.held(1, Option())] == [3, -8]
    assert (OVER.held(2, whole), OVER.held(2, streamed)) == (0, 1)
    assert OVER.operations[1].replaced(Option(streamed=((A, 8),))) == B
    assert OVER.operations[1].replaced(Option(streamed=((A, 8), (B, 8)))) is None
    assert OVER.operations[1].replaced(Option(streamed=((C, 8),))) is None


def test_it_has_the_block_of_the_operand() -> None:
    plan = replay(OVER, [(0, 0, 0), (1, 0, 0), (2, 0, 0)])

    assert [(stay.tensor, stay.first, stay.last) for stay in plan.stays] == [
        (A, 0, 1),
        (B, 0, 1),
        (C, 1, 2),
        (D, 2, 2),
    ]
    assert plan.places == (0, 1, 0, 0)
    assert [(block.first, block.last, block.bytes) for block in plan.blocks] == [
        (0, 2, 8),
        (0, 1, 8),
        (0, 0, 3),
    ]
    apart = replay(OVER, [(0, 0, 0), (1, 0, 0), (2, 1, 0)])
    assert (apart.places, len(apart.blocks)) == ((0, 1, 0), 4)


def test_only_operands_as_large_as_the_one_result_are_replaced() -> None:
    def changed(**changes: object) -> PlanProblem:
        first = replace(OVER.operations[0], **changes)
        return replace(OVER, operations=(first, *OVER.operations[1:]))

    changed(replaces=(A,)).verify()
    with pytest.raises(VerifyError, match="%b replaces what it does not read"):
        changed(replaces=(C,)).verify()
    large = replace(OVER.tensors[A], bytes=9)
    uneven = replace(changed(replaces=(A,)), tensors=(large, *OVER.tensors[1:]))
    with pytest.raises(VerifyError, match="%b replaces what is not as large as its one result"):
        uneven.verify()


def test_what_does_not_fit_even_so_is_listed_once() -> None:
    with pytest.raises(InfeasibleError) as refused:
        replace(OVER, budget=15).restrict_menus()

    assert refused.value.shortage is not None
    assert refused.value.shortage.demand == 19
    with pytest.raises(InfeasibleError) as refused:
        replace(OVER, budget=15, operations=OVER.operations[1:]).restrict_menus()
    shortage = refused.value.shortage
    assert shortage is not None
    assert (shortage.demand, dict(shortage.terms)) == (16, {"b": 8, "c": 8})


@settings(max_examples=80, deadline=None)
@given(problems(menus=True, slack=2, in_place=True))
def test_plans_with_results_in_place_are_packed(problem: PlanProblem) -> None:
    found = solve(problem, CosmaOptions(engine=PlanEngine.SEARCH))

    plan, tensors = found.plan, problem.tensors
    blocks = zip(plan.blocks, found.addresses, strict=True)
    for (one, low), (other, high) in combinations(blocks, 2):
        if one.first <= other.last and other.first <= one.last:
            assert low + one.bytes <= high or high + other.bytes <= low
    for number, stay in enumerate(plan.stays):
        sharing = [at for at in range(number) if plan.places[at] == plan.places[number]]
        if sharing:
            before, operation = plan.stays[sharing[-1]], problem.operations[plan.order[stay.first]]
            assert (before.last, operation.writes) == (stay.first, (stay.tensor,))
            assert before.tensor in operation.replaces
            assert tensors[before.tensor].bytes == tensors[stay.tensor].bytes


def test_what_is_stored_or_has_streamed_out_is_not_spilled() -> None:
    kept = replace(TENSORS[T], is_output=True)
    problem = replace(PROBLEM, tensors=(*TENSORS[:T], kept, *TENSORS[T + 1 :]))
    moves = [(0, 0, 0), (1, 0, 1 << T)]

    assert replay(problem, moves).spills == ()
    assert replay(problem, moves).fetches == ((X, 0), (ONCE, 0), (T, 1))
    assert replay(problem, moves).cost == 1 + 10 + 100 + 100 + 1000
    assert replay(PROBLEM, moves).spills == ((T, 1),)
    streams = replace(FIRST, menu=(Option(streamed=((T, 100),)),))
    streamed = replace(PROBLEM, operations=(streams, LAST))
    found = replay(streamed, [(0, 0, 0), (1, 0, 0)])
    assert found.spills == ()
    assert found.fetches == ((X, 0), (ONCE, 0), (T, 1))
    assert Stay(tensor=X, first=0, last=1) in found.stays


@settings(max_examples=50, deadline=None)
@given(problems(menus=True))
def test_in_turn_nothing_is_spilled_where_everything_fits(problem: PlanProblem) -> None:
    plan = replay(problem, [(op, 0, 0) for op in range(len(problem.operations))])

    assert plan.spills == ()
    assert plan.cost == problem.compulsory
    for step, operation in enumerate(problem.operations):
        there = {stay.tensor for stay in plan.stays if stay.first <= step <= stay.last}
        assert set(operation.touches) <= there

import pytest
from hypothesis import given, settings

from accnn.passes.scheduling.cosma import solve as solving
from accnn.passes.scheduling.cosma.plan import Plan, plan_of
from accnn.passes.scheduling.cosma.problem import Operation, Option, PlanProblem, Tensor
from accnn.passes.scheduling.cosma.repair import repair
from accnn.passes.scheduling.cosma.search.best_first import search
from accnn.passes.scheduling.cosma.search.moves import MoveTable
from accnn.passes.scheduling.cosma.solve import CosmaOptions, PlanOrder, solve
from tests.block_strategies import meet
from tests.thinned import examples

from .oracle import problems


def _plan(problem: PlanProblem) -> Plan:
    return plan_of(problem, search(MoveTable(problem)).moves)


@settings(max_examples=examples(100), deadline=None)
@given(problems(most=8, slack=2))
def test_a_plan_knows_its_cost(problem: PlanProblem):
    assert _plan(problem).cost == search(MoveTable(problem)).cost


@settings(max_examples=examples(100), deadline=None)
@given(problems(most=8, slack=2))
def test_solutions_are_packed_whatever_the_first_plan_was(problem: PlanProblem):
    solution = solve(problem)

    assert solution.bound <= solution.cost == solution.plan.cost
    for index, block in enumerate(solution.plan.blocks):
        address = solution.addresses[index]
        assert 0 <= address <= problem.budget - block.bytes
        for other in range(index):
            place, size = solution.addresses[other], solution.plan.blocks[other].bytes
            if meet(block, solution.plan.blocks[other]):
                assert address + block.bytes <= place or place + size <= address


def _fragmented() -> PlanProblem:
    """A plan of full memory that has no addresses: what leaves leaves two holes."""
    sizes = {"x": 1, "a": 2, "b": 2, "c": 2, "d": 3, "e": 1, "f": 1}
    names = list(sizes)
    tensors = tuple(
        Tensor(name=name, bytes=size, on_host=name == "x", is_output=name == "f")
        for name, size in sizes.items()
    )

    def op(name: str, *reads: str) -> Operation:
        return Operation(
            name=name, reads=tuple(names.index(read) for read in reads), writes=(names.index(name),)
        )

    operations = (
        op("a", "x"),
        op("b", "x"),
        op("c", "a"),
        op("d", "c"),
        op("e", "d", "b"),
        op("f", "e"),
    )
    return PlanProblem(name="fragmented", tensors=tensors, operations=operations, budget=7)


def test_a_plan_that_packs_is_left_alone():
    plan = _plan(_fragmented())

    found = repair(plan)

    assert found is not None
    assert found[0] == plan


def _unpackable() -> PlanProblem:
    """A problem whose cheapest plan has no addresses, and no tensor that could leave early.

    ``p`` and ``r`` have to lie at opposite ends of the memory, and ``q`` at both. The first and the
    last operator take all of it, so that they can leave nothing free.
    """
    names = ("x", "p", "q", "r", "y", "z")
    x, p, q, r, y, z = range(len(names))
    tensors = tuple(
        Tensor(
            name=name,
            bytes=100 if name in "pqr" else 1,
            on_host=name == "x",
            is_output=name in "yz",
        )
        for name in names
    )
    by_tiles = Option(streamed=((q, 250), (y, 1)), workspace=800)
    operations = (
        Operation(
            name="p", reads=(x,), writes=(p,), menu=(Option(streamed=((x, 1),), workspace=900),)
        ),
        Operation(name="q", reads=(p,), writes=(q,), menu=(Option(workspace=800),)),
        Operation(name="r", reads=(p, q), writes=(r,)),
        Operation(
            name="y",
            reads=(q, r),
            writes=(y,),
            menu=(Option(streamed=((y, 1),), workspace=800), by_tiles),
        ),
        Operation(
            name="z", reads=(r,), writes=(z,), menu=(Option(streamed=((z, 1),), workspace=900),)
        ),
    )
    return PlanProblem(name="unpackable", tensors=tensors, operations=operations, budget=1000)


def test_a_plan_that_leaves_space_is_taken_where_no_cut_helps() -> None:
    problem = _unpackable()
    cheapest = _plan(problem)

    solution = solve(problem)

    assert repair(cheapest) is None
    assert cheapest.cost == solution.bound < solution.cost
    for index, (block, address) in enumerate(
        zip(solution.plan.blocks, solution.addresses, strict=True)
    ):
        assert address + block.bytes <= problem.budget
        for other, place in zip(solution.plan.blocks[:index], solution.addresses, strict=False):
            apart = address + block.bytes <= place or place + other.bytes <= address
            assert apart or not meet(block, other)


@pytest.mark.parametrize("order", PlanOrder)
def test_what_had_to_be_left_free_is_left_free_at_once(order: PlanOrder, monkeypatch) -> None:
    problem, options = _unpackable(), CosmaOptions(order=order)
    found = solve(problem, options)
    assert found.reserves and set(found.reserves) <= {op.name for op in problem.operations}
    asked: list[PlanProblem] = []

    def noting(table: MoveTable, **limits: int):
        asked.append(table.problem)
        return search(table, **limits)

    monkeypatch.setattr(solving, "search", noting)
    again = solve(problem, options, reserves=found.reserves)

    assert (again.plan, again.addresses) == (found.plan, found.addresses)
    assert again.reserves == found.reserves
    assert again.bound <= found.bound < again.cost
    assert len(asked) == 1  # nothing is looked for that leaves less


def test_where_more_has_to_be_left_free_than_was_known_more_is() -> None:
    problem = _unpackable()

    found = solve(problem, reserves={"p": 1})

    assert found.cost == solve(problem).cost
    assert sum(found.reserves.values()) > 1


def test_what_leaves_no_space_keeps_the_option_that_takes_least() -> None:
    free = _unpackable().with_reserves([50] * 5)

    assert [[option.workspace for option in item.menu] for item in free.operations] == [
        [900],
        [800],
        [50],
        [850, 850],
        [900],
    ]

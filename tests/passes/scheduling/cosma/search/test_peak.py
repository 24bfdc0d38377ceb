import itertools
import random
import tracemalloc

from hypothesis import given, settings

from accnn.passes.scheduling.cosma.problem import Operation, PlanProblem, Tensor
from accnn.passes.scheduling.cosma.search.peak import least_peak, peak_of

from ..oracle import problems


def orders(problem: PlanProblem):
    """Yield all orders in which operators can run."""
    for order in itertools.permutations(range(len(problem.operations))):
        done: set[int] = set()
        for op in order:
            if not done.issuperset(problem.predecessors[op]):
                break
            done.add(op)
        else:
            yield order


@settings(max_examples=60, deadline=None)
@given(problems(most=6))
def test_no_order_has_a_lower_peak(problem: PlanProblem):
    peak, order, proven = least_peak(problem)

    assert proven
    assert (
        peak_of(problem, order) == peak == min(peak_of(problem, item) for item in orders(problem))
    )


@settings(max_examples=60, deadline=None)
@given(problems(most=8))
def test_without_a_search_the_order_is_no_worse_than_the_problems_own(problem: PlanProblem):
    peak, order, proven = least_peak(problem, node_limit=0)
    own = peak_of(problem, tuple(range(len(problem.operations))))
    least, _, _ = least_peak(problem)

    assert peak_of(problem, order) == peak
    assert least <= peak <= own
    assert not proven or peak == least
    assert all(set(problem.predecessors[op]) <= set(order[:at]) for at, op in enumerate(order))


def branches(many: int, length: int) -> PlanProblem:
    """Return branches of operators with results of random sizes, joined one after the other."""
    draw = random.Random(0)
    tensors = [Tensor(name="x", bytes=1, on_host=True)]
    operations: list[Operation] = []

    def operate(size: int, *reads: int) -> int:
        name = f"t{len(tensors)}"
        operations.append(Operation(name=name, reads=reads, writes=(len(tensors),)))
        tensors.append(Tensor(name=name, bytes=size))
        return len(tensors) - 1

    joined = 0
    ends: list[int] = []
    for _ in range(many):
        last = 0
        for _ in range(length):
            last = operate(draw.randint(1, 50), last)
        ends.append(last)
    for last in ends:
        joined = operate(draw.randint(1, 50), joined, last)
    return PlanProblem(
        name="wide", tensors=tuple(tensors), operations=tuple(operations), budget=10_000
    )


def test_many_branches_are_given_up_before_they_fill_the_memory():
    problem = branches(many=40, length=5)
    own = peak_of(problem, tuple(range(len(problem.operations))))

    tracemalloc.start()
    peak, order, proven = least_peak(problem, node_limit=1_000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert not proven
    assert problem.minimum < peak == peak_of(problem, order) < own
    assert most < 4_000_000

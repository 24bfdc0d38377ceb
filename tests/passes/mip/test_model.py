import subprocess
import sys
from dataclasses import replace

import pytest

from accnn.passes.mip.linear import Linear, total
from accnn.passes.mip.model import MipLimits, MipModel, MipStatus, Solver


@pytest.mark.parametrize("solver", Solver)
def test_solves_and_proves(solver):
    model = MipModel("knapsack", solver)
    items = [model.binary() for _ in range(4)]
    weights, values = (3, 4, 5, 6), (4, 5, 6, 9)
    load = total(weight * item for weight, item in zip(weights, items, strict=True))
    model.add_at_most(load, 10)
    model.minimize(-total(value * item for value, item in zip(values, items, strict=True)))

    result = model.solve(MipLimits())

    assert result.status is MipStatus.OPTIMAL
    assert result.objective == pytest.approx(-14)
    assert result.bound == pytest.approx(-14)
    assert result.value(load) == pytest.approx(10)


@pytest.mark.parametrize("solver", Solver)
def test_the_optimum_of_a_program_without_integers_is_its_bound(solver):
    model = MipModel("lp", solver)
    x = model.continuous(2.5, 9.0)
    model.minimize(x + 1.0)

    result = model.solve(MipLimits())

    assert result.bound == pytest.approx(3.5)
    assert result.objective == pytest.approx(3.5)


@pytest.mark.parametrize("solver", Solver)
def test_tells_that_nothing_is_feasible(solver):
    model = MipModel("none", solver)
    size = model.integer(0, 3)
    model.add_at_least(size, 4)
    model.minimize(size)

    result = model.solve(MipLimits())

    assert result.status is MipStatus.INFEASIBLE
    assert result.values == ()


def test_a_start_is_kept_where_nothing_better_is_found():
    model = MipModel("start")
    size = model.integer(0, 9)
    rest = model.continuous(0.0, 1.0)
    model.add_equal(size + rest, 7.5)
    model.minimize(-size)
    model.start({0: 7.0, 1: 0.5})

    assert model.solve(MipLimits()).values == pytest.approx((7.0, 0.5))


@pytest.mark.parametrize("solver", Solver)
def test_a_model_is_dropped_while_a_library_is_asked_for_a_function(solver):
    # The garbage collector may run in between; what is looked up first then waits for itself.
    code = f"""
import gc, mip.{solver.value}
from accnn.passes.mip import MipModel, Solver
model = MipModel("dropped", Solver.{solver.name})
with mip.{solver.value}.ffi._lock:
    del model
    gc.collect()
"""

    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("solver", Solver)
def test_the_library_of_cbc_is_loaded_for_its_models_alone(solver: Solver) -> None:
    code = f"""
import sys
from accnn.passes.mip.model import MipModel, Solver
assert "mip.cbc" not in sys.modules
MipModel("empty", Solver("{solver.value}"))
print("mip.cbc" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == f"{solver is Solver.CBC}\n"


def chosen(solver: Solver, fractions: bool) -> MipModel:
    """Return a program of many optima: four of ten things, of which two together cost more."""
    model = MipModel("choose", solver)
    items = [model.binary() for _ in range(10)]
    model.add_equal(total(items), 4)
    rest = model.continuous(0.0, 1.0)
    model.add_at_least(rest, items[0] + items[1] - 1)
    model.minimize(total(items) * 3.0 + rest * (0.5 if fractions else 2.0))
    return model


@pytest.mark.parametrize("fractions", [False, True])
def test_both_solvers_choose_the_same_optimum(fractions):
    found: dict[Solver, tuple[float, ...]] = {}
    for solver in Solver:
        model = chosen(solver, fractions)
        first = model.solve(MipLimits())

        same = model.same_optimum(first, MipLimits())

        assert same.status is MipStatus.OPTIMAL
        assert (same.objective, same.bound) == (first.objective, first.bound)
        assert first.objective == pytest.approx(12)
        assert sum(map(round, same.values[:10])) == 4
        assert round(same.values[0] + same.values[1]) < 2
        found[solver] = tuple(map(round, same.values))

    assert found[Solver.HIGHS] == found[Solver.CBC]


def test_the_chosen_optimum_is_that_of_no_program_but_of_the_weights():
    subsets = set[tuple[int, ...]]()
    for barred in range(10):
        model = chosen(Solver.HIGHS, False)
        model.add_at_most(Linear({barred: 1.0}), 0)
        values = model.same_optimum(model.solve(MipLimits()), MipLimits()).values
        subsets.add(tuple(index for index in range(10) if round(values[index])))
    every = {index for subset in subsets for index in subset}

    # The four lightest are taken, or the fifth in place of the one that is barred.
    assert len(subsets) == 5
    assert len(every) == 5


def test_what_is_not_proven_or_not_integer_is_left_as_it_is():
    line = MipModel("lp")
    line.minimize(line.continuous(2.5, 9.0))
    whole = chosen(Solver.HIGHS, False)
    first, second = line.solve(MipLimits()), whole.solve(MipLimits())
    unproven = replace(second, status=MipStatus.LIMIT)

    assert line.same_optimum(first, MipLimits()) is first
    assert whole.same_optimum(unproven, MipLimits()) is unproven


def test_expressions_add_up():
    a, b = Linear({0: 1.0}), Linear({1: 2.0}, 3.0)

    mixed = 2.0 - (a + b) * 2.0

    assert mixed.terms == {0: -2.0, 1: -4.0}
    assert mixed.constant == -4.0
    assert total([a, 1.0, -a]).is_constant

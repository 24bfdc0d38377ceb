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


def test_expressions_add_up():
    a, b = Linear({0: 1.0}), Linear({1: 2.0}, 3.0)

    mixed = 2.0 - (a + b) * 2.0

    assert mixed.terms == {0: -2.0, 1: -4.0}
    assert mixed.constant == -4.0
    assert total([a, 1.0, -a]).is_constant

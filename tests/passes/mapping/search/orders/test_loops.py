"""Loop prime factors, and LOMA's way of joining them."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.mapping import Loop
from accnn.ir.workload import DIMS, Dim
from accnn.passes.mapping.search.orders.loops import count_orders, loop_prime_factors


def extents(**given):
    return {dim: given.get(dim.value, 1) for dim in DIMS}


def test_loops_are_the_prime_factors_of_every_dimension():
    loops = loop_prime_factors(extents(P=14, C=48, R=3))

    assert loops == tuple(
        Loop(dim, extent)
        for dim, factors in ((Dim.R, [3]), (Dim.P, [2, 7]), (Dim.C, [2, 2, 2, 2, 3]))
        for extent in factors
    )


def test_a_workload_of_one_step_has_no_loops_and_one_order():
    assert loop_prime_factors(extents()) == ()
    assert count_orders(()) == 1


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 64), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_joined_loops_still_cover_every_dimension(C, K, Q, limit):
    loops = loop_prime_factors(extents(C=C, K=K, Q=Q), limit)

    for dim, extent in ((Dim.C, C), (Dim.K, K), (Dim.Q, Q)):
        assert math.prod(loop.extent for loop in loops if loop.dim is dim) == extent
    assert len(loops) <= max(limit, 3)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (None, {"K": [2] * 6, "C": [2, 2, 2, 2, 3], "P": [2]}),
        (11, {"K": [2, 2, 2, 2, 4], "C": [2, 2, 2, 2, 3], "P": [2]}),
        (6, {"K": [4, 16], "C": [3, 4, 4], "P": [2]}),
        (3, {"K": [64], "C": [48], "P": [2]}),
        (1, {"K": [64], "C": [48], "P": [2]}),
    ],
)
def test_the_two_smallest_factors_of_the_longest_dimension_are_joined(limit, expected):
    loops = loop_prime_factors(extents(K=64, C=48, P=2), limit)

    found = {dim: sorted(loop.extent for loop in loops if loop.dim == dim) for dim in expected}
    assert found == {dim: sorted(factors) for dim, factors in expected.items()}


def test_orders_of_equal_loops_count_once():
    loops = [Loop(Dim.C, 2)] * 3 + [Loop(Dim.K, 2)] * 2 + [Loop(Dim.K, 3)]

    assert count_orders(loops) == math.factorial(6) // (6 * 2)

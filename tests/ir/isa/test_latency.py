"""What ports take, exactly."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accnn.ir.isa.latency import port_cycles


@pytest.mark.parametrize(
    ("size", "bandwidth", "expected"),
    [(0, 4.0, 0), (1, 4.0, 1), (16, 4.0, 4), (17, 4.0, 5), (3, 0.3, 11), (10**9, None, 0)],
)
def test_the_cycles_of_a_port(size: int, bandwidth: float | None, expected: int):
    assert port_cycles(size, bandwidth) == expected


@given(st.integers(0, 10**12), st.floats(0.01, 1e6))
def test_they_are_the_fewest_that_let_all_bytes_through(size: int, bandwidth: float):
    cycles = port_cycles(size, bandwidth)

    assert cycles * Fraction(bandwidth) >= size
    assert (cycles - 1) * Fraction(bandwidth) < size

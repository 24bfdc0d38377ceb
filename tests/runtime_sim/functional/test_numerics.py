"""Elementary exact functions against rational arithmetic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.operators.elementary import all_bytes, dequantize, quantize
from accnn.ir.operators.pairs import multiplier, qadd_table, qmul_table
from accnn.runtime_sim.functional.numerics import lookup, lookup_pair, requantize

floats = st.floats(width=32, min_value=-1e6, max_value=1e6, allow_subnormal=False)
scales = st.floats(width=32, min_value=2**-12, max_value=4)

_FLOAT32_ROUNDINGS = 8
"""At most so many roundings to float32, none larger than half a unit of the largest term."""


def test_requantize_rounds_halves_to_even_and_clamps():
    accumulator = np.array([-300, -3, -1, 1, 3, 5, 300], np.int32)

    found = requantize(accumulator, np.float32(0.5), 10, -100, 100, np.int8)

    assert found.tolist() == [-100, 8, 10, 10, 12, 12, 100]


def test_the_multiplier_divides_last():
    sx, sw, sy = np.float32(0.1), np.float32([0.3, 0.7]), np.float32(0.9)

    assert np.array_equal(multiplier(sx, sw, sy), (sx * sw) / sy)


def test_lookup_is_by_byte_pattern():
    table = np.arange(256, dtype=np.uint8)

    assert lookup(np.array([-1, -128, 0, 127], np.int8), table).tolist() == [255, 128, 0, 127]


@given(scales, st.integers(-128, 127), scales, st.integers(-128, 127))
@settings(max_examples=50, deadline=None)
def test_quantise_inverts_dequantise(scale, zero, other, shift):
    values = all_bytes(np.int8)

    assert np.array_equal(quantize(dequantize(values, scale, zero), scale, zero, np.int8), values)
    coarse = quantize(dequantize(values, scale, zero), other, shift, np.int8)
    assert coarse.min() >= -128


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@given(scales, scales, scales, st.integers(0, 255), st.integers(0, 255), st.integers(0, 255))
@settings(max_examples=20, deadline=None)
def test_tables_are_within_one_step_of_the_real_result(dtype, sa, sb, sy, za, zb, zy):
    low = int(np.iinfo(dtype).min)
    a, b, y = (sa, za + low), (sb, zb + low), (sy, zy + low)
    real_a = (all_bytes(dtype).astype(float) - a[1]) * sa
    real_b = (all_bytes(dtype).astype(float) - b[1]) * sb

    for make, real, largest in (
        (qadd_table, real_a[:, None] + real_b[None, :], 256 * (sa + sb + sy) / sy),
        (qmul_table, real_a[:, None] * real_b[None, :], 256 * (256 * sa * sb + sy) / sy),
    ):
        table = make(dtype, a, b, y, low, low + 255)
        ideal = np.clip(real / sy + y[1], low, low + 255)
        assert np.abs(table - ideal).max() <= 0.5 + _FLOAT32_ROUNDINGS * 2.0**-24 * largest


def test_pairs_broadcast():
    table = np.arange(65536).reshape(256, 256)
    a, b = np.array([[1], [2]], np.uint8), np.array([3, 4], np.uint8)

    assert lookup_pair(a, b, table).tolist() == [[259, 260], [515, 516]]

"""Functions of one element, against rational arithmetic and against onnxruntime."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from accnn.ir.operators.elementary import fma, quantize, sigmoid, tanh
from accnn.models.session import make_session, run

floats = st.floats(width=32, min_value=-1e6, max_value=1e6, allow_subnormal=False)


def nearest_f32(exact: Fraction) -> np.float32:
    """Round a rational to float32, half to even, by looking at three neighbours."""
    guess = np.float32(float(exact))
    near = [
        np.nextafter(guess, np.float32(-np.inf)),
        guess,
        np.nextafter(guess, np.float32(np.inf)),
    ]
    return min(near, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(np.int32)) & 1))


@given(floats, floats, floats)
@settings(max_examples=300, deadline=None)
def test_fma_rounds_once(a, b, c):
    exact = Fraction(a) * Fraction(b) + Fraction(c)

    found = fma(np.float32(a), np.float32(b), np.float32(c))
    if abs(exact) > Fraction(2) ** -100:
        assert found == nearest_f32(exact)


def test_fma_is_not_fooled_by_double_rounding():
    """The exact value lies just below a tie, on which float64 would round it."""
    a, b = np.float32(1 + 2**-23), np.float32((1 - 2**-23) * 2**-24)
    c = np.float32(1 + 2**-23)
    twice = np.float32(np.float64(a) * np.float64(b) + np.float64(c))

    assert twice == np.float32(1 + 2**-22)
    assert fma(a, b, c) == c


def has_fma() -> bool:
    cpuinfo = Path("/proc/cpuinfo")
    return cpuinfo.exists() and " fma " in cpuinfo.read_text()


def of_onnxruntime(kind: str, x, *constants, makes: int = TensorProto.FLOAT):
    """Return what onnxruntime makes of numbers and constants by one operator."""
    graph = helper.make_graph(
        [helper.make_node(kind, ["x", *(item.name for item in constants)], ["y"])],
        "function",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", makes, x.shape)],
        list(constants),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return run(make_session(model), {"x": x})["y"]


@pytest.mark.skipif(not has_fma(), reason="onnxruntime rounds products without fma on this machine")
@pytest.mark.parametrize(("kind", "function"), [("Sigmoid", sigmoid), ("Tanh", tanh)])
def test_quotients_of_polynomials_are_those_of_onnxruntime(kind, function):
    x = np.random.default_rng(0).uniform(-20, 20, 50_000).astype(np.float32)
    np.testing.assert_array_equal(function(x), of_onnxruntime(kind, x))


@given(st.floats(width=32, allow_nan=False))
def test_quotients_of_polynomials_are_near_the_functions(x):
    value, wide = np.array([x], np.float32), np.array([x])

    np.testing.assert_allclose(tanh(value), np.tanh(wide), atol=1e-6)
    np.testing.assert_allclose(sigmoid(value), 0.5 + 0.5 * np.tanh(wide / 2), atol=1e-6)
    assert np.isnan(tanh(np.array([np.nan], np.float32)))[0]


@pytest.mark.parametrize(
    ("dtype", "element"), [(np.int8, TensorProto.INT8), (np.uint8, TensorProto.UINT8)]
)
def test_what_is_no_number_is_quantised_as_onnxruntime_does(dtype, element):
    unusual = np.array([np.nan, -np.nan, np.inf, -np.inf, 1e38, -0.0], np.float32)
    x = np.resize(unusual, 67)
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [], [0.02])
    zero = helper.make_tensor("zero", element, [], [11])

    expected = of_onnxruntime("QuantizeLinear", x, scale, zero, makes=element)

    np.testing.assert_array_equal(quantize(x, np.float32(0.02), 11, dtype), expected)

"""Bounds of integer accumulators."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.graph import Graph, Value
from accnn.ir.ops import make_op
from accnn.ir.types import DType, Quantization, TensorType
from accnn.passes.analysis.accumulator_range import AccumulatorBound, accumulator_bounds


def _graph(weights: np.ndarray, zero: int) -> Graph:
    x = Value("x", TensorType(DType.S8, (1, weights.shape[1]), Quantization((0.5,), (zero,))))
    quant = Quantization((0.5,) * len(weights), (0,) * len(weights), 0)
    w = Value("w", TensorType(DType.S8, weights.shape, quant))
    op = make_op(
        "dense",
        ("x", "w"),
        {"x": x.type, "w": w.type},
        "y",
        dtype=DType.S8,
        quant=Quantization((0.5,), (0,)),
    )
    return Graph(name="g", inputs=(x,), constants=(w,), ops=(op,), outputs=("y",))


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_the_worst_input_attains_the_bound(data: st.DataObject):
    zero = data.draw(st.integers(-128, 127))
    rows = data.draw(st.lists(st.lists(st.integers(-127, 127), min_size=3, max_size=3), min_size=1))
    weights = np.array(rows, np.int8)

    (bound,) = accumulator_bounds(_graph(weights, zero), {"w": weights})

    far = max((-128, 127), key=lambda value: abs(value - zero)) - zero
    worst = np.abs(weights.astype(int)).sum(axis=1).max() * abs(far)
    assert bound.magnitude == worst


def test_the_width_has_room_for_the_sign():
    assert AccumulatorBound("y", 127).bits == 8
    assert AccumulatorBound("y", 128).bits == 9


def test_float_operators_have_no_bound():
    x = Value("x", TensorType(DType.F32, (1, 2)))
    w = Value("w", TensorType(DType.F32, (3, 2)))
    op = make_op("dense", ("x", "w"), {"x": x.type, "w": w.type}, "y", dtype=DType.F32)
    graph = Graph(name="g", inputs=(x,), constants=(w,), ops=(op,), outputs=("y",))

    assert accumulator_bounds(graph, {"w": np.ones((3, 2), np.float32)}) == ()

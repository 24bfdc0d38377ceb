"""The reference against plain loops over Python integers."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.errors import SimulationError
from accnn.ir.graph import Graph, Value
from accnn.ir.operators.views import window_of
from accnn.ir.ops import make_op
from accnn.ir.resources import Constants
from accnn.ir.types import DType, Quantization, TensorType
from accnn.runtime_sim.reference import run, run_op

SX, SY = float(np.float32(0.03)), float(np.float32(0.21))


def naive_conv(x, w, bias, zx, window, groups):
    """Sum products of Python integers; taps in the padding count as the zero point."""
    N, _, H, W = x.shape
    K, per_group, R, S = w.shape
    P, Q = window.output(H, W)
    out = np.zeros((N, K, P, Q), np.int64)
    for n, k, p, q in product(range(N), range(K), range(P), range(Q)):
        total = int(bias[k])
        for c, r, s in product(range(per_group), range(R), range(S)):
            row = p * window.stride[0] - window.pads[0] + r * window.dilation[0]
            column = q * window.stride[1] - window.pads[1] + s * window.dilation[1]
            if 0 <= row < H and 0 <= column < W:
                channel = k // (K // groups) * per_group + c
                total += (int(x[n, channel, row, column]) - zx) * int(w[k, c, r, s])
        out[n, k, p, q] = total
    return out


@given(
    groups=st.sampled_from([1, 2, 4]),
    per_group=st.sampled_from([1, 2]),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 2)),
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    pads=st.tuples(*[st.integers(0, 2)] * 4),
    zero=st.integers(-128, 127),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=40, deadline=None)
def test_integer_convolution(groups, per_group, kernel, stride, dilation, pads, zero, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-128, 128, (2, groups * per_group, 7, 6)).astype(np.int8)
    w = rng.integers(-128, 128, (groups, per_group, *kernel)).astype(np.int8)
    bias = rng.integers(-999, 999, groups).astype(np.int32)
    steps = tuple(float(np.float32(value)) for value in rng.uniform(0.01, 0.1, groups))
    types = {
        "x": TensorType(DType.S8, x.shape, Quantization((SX,), (zero,))),
        "w": TensorType(DType.S8, w.shape, Quantization(steps, (0,) * groups, 0)),
        "b": TensorType(DType.S32, bias.shape),
    }
    attrs = {
        "stride": stride,
        "pads": pads,
        "dilation": dilation,
        "groups": groups,
        "qlo": -90,
        "qhi": 80,
    }
    op = make_op(
        "conv2d",
        ("x", "w", "b"),
        types,
        "y",
        attrs=attrs,
        dtype=DType.S8,
        quant=Quantization((SY,), (-5,)),
    )

    found = run_op(op, types, {"x": x, "w": w, "b": bias})

    sums = naive_conv(x, w, bias, zero, window_of(op, kernel), groups)
    factor = (np.float32(SX) * np.array(steps, np.float32)) / np.float32(SY)
    scaled = sums.astype(np.float32) * factor.reshape(-1, 1, 1)
    assert np.array_equal(found, np.clip(np.rint(scaled) - 5, -90, 80).astype(np.int8))


def test_long_sums_stay_exact():
    """Sums beyond 2^24 would lose bits in float32."""
    L = 4096
    x, w = np.full((1, L), 127, np.int8), np.full((2, L), 127, np.int8)
    w[1, 0] = 126
    types = {
        "x": TensorType(DType.S8, x.shape, Quantization((1.0,), (0,))),
        "w": TensorType(DType.S8, w.shape, Quantization((1.0,), (0,))),
        "b": TensorType(DType.S32, (2,)),
    }
    quant = Quantization((1.0,), (0,))
    bias = np.array([-127 * 127 * L + 5, -127 * 127 * L + 127 + 6], np.int32)
    op = make_op("dense", ("x", "w", "b"), types, "y", dtype=DType.S8, quant=quant)

    assert run_op(op, types, {"x": x, "w": w, "b": bias}).tolist() == [[5, 6]]


def pool(kind, x, **attrs):
    types = {"x": TensorType(DType.F32, x.shape)}
    return run_op(make_op(kind, ("x",), types, "y", attrs=attrs), types, {"x": x})


def test_padding_never_wins_a_maximum():
    x = np.full((1, 1, 2, 2), -7, np.float32)

    assert (pool("max_pool", x, kernel=(3, 3), pads=(1, 1, 1, 1)) == -7).all()


@pytest.mark.parametrize(
    ("include", "expected"), [(False, [[1, 1], [1, 1]]), (True, [[4 / 9, 4 / 6], [4 / 6, 1]])]
)
def test_an_average_counts_padding_on_request_and_overhang_never(include, expected):
    x = np.ones((1, 1, 3, 3), np.float32)

    found = pool(
        "avg_pool",
        x,
        kernel=(3, 3),
        stride=(2, 2),
        pads=(1, 1, 0, 0),
        overhang=(1, 1),
        count_include_pad=include,
    )

    assert np.allclose(found[0, 0], expected)


def two_ops():
    types = {"x": TensorType(DType.F32, (2, 3))}
    relu = make_op("relu", ("x",), types, "r")
    return Graph(
        name="g",
        inputs=(Value("x", types["x"]),),
        constants=(),
        ops=(relu, make_op("tanh", ("r",), {"r": relu.result.type}, "y")),
        outputs=("y",),
    )


def test_a_run_returns_every_tensor():
    x = np.array([[-1, 0, 1], [2, -3, 4]], np.float32)

    found = run(two_ops(), Constants(), {"x": x})

    assert list(found) == ["x", "r", "y"]
    assert np.array_equal(found["r"], np.maximum(x, 0))


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({}, "input %x is missing"),
        ({"x": np.zeros((3, 2), np.float32)}, r"input %x is f32 \(3, 2\), expected f32<2x3>"),
        ({"x": np.zeros((2, 3), np.float64)}, "input %x is f64"),
    ],
)
def test_wrong_inputs_are_refused(inputs, text):
    with pytest.raises(SimulationError, match=text):
        run(two_ops(), Constants(), inputs)

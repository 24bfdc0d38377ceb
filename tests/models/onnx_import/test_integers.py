"""Quantised models, QDQ and QOperator, against onnxruntime: every element equal."""

import numpy as np
import pytest

from accnn.ir.errors import ModelError
from accnn.models.onnx_import import import_model

S8, U8 = np.int8, np.uint8
SX, SY = 0.031, 0.05


def any_bytes(rng, dtype, *shape):
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


def zero(dtype, value):
    """A zero point ``value`` steps from the middle of the type."""
    return dtype(value + (128 if dtype is U8 else 0))


def qdq_model(sketch, x, kind, *extra, scale=SY, to=5, **attrs):
    """dequantise -> operator -> quantise on one activation."""
    dtype = type(x.flat[0])
    real = sketch.dequantize("x", SX, zero(dtype, -7))
    result = sketch.node(kind, real, *extra, **attrs)
    out = sketch.quantize(result, scale, zero(dtype, to))
    return sketch.model({"x": x}, out, dtypes=(x.dtype.name,))


AVERAGES = [
    {},
    {"pads": [1, 1, 1, 1]},
    {"pads": [1, 1, 1, 1], "count_include_pad": 1},
    {"ceil_mode": 1, "pads": [0, 0, 1, 1]},
    {"ceil_mode": 1, "pads": [0, 0, 1, 1], "count_include_pad": 1},
]


@pytest.mark.parametrize("dtype", [S8, U8])
@pytest.mark.parametrize("attrs", AVERAGES)
def test_average_pool(sketch, assert_same, kinds_of, rng, dtype, attrs):
    x = any_bytes(rng, dtype, 1, 16, 16, 16)
    attrs = {"kernel_shape": [3, 3], "strides": [2, 2], **attrs}

    network = assert_same(qdq_model(sketch, x, "AveragePool", scale=0.02, **attrs), {"x": x})

    assert kinds_of(network) == ["avg_pool"]


@pytest.mark.parametrize("dtype", [S8, U8])
def test_global_average_pool(sketch, assert_same, kinds_of, rng, dtype):
    x = any_bytes(rng, dtype, 2, 64, 7, 7)

    network = assert_same(qdq_model(sketch, x, "GlobalAveragePool", scale=0.003), {"x": x})

    assert kinds_of(network) == ["global_avg_pool"]


@pytest.mark.parametrize("dtype", [S8, U8])
@pytest.mark.parametrize("same", [True, False])
def test_max_pool(sketch, assert_same, kinds_of, rng, dtype, same):
    x = any_bytes(rng, dtype, 1, 3, 9, 9)
    target = {"scale": SX, "to": -7} if same else {}
    attrs = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], **target}

    network = assert_same(qdq_model(sketch, x, "MaxPool", **attrs), {"x": x})

    assert kinds_of(network) == ["max_pool"] + ([] if same else ["lookup"])


EVERY_BYTE = [
    ("Relu", {}),
    ("LeakyRelu", {"alpha": 0.1}),
    ("Sigmoid", {}),
    ("Tanh", {}),
    ("Identity", {}),
]


@pytest.mark.parametrize("dtype", [S8, U8])
@pytest.mark.parametrize("scale", [0.0081, 0.031, 0.11])
@pytest.mark.parametrize(("kind", "attrs"), EVERY_BYTE)
def test_functions_of_one_element_are_tables(
    sketch, assert_same, kinds_of, dtype, scale, kind, attrs
):
    x = np.arange(256, dtype=U8).view(dtype).reshape(1, 1, 16, 16)

    network = assert_same(qdq_model(sketch, x, kind, scale=scale, **attrs), {"x": x})

    assert kinds_of(network) == ["lookup"]


def test_a_chain_of_functions_is_one_table(sketch, assert_same, kinds_of):
    x = np.arange(256, dtype=U8).view(S8).reshape(16, 16)
    real = sketch.node("LeakyRelu", sketch.dequantize("x", SX, S8(-7)), alpha=0.3)
    clipped = sketch.node(
        "Clip", real, sketch.constant(np.float32(-1)), sketch.constant(np.float32(2))
    )
    out = sketch.quantize(clipped, 0.02, S8(4))

    network = assert_same(sketch.model({"x": x}, out, dtypes=("int8",)), {"x": x})

    assert kinds_of(network) == ["lookup"]


@pytest.mark.parametrize(
    ("kind", "attrs", "moved"),
    [
        ("Transpose", {"perm": [0, 2, 3, 1]}, "transpose"),
        ("Flatten", {}, "reshape"),
    ],
)
def test_layout_operators_pass_bytes_through(
    sketch, assert_same, kinds_of, rng, kind, attrs, moved
):
    x = any_bytes(rng, S8, 1, 3, 5, 4)

    network = assert_same(qdq_model(sketch, x, kind, scale=SX, to=-7, **attrs), {"x": x})

    assert kinds_of(network) == [moved]


def convolution(sketch, rng, x, *, bias="int", after=(), to=5, scale=SY, extra_output=False):
    """dequantise -> Conv -> ``after`` -> quantise, weights per channel."""
    steps = rng.uniform(0.001, 0.01, 8).astype(np.float32)
    real = sketch.dequantize("x", 0.03, zero(type(x.flat[0]), -7))
    w = sketch.constant(any_bytes(rng, S8, 8, 3, 3, 3))
    inputs = [real, sketch.dequantize(w, steps, np.zeros(8, S8), axis=0)]
    if bias == "int" or bias == "wrong scale":
        factor = np.float32(0.03 if bias == "int" else 0.06)
        values = sketch.constant(rng.integers(-5000, 5000, 8).astype(np.int32))
        inputs.append(sketch.dequantize(values, factor * steps, np.zeros(8, np.int32), axis=0))
    elif bias == "float":
        inputs.append(sketch.constant(rng.normal(size=8).astype(np.float32)))
    product = value = sketch.node("Conv", *inputs, pads=[1, 1, 1, 1])
    for kind, *bounds in after:
        names = [sketch.constant(np.float32(bound)) for bound in bounds]
        value = sketch.node(kind, value, *names)
    out = sketch.quantize(value, scale, zero(type(x.flat[0]), to))
    outputs = (out, product) if extra_output else (out,)
    dtypes = (x.dtype.name, "float32") if extra_output else (x.dtype.name,)
    return sketch.model({"x": x}, *outputs, dtypes=dtypes)


FLOAT = ["dequantize", "conv2d", "quantize"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["conv2d"]),
        ({"bias": None}, ["conv2d"]),
        ({"bias": "float"}, ["conv2d"]),
        ({"bias": "wrong scale"}, FLOAT),
        ({"after": [("Relu",)], "to": -128}, ["conv2d"]),
        ({"after": [("Relu",)]}, FLOAT),
        ({"after": [("Clip", 0, 6)], "to": -128, "scale": 6 / 255}, ["conv2d"]),
        ({"after": [("Clip", 0, 1)], "to": -128}, FLOAT),
        ({"extra_output": True}, FLOAT),
    ],
)
def test_when_a_convolution_runs_on_integers(sketch, assert_same, kinds_of, rng, options, expected):
    x = any_bytes(rng, S8, 1, 3, 9, 9)

    network = assert_same(convolution(sketch, rng, x, **options), {"x": x})

    assert kinds_of(network) == expected


def test_unsigned_activations(sketch, assert_same, kinds_of, rng):
    x = any_bytes(rng, U8, 2, 3, 9, 9)

    network = assert_same(convolution(sketch, rng, x), {"x": x})

    assert kinds_of(network) == ["conv2d"]


@pytest.mark.parametrize("kind", ["Add", "Mul"])
@pytest.mark.parametrize("shape", [(2, 4, 8, 8), (2, 4, 1, 1), (1,)])
@pytest.mark.parametrize("dtype", [S8, U8])
def test_sums_and_products(sketch, assert_same, kinds_of, rng, kind, shape, dtype):
    x, y = any_bytes(rng, dtype, 2, 4, 8, 8), any_bytes(rng, dtype, *shape)
    first = sketch.dequantize("x", 0.03, zero(dtype, -7))
    second = sketch.dequantize("y", 0.011, zero(dtype, 90))
    out = sketch.quantize(sketch.node(kind, first, second), 0.043, zero(dtype, -3))

    model = sketch.model({"x": x, "y": y}, out, dtypes=(x.dtype.name,))
    network = assert_same(model, {"x": x, "y": y})

    assert kinds_of(network) == [kind.lower()]


@pytest.mark.parametrize("kind", ["MatMul", "Gemm", "transposed Gemm"])
def test_products_of_matrices(sketch, assert_same, kinds_of, rng, kind):
    x, w = any_bytes(rng, S8, 5, 40), any_bytes(rng, S8, 40, 6)
    steps, is_transposed = rng.uniform(0.001, 0.01, 6).astype(np.float32), "transposed" in kind
    stored = sketch.constant(np.ascontiguousarray(w.T) if is_transposed else w)
    weight = sketch.dequantize(stored, steps, np.zeros(6, S8), axis=0 if is_transposed else 1)
    real = sketch.dequantize("x", 0.03, S8(-7))
    attrs = {"transB": 1} if is_transposed else {}
    out = sketch.quantize(sketch.node(kind.split()[-1], real, weight, **attrs), 0.05, S8(3))

    network = assert_same(sketch.model({"x": x}, out, dtypes=("int8",)), {"x": x})

    assert kinds_of(network) == ["dense"]
    assert network.constants[network.graph.ops[0].operands[1]].shape == (6, 40)


def test_concat_rescales_by_tables(sketch, assert_same, kinds_of, rng):
    x, y = any_bytes(rng, S8, 1, 2, 4, 4), any_bytes(rng, S8, 1, 3, 4, 4)
    parts = [sketch.dequantize("x", 0.03, S8(-7)), sketch.dequantize("y", 0.05, S8(9))]
    out = sketch.quantize(sketch.node("Concat", *parts, axis=1), 0.05, S8(9))

    model = sketch.model({"x": x, "y": y}, out, dtypes=("int8",))
    network = assert_same(model, {"x": x, "y": y})

    assert kinds_of(network) == ["lookup", "concat"]


def test_integer_operators_meet_behind_a_pool_without_qdq(sketch, assert_same, kinds_of, rng):
    x = any_bytes(rng, S8, 1, 3, 8, 8)
    pooled = sketch.node("MaxPool", sketch.dequantize("x", SX, S8(-7)), kernel_shape=[2, 2])
    out = sketch.quantize(sketch.node("LeakyRelu", pooled, alpha=0.1), SY, S8(1))

    network = assert_same(sketch.model({"x": x}, out, dtypes=("int8",)), {"x": x})

    assert kinds_of(network) == ["max_pool", "lookup"]


def test_softmax_stays_in_float(sketch, rewrite, kinds_of, rng):
    x = any_bytes(rng, S8, 4, 10)

    network = rewrite(qdq_model(sketch, x, "Softmax", axis=1))

    assert kinds_of(network) == ["dequantize", "softmax", "quantize"]


PARAMETERS = {"xs": 0.03, "xz": -7, "bs": 0.011, "bz": 9, "ys": 0.05, "yz": 3}


def qoperator(sketch, dtype, kind, inputs, feeds, *, domain="com.microsoft", more=None, **attrs):
    for name, value in PARAMETERS.items():
        sketch.constants[name] = zero(dtype, value) if name[1] == "z" else np.float32(value)
    sketch.constants.update(more or {})
    sketch.constants = {key: np.asarray(value) for key, value in sketch.constants.items()}
    out = sketch.node(kind, *inputs.split(","), domain=domain, **attrs)
    return sketch.model(feeds, out, dtypes=(np.dtype(dtype).name,))


@pytest.mark.parametrize("dtype", [S8, U8])
@pytest.mark.parametrize(
    ("kind", "inputs", "attrs"),
    [
        ("QLinearAdd", "x,xs,xz,b,bs,bz,ys,yz", {}),
        ("QLinearMul", "x,xs,xz,b,bs,bz,ys,yz", {}),
        ("QLinearGlobalAveragePool", "x,xs,xz,ys,yz", {}),
        ("QLinearAveragePool", "x,xs,xz,ys,yz", {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1]}),
        ("QLinearConcat", "ys,yz,x,xs,xz,b,bs,bz", {"axis": 1}),
        ("QLinearLeakyRelu", "x,xs,xz,ys,yz", {"alpha": 0.1}),
        ("QLinearSigmoid", "x,xs,xz,ys,yz", {}),
        ("QLinearSoftmax", "x,xs,xz,ys,yz", {"axis": 1, "opset": 13}),
        ("QLinearSoftmax", "x,xs,xz,ys,yz", {"axis": 2, "opset": 12}),
    ],
)
def test_qoperators(sketch, assert_same, rng, dtype, kind, inputs, attrs):
    names = [name for name in ("x", "b") if name in inputs.split(",")]
    feeds = {name: any_bytes(rng, dtype, 2, 3, 8, 8) for name in names}

    assert_same(qoperator(sketch, dtype, kind, inputs, feeds, **attrs), feeds)


@pytest.mark.parametrize("dtype", [S8, U8])
@pytest.mark.parametrize("attrs", [{}, {"pads": [1, 1, 1, 1], "strides": [2, 1]}])
def test_qlinear_conv(sketch, assert_same, rng, dtype, attrs):
    weights = {
        "w": any_bytes(rng, S8, 6, 3, 3, 3),
        "ws": rng.uniform(0.001, 0.01, 6).astype(np.float32),
        "wz": np.zeros(6, S8),
        "c": rng.integers(-3000, 3000, 6).astype(np.int32),
    }
    feeds = {"x": any_bytes(rng, dtype, 2, 3, 8, 8)}
    inputs = "x,xs,xz,w,ws,wz,ys,yz,c"

    model = qoperator(sketch, dtype, "QLinearConv", inputs, feeds, domain="", more=weights, **attrs)
    assert_same(model, feeds)


def test_weights_with_a_zero_point(sketch, assert_same, rng):
    weights = {
        "w": any_bytes(rng, U8, 6, 3, 3, 3),
        "ws": np.float32(0.01),
        "wz": np.uint8(117),
    }
    feeds = {"x": any_bytes(rng, U8, 2, 3, 8, 8)}
    inputs = "x,xs,xz,w,ws,wz,ys,yz"

    assert_same(qoperator(sketch, U8, "QLinearConv", inputs, feeds, domain="", more=weights), feeds)


@pytest.mark.parametrize("dtype", [S8, U8])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_qgemm(sketch, assert_same, rng, dtype, trans_b):
    weights = {
        "w": any_bytes(rng, S8, *((6, 20) if trans_b else (20, 6))),
        "ws": rng.uniform(0.001, 0.01, 6).astype(np.float32),
        "wz": np.zeros(6, S8),
        "c": rng.integers(-3000, 3000, 6).astype(np.int32),
    }
    feeds = {"x": any_bytes(rng, dtype, 4, 20)}
    inputs = "x,xs,xz,w,ws,wz,c,ys,yz"

    assert_same(
        qoperator(sketch, dtype, "QGemm", inputs, feeds, more=weights, transB=trans_b), feeds
    )


def test_qlinear_matmul(sketch, assert_same, rng):
    weights = {
        "w": any_bytes(rng, S8, 20, 6),
        "ws": rng.uniform(0.001, 0.01, 6).astype(np.float32),
        "wz": np.zeros(6, S8),
    }
    feeds = {"x": any_bytes(rng, S8, 4, 20)}
    inputs = "x,xs,xz,w,ws,wz,ys,yz"

    assert_same(
        qoperator(sketch, S8, "QLinearMatMul", inputs, feeds, domain="", more=weights), feeds
    )


def test_bytes_that_change_their_meaning_are_retyped(sketch, assert_same, kinds_of, rng):
    x = any_bytes(rng, S8, 1, 3, 4, 4)
    pooled = sketch.node("MaxPool", "x", kernel_shape=[2, 2])
    one = sketch.quantize(sketch.dequantize(pooled, 0.03, S8(1)), 0.05, S8(2))
    other = sketch.quantize(sketch.dequantize(pooled, 0.07, S8(5)), 0.02, S8(-9))

    model = sketch.model({"x": x}, one, other, dtypes=("int8", "int8"))
    network = assert_same(model, {"x": x})

    assert set(kinds_of(network)) == {"max_pool", "lookup"}


@pytest.mark.parametrize(
    ("scale", "text"),
    [
        (np.float32(0), "a scale that is not positive and finite"),
        (np.float32(np.nan), "a scale that is not positive and finite"),
        (np.ones(3, np.float32), "3 scales and 1 zero points"),
    ],
)
def test_bad_scales_are_refused(sketch, rng, scale, text):
    x = any_bytes(rng, S8, 1, 3, 4, 4)
    out = sketch.dequantize("x", scale, S8(0))

    with pytest.raises(ModelError, match=text):
        import_model(sketch.model({"x": x}, out))


def test_activations_quantised_per_channel_are_plain_arithmetic(sketch, assert_same, kinds_of, rng):
    x = any_bytes(rng, S8, 1, 3, 4, 4)
    zeros = np.array([0, -3, 7], S8)
    out = sketch.dequantize("x", [0.5, 0.25, 0.1], zeros)

    network = assert_same(sketch.model({"x": x}, out), {"x": x})
    assert "dequantize" not in kinds_of(network)


@pytest.mark.parametrize("dtype", [S8, U8])
def test_a_scale_without_a_zero_point_is_one_of_zero(sketch, assert_same, rng, dtype):
    x, scale = any_bytes(rng, dtype, 3, 7), sketch.constant(np.float32(SX))
    real = sketch.node("DequantizeLinear", "x", scale)
    out = sketch.node("QuantizeLinear", sketch.node("Mul", real, real), scale)

    assert_same(sketch.model({"x": x}, out, dtypes=("uint8",)), {"x": x})


def test_a_zero_point_that_is_computed_is_plain_arithmetic(sketch, assert_same, rng):
    x, z = any_bytes(rng, U8, 3, 7), np.array(131, U8)
    real = sketch.node("DequantizeLinear", "x", sketch.constant(np.float32(SX)), "z")
    out = sketch.node("Relu", real)

    assert_same(sketch.model({"x": x, "z": z}, out), {"x": x, "z": z})

"""Convolutions of volumes are one convolution of images, against onnxruntime."""

import numpy as np
import pytest

SHAPE = (2, 4, 7, 6, 5)
# Kernel, groups, and what else differs from strides of one without padding.
VOLUMES = [
    ((3, 3, 3), 1, {"pads": [1, 1, 1, 1, 1, 1]}),
    ((3, 2, 3), 2, {"pads": [0, 1, 0, 2, 0, 1], "strides": [2, 1, 2]}),
    ((2, 3, 3), 4, {"dilations": [3, 1, 2]}),
    ((1, 3, 3), 1, {"pads": [1, 1, 1, 0, 1, 1]}),
    ((3, 1, 1), 1, {"pads": [1, 0, 0, 1, 0, 0]}),
    ((3, 1, 1), 4, {"pads": [2, 0, 0, 0, 0, 0], "strides": [2, 2, 3], "dilations": [2, 1, 1]}),
    ((3, 1, 1), 2, {"pads": [1, 1, 1, 1, 1, 1]}),
    ((1, 1, 1), 1, {"strides": [2, 2, 2]}),
    ((3, 2, 2), 1, {"strides": [2, 1, 3], "dilations": [1, 2, 3]}),
    ((4, 5, 3), 2, {"auto_pad": "SAME_UPPER"}),
    ((4, 5, 3), 1, {"auto_pad": "SAME_LOWER", "strides": [3, 1, 1]}),
]


@pytest.mark.parametrize(("kernel", "groups", "attrs"), VOLUMES)
def test_floats(sketch, assert_same, kinds_of, rng, kernel, groups, attrs):
    w = sketch.constant(rng.normal(size=(8, 4 // groups, *kernel)).astype(np.float32))
    b = sketch.constant(rng.normal(size=8).astype(np.float32))
    out = sketch.node("Conv", "x", w, b, group=groups, **attrs)

    network = assert_same(
        sketch.model({"x": SHAPE}, out), {"x": rng.normal(size=SHAPE).astype(np.float32)}
    )
    assert kinds_of(network).count("conv2d") == 1


@pytest.mark.parametrize(("kernel", "groups", "attrs"), VOLUMES)
def test_bytes(sketch, assert_same, kinds_of, rng, kernel, groups, attrs):
    w = rng.integers(-127, 128, (8, 4 // groups, *kernel)).astype(np.int8)
    b = rng.integers(-999, 1000, 8).astype(np.int32)
    x = sketch.dequantize("x", 0.05, np.int8(3))
    weights = sketch.dequantize(sketch.constant(w), 0.02, np.int8(0))
    bias = sketch.dequantize(sketch.constant(b), 0.05 * 0.02, np.int32(0))
    out = sketch.quantize(
        sketch.node("Conv", x, weights, bias, group=groups, **attrs), 0.3, np.int8(-5)
    )

    network = assert_same(
        sketch.model({"x": rng.integers(-128, 128, SHAPE).astype(np.int8)}, out, dtypes=("int8",)),
        {"x": rng.integers(-128, 128, SHAPE).astype(np.int8)},
    )
    assert kinds_of(network).count("conv2d") == 1
    assert not {"quantize", "dequantize"} & set(kinds_of(network))


@pytest.mark.parametrize("kind", ["Conv", "MaxPool", "AveragePool"])
def test_rows_are_padded_unlike_at_both_ends(sketch, assert_same, rng, kind):
    more = {} if kind == "Conv" else {"kernel_shape": [4]}
    weights = [sketch.constant(rng.normal(size=(2, 3, 4)).astype(np.float32))] if not more else []
    out = sketch.node(kind, "x", *weights, pads=[1, 2], strides=[2], **more)

    assert_same(
        sketch.model({"x": (2, 3, 9)}, out), {"x": rng.normal(size=(2, 3, 9)).astype(np.float32)}
    )

"""Transposed convolutions and their kin, against onnxruntime."""

import numpy as np
import pytest


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"strides": [2, 1, 2], "output_padding": [1, 0, 1]},
        {"strides": [1, 2, 2], "pads": [1, 0, 1, 0, 1, 1]},
        {"dilations": [2, 1, 1]},
        {"strides": [2, 2, 2], "auto_pad": "SAME_UPPER"},
    ],
)
def test_volumes(sketch, assert_same, rng, attrs, groups):
    w, bias = floats(rng, 4, 3, 2, 3, 2), floats(rng, 3 * groups)
    inputs = ("x", sketch.constant(w), sketch.constant(bias))
    out = sketch.node("ConvTranspose", *inputs, group=groups, **attrs)

    assert_same(sketch.model({"x": (1, 4, 3, 4, 3)}, out), {"x": floats(rng, 1, 4, 3, 4, 3)})


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_convolutions_of_volumes_pad_themselves(sketch, assert_same, rng, mode):
    w = sketch.constant(floats(rng, 3, 2, 3, 2, 3))
    out = sketch.node("Conv", "x", w, strides=[2, 1, 2], auto_pad=mode)

    assert_same(sketch.model({"x": (1, 2, 6, 5, 4)}, out), {"x": floats(rng, 1, 2, 6, 5, 4)})


@pytest.mark.parametrize(
    "attrs",
    [{}, {"strides": [2, 1]}, {"dilations": [1, 2]}, {"pads": [1, 0, 1, 1], "strides": [3, 2]}],
)
def test_blocks_land_where_they_came_from(sketch, assert_same, rng, attrs):
    image, kernel = np.array([7, 6]), np.array([2, 3])
    steps, gaps = np.array(attrs.get("strides", [1, 1])), np.array(attrs.get("dilations", [1, 1]))
    pads = np.array(attrs.get("pads", [0] * 4)).reshape(2, 2).sum(axis=0)
    count = np.prod((image + pads - gaps * (kernel - 1) - 1) // steps + 1)
    inputs = ("x", sketch.constant(image), sketch.constant(kernel))
    out = sketch.node("Col2Im", *inputs, **attrs)

    shape = (2, 3 * 6, int(count))
    assert_same(sketch.model({"x": shape}, out, opset=18), {"x": floats(rng, *shape)})

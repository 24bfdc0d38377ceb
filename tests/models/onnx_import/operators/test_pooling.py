"""Powers in pools, and the places of maxima, against onnxruntime."""

import numpy as np
import pytest

from accnn.ir.errors import ModelError
from accnn.models.onnx_import import import_model


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("power", [{}, {"p": 1}, {"p": 2}, {"p": 3}])
@pytest.mark.parametrize("attrs", [{}, {"pads": [1, 0, 1, 1], "strides": [2, 1]}])
def test_lp_pool(sketch, assert_same, rng, power, attrs):
    out = sketch.node("LpPool", "x", kernel_shape=[2, 3], **power, **attrs)

    assert_same(sketch.model({"x": (2, 3, 6, 7)}, out, opset=18), {"x": floats(rng, 2, 3, 6, 7)})


@pytest.mark.parametrize("power", [{}, {"p": 1}, {"p": 3}])
def test_global_lp_pool(sketch, assert_same, rng, power):
    out = sketch.node("GlobalLpPool", "x", **power)

    assert_same(sketch.model({"x": (2, 3, 4, 5)}, out), {"x": floats(rng, 2, 3, 4, 5)})


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"strides": [2, 2], "pads": [1, 1, 1, 1]},
        {"strides": [2, 3], "ceil_mode": 1},
        {"dilations": [2, 1]},
        {"storage_order": 1},
        {"auto_pad": "SAME_LOWER"},
    ],
)
def test_places_of_maxima(sketch, assert_same, rng, attrs):
    outs = sketch.several(2, "MaxPool", "x", kernel_shape=[2, 3], **attrs)

    x = rng.integers(-3, 4, (2, 3, 6, 7)).astype(np.float32)  # with many equals
    model = sketch.model({"x": x.shape}, *outs, dtypes=("float32", "int64"))
    assert_same(model, {"x": x})


def test_places_in_a_row(sketch, assert_same, rng):
    outs = sketch.several(2, "MaxPool", "x", kernel_shape=[3])

    model = sketch.model({"x": (2, 3, 8)}, *outs, dtypes=("float32", "int64"))
    assert_same(model, {"x": floats(rng, 2, 3, 8)})


def test_places_in_a_volume_are_refused(sketch):
    outs = sketch.several(2, "MaxPool", "x", kernel_shape=[2, 2, 2])

    model = sketch.model({"x": (1, 1, 4, 4, 4)}, *outs, dtypes=("float32", "int64"))
    with pytest.raises(ModelError, match="returns places in three dimensions"):
        import_model(model)


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    "attrs",
    [
        {"pads": [1, 0, 1, 0, 1, 1]},
        {"strides": [2, 2, 2], "ceil_mode": 1},
        {"strides": [2, 1, 2], "auto_pad": "SAME_UPPER"},
    ],
)
def test_pools_of_volumes(sketch, assert_same, rng, kind, attrs):
    out = sketch.node(kind, "x", kernel_shape=[2, 3, 2], **attrs)

    model = sketch.model({"x": (1, 2, 5, 6, 7)}, out, opset=19)
    assert_same(model, {"x": floats(rng, 1, 2, 5, 6, 7)})


@pytest.mark.parametrize("kind", ["GlobalAveragePool", "GlobalMaxPool"])
@pytest.mark.parametrize("extents", [(5,), (4, 5), (4, 5, 3)])
def test_global_pools_of_any_rank(sketch, assert_same, rng, kind, extents):
    out = sketch.node(kind, "x")

    assert_same(sketch.model({"x": (2, 3, *extents)}, out), {"x": floats(rng, 2, 3, *extents)})

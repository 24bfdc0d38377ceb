"""Samples at computed places, against onnxruntime."""

import numpy as np
import pytest

from accnn.ir.errors import ModelError
from accnn.models.onnx_import import import_model


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_images(sketch, assert_same, rng, mode, padding, corners):
    attrs = {"mode": mode, "padding_mode": padding, "align_corners": corners}
    out = sketch.node("GridSample", "x", "g", **attrs)

    x = rng.normal(size=(2, 3, 5, 6)).astype(np.float32)
    g = rng.uniform(-1.4, 1.4, (2, 4, 3, 2)).astype(np.float32)
    assert_same(sketch.model({"x": x.shape, "g": g.shape}, out, opset=20), {"x": x, "g": g})


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_volumes(sketch, assert_same, rng, mode):
    out = sketch.node("GridSample", "x", "g", mode=mode)

    x = rng.normal(size=(1, 2, 3, 4, 5)).astype(np.float32)
    g = rng.uniform(-1.2, 1.2, (1, 2, 3, 2, 3)).astype(np.float32)
    assert_same(sketch.model({"x": x.shape, "g": g.shape}, out, opset=20), {"x": x, "g": g})


def test_names_of_before_opset_20(sketch, assert_same, rng):
    out = sketch.node("GridSample", "x", "g", mode="bilinear")

    x = rng.normal(size=(1, 1, 4, 4)).astype(np.float32)
    g = rng.uniform(-1, 1, (1, 3, 3, 2)).astype(np.float32)
    assert_same(sketch.model({"x": x.shape, "g": g.shape}, out), {"x": x, "g": g})


def test_another_mode_is_refused(sketch):
    out = sketch.node("GridSample", "x", "g", mode="cubic")

    with pytest.raises(ModelError, match="has mode = 'cubic' in 3 dimensions"):
        import_model(sketch.model({"x": (1, 1, 2, 2, 2), "g": (1, 2, 2, 2, 3)}, out, opset=20))

"""What writes into a tensor, against onnxruntime."""

import numpy as np
import pytest

from accnn.ir.errors import ModelError
from accnn.models.onnx_import import import_model


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_elements(sketch, assert_same, rng, reduction):
    indices = rng.integers(-4, 4, (6, 3))
    if reduction == "none":
        indices = np.argsort(rng.random((6, 3)), axis=0)[:4]  # no place twice
    name = sketch.constant(indices)
    rows = indices.shape[0]
    shape = (4, 3) if reduction != "none" else (6, 3)
    out = sketch.node("ScatterElements", "x", name, "u", axis=0, reduction=reduction)

    model = sketch.model({"x": shape, "u": (rows, 3)}, out, opset=18)
    assert_same(model, {"x": floats(rng, *shape), "u": floats(rng, rows, 3)})


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_slices_that_land_on_each_other(sketch, assert_same, rng, reduction, dtype):
    name = sketch.constant(np.array([[1], [3], [1], [-1], [1]]))
    out = sketch.node("ScatterND", "x", name, "u", reduction=reduction)
    feeds = {"x": rng.integers(-5, 6, (4, 3)), "u": rng.integers(-5, 6, (5, 3))}
    feeds = {key: value.astype(dtype) for key, value in feeds.items()}

    model = sketch.model(feeds, out, opset=18, dtypes=(np.dtype(dtype).name,))
    assert_same(model, feeds)


def test_a_cache_is_not_written_beyond_its_end(sketch):
    inputs = ("x", "u", sketch.constant(np.array([2, 3])))
    out = sketch.node("TensorScatter", *inputs, axis=1)

    with pytest.raises(ModelError, match=r"writes beyond axis 1 of \(2, 4, 3\)"):
        import_model(sketch.model({"x": (2, 4, 3), "u": (2, 2, 3)}, out, opset=24))

"""Fourier transforms, against onnxruntime."""

import numpy as np
import pytest

from accnn.ir.errors import ModelError
from accnn.models.onnx_import import import_model


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("length", [None, 6, 12])
def test_real_samples(sketch, assert_same, rng, onesided, length):
    extra = () if length is None else (sketch.constant(np.int64(length)),)
    out = sketch.node("DFT", "x", *extra, axis=1, onesided=onesided)

    model = sketch.model({"x": (3, 9, 1)}, out)
    assert_same(model, {"x": rng.normal(size=(3, 9, 1)).astype(np.float32)})


def test_complex_samples_along_another_axis(sketch, assert_same, rng):
    out = sketch.node("DFT", "x", "", sketch.constant(np.int64(-3)))

    model = sketch.model({"x": (2, 5, 4, 2)}, out, opset=20)
    assert_same(model, {"x": rng.normal(size=(2, 5, 4, 2)).astype(np.float32)})


@pytest.mark.parametrize("with_window", [False, True])
def test_frames(sketch, assert_same, rng, with_window):
    window = sketch.constant(rng.uniform(0, 1, 8).astype(np.float32)) if with_window else ""
    inputs = ("x", sketch.constant(np.int64(3)), window, sketch.constant(np.int64(8)))
    out = sketch.node("STFT", *inputs)

    model = sketch.model({"x": (2, 25, 1)}, out)
    assert_same(model, {"x": rng.normal(size=(2, 25, 1)).astype(np.float32)})


@pytest.mark.parametrize(("step", "length"), [(3, 30), (3, 0), (0, 8), (-1, 8)])
def test_frames_that_the_signal_has_not_are_refused(sketch, step, length):
    inputs = ("x", sketch.constant(np.int64(step)), "", sketch.constant(np.int64(length)))
    out = sketch.node("STFT", *inputs)

    with pytest.raises(ModelError, match=f"takes frames of {length} by {step} of 25 samples"):
        import_model(sketch.model({"x": (2, 25, 1)}, out))

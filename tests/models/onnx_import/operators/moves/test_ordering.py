"""The largest elements, against onnxruntime."""

import numpy as np
import pytest

from accnn.runtime_sim.reference import run as run_reference


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("largest", [0, 1])
def test_top_k_with_many_equals(sketch, assert_same, rng, k, axis, largest):
    inputs = ("x", sketch.constant(np.array([k])))
    outs = sketch.several(2, "TopK", *inputs, axis=axis, largest=largest)

    x = rng.integers(-2, 3, (7, 7)).astype(np.float32)
    model = sketch.model({"x": x.shape}, *outs, dtypes=("float32", "int64"))
    assert_same(model, {"x": x})


def test_top_k_of_what_is_infinite_finds_every_place_once(sketch, rewrite):
    (_, places) = outs = sketch.several(2, "TopK", "x", sketch.constant(np.array([3])))
    model = sketch.model({"x": (1, 3)}, *outs, dtypes=("float32", "int64"))
    network = rewrite(model)

    x = np.full((1, 3), -np.inf, np.float32)
    found = run_reference(network.graph, network.constants, {"x": x})
    assert found[dict(network.output_names)[places]].tolist() == [[0, 1, 2]]


def test_integers(sketch, assert_same, rng):
    outs = sketch.several(2, "TopK", "x", sketch.constant(np.array([4])))
    x = rng.integers(-(2**62), 2**62, (3, 9))
    x[0, 0] = np.iinfo(np.int64).min

    model = sketch.model({"x": x}, *outs, dtypes=("int64", "int64"))
    assert_same(model, {"x": x})

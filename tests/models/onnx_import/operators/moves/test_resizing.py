"""Resizing, against onnxruntime."""

import numpy as np
import pytest


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("sizes", [[6, 8], [5, 3], [11, 10]])
def test_the_ratio_of_extents_is_kept(sketch, assert_same, rng, policy, mode, sizes):
    inputs = ("x", "", "", sketch.constant(np.array(sizes)))
    attrs = {"mode": mode, "keep_aspect_ratio_policy": policy, "axes": [2, 3]}
    out = sketch.node("Resize", *inputs, **attrs)

    model = sketch.model({"x": (1, 2, 4, 7)}, out, opset=18)
    assert_same(model, {"x": rng.normal(size=(1, 2, 4, 7)).astype(np.float32)})


def test_a_value_stands_outside_of_the_region(sketch, assert_same, rng):
    region = sketch.constant(np.array([0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7], np.float32))
    inputs = ("x", region, "", sketch.constant(np.array([1, 1, 3, 3])))
    attrs = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 10.0}
    out = sketch.node("Resize", *inputs, mode="linear", **attrs)

    model = sketch.model({"x": (1, 1, 4, 4)}, out)
    assert_same(model, {"x": rng.normal(size=(1, 1, 4, 4)).astype(np.float32)})


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [[1, 1, 2, 3], [1, 1, 0.6, 1.5], [1, 1, 1, 0.3]])
def test_extents_follow_scales(sketch, assert_same, rng, mode, scales):
    inputs = ("x", "", sketch.constant(np.array(scales, np.float32)))
    out = sketch.node("Resize", *inputs, mode=mode)

    model = sketch.model({"x": (1, 2, 4, 7)}, out)
    assert_same(model, {"x": rng.normal(size=(1, 2, 4, 7)).astype(np.float32)})


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("way", ["half_pixel", "align_corners", "asymmetric"])
def test_long_axes_that_stay_as_they_are_need_no_matrix(sketch, assert_same, rng, mode, way):
    inputs = ("x", "", "", sketch.constant(np.array([1, 1, 2**14, 4])))
    attrs = {"mode": mode, "coordinate_transformation_mode": way}
    if mode == "nearest":
        attrs["nearest_mode"] = "floor"
    out = sketch.node("Resize", *inputs, **attrs)

    model = sketch.model({"x": (1, 1, 2**14, 2)}, out)
    assert_same(model, {"x": rng.normal(size=(1, 1, 2**14, 2)).astype(np.float32)})


def test_all_of_an_axis_is_no_part_of_it(sketch, assert_same, rng):
    region = sketch.constant(np.array([0, 0, 0, 0, 1, 1, 1, 0.6], np.float32))
    inputs = ("x", region, "", sketch.constant(np.array([1, 1, 2**14, 3])))
    attrs = {"coordinate_transformation_mode": "tf_crop_and_resize"}
    out = sketch.node("Resize", *inputs, mode="linear", **attrs)

    model = sketch.model({"x": (1, 1, 2**14, 2)}, out)
    assert_same(model, {"x": rng.normal(size=(1, 1, 2**14, 2)).astype(np.float32)})

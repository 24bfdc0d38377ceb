"""Operators as older opsets define them, attributes where newer ones have inputs; onnxruntime."""

import numpy as np
import pytest

from accnn.ir.errors import ModelError
from accnn.models.onnx_import import import_model


def floats(rng: np.random.Generator, *shape: int):
    return rng.normal(size=shape).astype(np.float32)


CASES = [
    (9, "Slice", (3, 5, 4), {"starts": [1, -4], "ends": [3, 100], "axes": [0, 1]}),
    (9, "Slice", (3, 5, 4), {"starts": [0, 1, 2], "ends": [2, -1, 4]}),
    (11, "Squeeze", (1, 5, 1, 4), {"axes": [0, -2]}),
    (11, "Squeeze", (1, 5, 1, 4), {}),
    (11, "Unsqueeze", (5, 4), {"axes": [0, 3]}),
    (10, "Pad", (3, 5), {"pads": [1, 0, 0, 2], "value": 1.5}),
    (10, "Pad", (3, 5), {"pads": [1, 2, 0, 3], "mode": "reflect"}),
    (10, "Pad", (3, 5), {"pads": [1, 2, 0, 3], "mode": "edge"}),
    (11, "ReduceSum", (3, 5, 4), {"axes": [0, -1], "keepdims": 0}),
    (11, "ReduceSum", (3, 5, 4), {}),
    (17, "ReduceMax", (3, 5, 4), {"axes": [1]}),
    (17, "ReduceL2", (3, 5, 4), {"axes": [2], "keepdims": 0}),
    (12, "Softmax", (3, 5, 4), {}),
    (12, "Softmax", (3, 5, 4), {"axis": 2}),
    (13, "Softmax", (3, 5, 4), {"axis": 1}),
    (12, "LogSoftmax", (3, 5, 4), {"axis": 0}),
    (12, "Hardmax", (3, 5, 4), {}),
    (10, "Clip", (3, 5), {"min": -0.5, "max": 0.75}),
    (10, "Clip", (3, 5), {"max": 0.25}),
    (10, "Dropout", (3, 5), {"ratio": 0.25}),
    (8, "Flatten", (3, 5, 4), {"axis": 2}),
    (12, "GlobalAveragePool", (2, 3, 5, 4), {}),
    (10, "AveragePool", (1, 2, 8, 7), {"kernel_shape": [3, 2], "count_include_pad": 1}),
    (8, "MaxPool", (1, 2, 8, 7), {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1]}),
]


@pytest.mark.parametrize(("opset", "kind", "shape", "attrs"), CASES)
def test_with_attributes(sketch, assert_same, rng, opset, kind, shape, attrs):
    out = sketch.node(kind, "x", **attrs)

    assert_same(sketch.model({"x": shape}, out, opset=opset), {"x": floats(rng, *shape)})


@pytest.mark.parametrize("attrs", [{"split": [1, 3, 2]}, {}])
def test_parts_of_an_axis(sketch, assert_same, rng, attrs):
    outs = sketch.several(3, "Split", "x", axis=1, **attrs)

    assert_same(sketch.model({"x": (2, 6)}, *outs, opset=11), {"x": floats(rng, 2, 6)})


@pytest.mark.parametrize(("opset", "largest"), [(9, None), (10, None), (11, 0), (11, 1)])
def test_the_largest(sketch, assert_same, rng, opset, largest):
    inputs = ["x"] if opset < 10 else ["x", sketch.constant(np.array([2]))]
    attrs = ({"k": 2} if opset < 10 else {}) | ({} if largest is None else {"largest": largest})
    values, places = sketch.several(2, "TopK", *inputs, axis=1, **attrs)

    model = sketch.model({"x": (3, 5)}, values, places, opset=opset, dtypes=("float32", "int64"))
    assert_same(model, {"x": floats(rng, 3, 5)})


@pytest.mark.parametrize("opset", [9, 10, 13, 14])
def test_zero_keeps_an_extent(sketch, opset):
    out = sketch.node("Reshape", "x", sketch.constant(np.array([0, -1])))

    network = import_model(sketch.model({"x": (2, 3, 4)}, out, opset=opset))

    assert network.graph.ops[0].result.type.shape == (2, 12)


def test_scales_in_an_attribute_are_refused(sketch):
    out = sketch.node("Upsample", "x", mode="nearest", scales=[1.0, 1.0, 2.0, 3.0])

    with pytest.raises(ModelError, match="scales as an attribute, which opset 9 made an input"):
        import_model(sketch.model({"x": (1, 2, 4, 3)}, out, opset=7))


@pytest.mark.parametrize("opset", [9, 11, 13])
def test_twice_as_large(sketch, assert_same, rng, opset):
    factors = sketch.constant(np.array([1, 1, 2, 3], np.float32))
    kind = "Upsample" if opset == 9 else "Resize"
    region = [sketch.constant(np.zeros(0, np.float32))] if opset > 10 else []
    attrs = {"coordinate_transformation_mode": "asymmetric"} if opset > 10 else {}
    if opset > 10:
        attrs["nearest_mode"] = "floor"
    out = sketch.node(kind, "x", *region, factors, mode="nearest", **attrs)

    model = sketch.model({"x": (1, 2, 4, 3)}, out, opset=opset)
    assert_same(model, {"x": floats(rng, 1, 2, 4, 3)})

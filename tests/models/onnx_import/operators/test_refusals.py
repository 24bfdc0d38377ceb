"""What import functions refuse, in words that say what is wrong."""

import numpy as np
import pytest

from accnn.ir.errors import ModelError
from accnn.models.onnx_import import import_model

I64 = np.int64


@pytest.mark.parametrize(
    ("kind", "shape", "constants", "attrs", "text"),
    [
        ("Slice", (2, 3), [[3], [3]], {}, "takes nothing of axis 0"),
        ("Split", (6, 2), [[2, 2, 2]], {}, r"splits 6 elements into \(2, 2, 2\)"),
        ("Gather", (3, 2), [[4]], {}, "has indices outside of an axis of 3"),
        ("Pad", (2, 3), [[0, 3, 0, 0]], {"mode": "reflect"}, "more than mode reflect finds"),
        ("ScatterND", (4,), [[[1]], np.ones(1, np.float32)], {"reduction": "add"}, "adds up what"),
        ("DepthToSpace", (2, 8), [], {"blocksize": 2}, r"supported: \[N, C, H, W\]"),
        ("Einsum", (2, 2), [], {"equation": "ii->i"}, "one label for each axis"),
        ("Einsum", (2, 2), [], {"equation": "ij,jk->ik"}, "has 1 operands for 'ij,jk'"),
        ("Cast", (2, 2), [], {"to": 10}, "has element type float16"),
        ("LpNormalization", (2, 2), [], {"p": 3}, "has p = 3; supported: 1 or 2"),
        (
            "ConvTranspose",
            (1, 2, 3, 3, 3),
            [np.ones((2, 1, 1, 1, 1), np.float32)],
            {},
            "supported: one or two dimensions",
        ),
        (
            "AveragePool",
            (1, 2, 4, 4, 4),
            [],
            {"kernel_shape": [2, 2, 2], "pads": [1, 0, 0, 0, 0, 0]},
            "averages over padding in three dimensions",
        ),
        (
            "MaxPool",
            (1, 2, 4, 4, 4),
            [],
            {"kernel_shape": [2, 2, 2], "auto_pad": "SAME_UPPER"},
            "pads itself in three dimensions",
        ),
        (
            "Conv",
            (1, 2, 4, 4, 4),
            [np.ones((1, 2, 1, 1, 1), np.float32)],
            {"auto_pad": "SAME_UPPER"},
            "pads itself in three dimensions",
        ),
    ],
)
def test_what_is_not_supported_is_said(sketch, kind, shape, constants, attrs, text):
    given = (np.asarray(item, None if isinstance(item, np.ndarray) else I64) for item in constants)
    out = sketch.node(kind, "x", *(sketch.constant(item) for item in given), **attrs)

    with pytest.raises(ModelError, match=text):
        import_model(sketch.model({"x": shape}, out, opset=18))


@pytest.mark.parametrize(
    ("attrs", "sizes", "text"),
    [
        ({"keep_aspect_ratio_policy": "not_larger"}, [4, 4], "keep_aspect_ratio_policy"),
        (
            {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 1.0},
            [4, 4],
            "extrapolation value other than 0",
        ),
    ],
)
def test_ways_to_resize_that_are_not_supported(sketch, attrs, sizes, text):
    inputs = ("x", "", "", sketch.constant(np.array(sizes, I64)))
    out = sketch.node("Resize", *inputs, mode="linear", **attrs)

    with pytest.raises(ModelError, match=text):
        import_model(sketch.model({"x": (2, 3)}, out, opset=18))


def test_bounds_that_are_computed_are_refused(sketch):
    out = sketch.node("Slice", "x", "first", sketch.constant(np.array([2], I64)))

    model = sketch.model({"x": (4,), "first": np.zeros(1, I64)}, out)
    with pytest.raises(ModelError, match="needs a constant starts; 'first' is computed"):
        import_model(model)


def test_an_operator_is_replaced_by_its_body(sketch, assert_same, kinds_of):
    size = sketch.constant(np.array([2, 5], I64))
    out = sketch.node("CenterCropPad", "x", size)

    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    network = assert_same(sketch.model({"x": (4, 3)}, out, opset=18), {"x": x})
    assert set(kinds_of(network)) <= {"slice", "pad", "reshape", "concat"}

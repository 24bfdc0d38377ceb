"""What import functions refuse, in words that say what is wrong."""

import tracemalloc

import numpy as np
import pytest
from onnx import TensorProto, helper

from accnn.ir.errors import ComputedOperandError, ModelError
from accnn.models.onnx_import import import_model

I64 = np.int64


@pytest.mark.parametrize(
    ("kind", "shape", "constants", "attrs", "text"),
    [
        ("Slice", (2, 3), [[3], [3]], {}, "no output has elements: t0"),
        ("Split", (6, 2), [[2, 2, 2]], {}, r"splits 6 elements into \(2, 2, 2\)"),
        ("Gather", (3, 2), [[4]], {}, "has indices outside of an axis of 3"),
        ("Pad", (2, 3), [[0, 3, 0, 0]], {"mode": "reflect"}, "more than mode reflect finds"),
        (
            "ScatterND",
            (4,),
            [np.zeros((65, 1), I64), np.ones(65, np.float32)],
            {"reduction": "add"},
            "updates one place more than 64 times",
        ),
        ("ScatterND", (4,), [[[1]], np.ones(1, np.float32)], {"reduction": "or"}, "'or'"),
        ("Col2Im", (1, 6, 8), [[9], [2]], {}, r"blocks \(2,\); supported: two or three dim"),
        ("Col2Im", (1, 5, 8), [[3, 5], [2, 2]], {}, r"5x8 elements for blocks \(2, 2\)"),
        (
            "ConvTranspose",
            (1, 2, 3, 3, 3, 3),
            [np.ones((2, 1, 1, 1, 1, 1), np.float32)],
            {},
            r"weights \(2, 1, 1, 1, 1, 1\); supported: one to three",
        ),
        ("DepthToSpace", (2, 8), [], {"blocksize": 2}, r"supported: \[N, C, H, W\]"),
        ("Einsum", (2, 2), [], {"equation": "i->i"}, "one label for each axis"),
        ("Einsum", (2, 2), [], {"equation": "ij,jk->ik"}, "has 1 operands for 'ij,jk'"),
        *(
            (
                "Conv",
                (1, 2, 5, 5),
                [np.ones((3, 2, 2, 2), np.float32)],
                {"strides": strides},
                f"has strides = .*{strides[-1]}.*; supported: two values of at least 1",
            )
            for strides in ([2, 0], [0, 3], [1, 2, 3])
        ),
        ("Cast", (2, 2), [], {"to": 16}, "has element type bfloat16"),
        ("TopK", (2, 3), [[4]], {}, "takes 4 of 3 elements"),
        ("LpNormalization", (2, 2), [], {"p": 3}, "has p = 3; supported: 1 or 2"),
        (
            "ConvTranspose",
            (1, 2, 3, 3, 3, 3),
            [np.ones((2, 1, 1, 1, 1, 1), np.float32)],
            {},
            "supported: one to three dimensions",
        ),
        (
            "DFT",
            (1, 4, 2),
            [],
            {"inverse": 1},
            "the inverse of a whole spectrum",
        ),
    ],
)
def test_what_is_not_supported_is_said(sketch, kind, shape, constants, attrs, text):
    given = (np.asarray(item, None if isinstance(item, np.ndarray) else I64) for item in constants)
    out = sketch.node(kind, "x", *(sketch.constant(item) for item in given), **attrs)

    with pytest.raises(ModelError, match=text):
        import_model(sketch.model({"x": shape}, out, opset=18))


def test_corners_of_a_fraction_are_refused(sketch):
    inputs = ("x", "", sketch.constant(np.array([1.0, 0.6], np.float32)))
    attrs = {"coordinate_transformation_mode": "align_corners"}
    out = sketch.node("Resize", *inputs, mode="linear", **attrs)

    with pytest.raises(ModelError, match=r"aligns the corners of 2\.4 elements"):
        import_model(sketch.model({"x": (2, 4)}, out, opset=18))


def test_bounds_that_are_computed_are_refused(sketch):
    out = sketch.node("Slice", "x", "first", sketch.constant(np.array([2], I64)))

    model = sketch.model({"x": (4,), "first": np.zeros(1, I64)}, out)
    with pytest.raises(ComputedOperandError, match="needs a constant starts") as caught:
        import_model(model)
    assert caught.value.inputs == ("first",)
    assert "--constant first=..." in str(caught.value)


def test_what_an_operand_is_computed_from_is_named(sketch):
    size = sketch.node("Mul", "rows", sketch.node("Neg", "columns"))
    out = sketch.node("ConstantOfShape", size)

    model = sketch.model({"rows": np.zeros(1, I64), "columns": np.zeros(1, I64)}, out)
    with pytest.raises(ComputedOperandError) as caught:
        import_model(model)
    assert caught.value.inputs == ("rows", "columns")


def test_operators_of_a_loop_body_are_named_with_all_others(sketch):
    value = helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)
    inner = helper.make_node("Wonder", ["x"], ["inner"])
    branch = helper.make_graph([inner], "branch", [], [value])
    holds = sketch.constant(np.array(True))
    out = sketch.node("If", holds, then_branch=branch, else_branch=branch)

    with pytest.raises(ModelError, match="Wonder node 'inner' .*; Marvel node 'n_t1'"):
        import_model(sketch.model({"x": (2,)}, sketch.node("Marvel", out)))


def test_an_operator_is_replaced_by_its_body(sketch, assert_same, kinds_of):
    size = sketch.constant(np.array([2, 5], I64))
    out = sketch.node("CenterCropPad", "x", size)

    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    network = assert_same(sketch.model({"x": (4, 3)}, out, opset=18), {"x": x})
    assert set(kinds_of(network)) <= {"slice", "pad", "reshape", "concat"}


ONE = np.ones(1, np.float32)


@pytest.mark.parametrize(
    ("kind", "shape", "constants", "attrs"),
    [
        ("EyeLike", (2**14, 2**14), [], {}),
        ("Trilu", (2**14, 2**14), [], {}),
        ("OneHot", (2,), [np.array(2**40), np.array([0, 1], np.float32)], {}),
        ("CumSum", (2**14,), [np.array(0)], {}),
        ("ScatterElements", (2**27,), [np.array([0]), ONE], {}),
        ("ScatterND", (2**27,), [np.array([[0]]), ONE], {}),
        ("ReverseSequence", (2**27, 1), [np.array([5])], {}),
        ("Resize", (1, 1, 2**14, 1), ["", "", np.array([1, 1, 2**13, 1])], {"mode": "linear"}),
    ],
)
def test_a_small_file_makes_no_huge_constant(sketch, kind, shape, constants, attrs):
    """Nothing of the kind is allocated: 2 to the 27th indices are a gibibyte."""
    given = ("" if isinstance(item, str) else sketch.constant(item) for item in constants)
    out = sketch.node(kind, "x", *given, **attrs)

    tracemalloc.start()
    with pytest.raises(ModelError, match="makes a constant of more than 67108864 elements"):
        import_model(sketch.model({"x": shape}, out, opset=18))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2**24


def test_more_axes_than_any_tensor_has(sketch):
    out = sketch.node("Reshape", "x", sketch.constant(np.ones(65, I64)))

    with pytest.raises(ModelError, match="a tensor has 65 axes, more than 64"):
        import_model(sketch.model({"x": (1,)}, out))

"""Inputs that are bound to constants."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from accnn.ir.errors import OptionError
from accnn.models.onnx_import.loading.constants import as_rows, bind_constants, flat


def model(shape, code=TensorProto.INT64, ir_version=10):
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"])
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
        helper.make_tensor_value_info("axes", code, shape),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph([node], "g", inputs, outputs)
    return helper.make_model(graph, ir_version=ir_version)


@pytest.mark.parametrize(
    ("shape", "given", "expected"),
    [
        ([2], (0, 1), np.array([0, 1])),
        (["n"], (0,), np.array([0])),
        (["n"], 1, np.array([1])),
        ([], (1,), np.array(1)),
        ([2, 2], (1, 2, 3, 4), np.array([[1, 2], [3, 4]])),
        (None, ((1, 2), (3, 4)), np.array([[1, 2], [3, 4]])),
        ([0], (), np.zeros(0)),
        ([2, 0, 3], ((), ()), np.zeros((2, 0, 3))),
    ],
)
def test_an_input_becomes_an_initialiser(shape, given, expected):
    bound = model(shape)
    bind_constants(bound, {"axes": given})

    assert [value.name for value in bound.graph.input] == ["x"]
    (tensor,) = bound.graph.initializer
    found = numpy_helper.to_array(tensor)
    assert (tensor.name, found.dtype) == ("axes", np.int64)
    assert np.array_equal(found, expected)


def test_old_models_keep_the_input():
    bound = model([1], ir_version=3)
    bind_constants(bound, {"axes": (1,)})

    assert [value.name for value in bound.graph.input] == ["x", "axes"]


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("k", (1,), "--constant names 'k', which is no input of the model"),
        ("axes", (0.5,), r"--constant axes=\(0.5,\): not all are of type int64"),
        ("axes", (0, 1, 2), r"--constant axes has the shape \[3\], the model says \[2\]"),
        ("axes", (2**70,), "not all are of type int64|no tensor of numbers"),
        ("axes", ((1, 2), (3,)), "no tensor of numbers"),
    ],
)
def test_a_value_that_does_not_suit_is_refused(name, given, text):
    with pytest.raises(OptionError, match=text):
        bind_constants(model([2]), {name: given})


def test_numbers_round_to_floats():
    bound = model([1], TensorProto.FLOAT)
    bind_constants(bound, {"axes": (0.1,)})

    assert numpy_helper.to_array(bound.graph.initializer[0]) == np.float32(0.1)


@pytest.mark.parametrize("array", [np.array(3), np.arange(6).reshape(2, 3), np.zeros((2, 0))])
def test_an_array_as_rows_is_itself(array):
    assert np.array_equal(np.asarray(as_rows(array)), array)
    assert flat(as_rows(array)) == tuple(array.reshape(-1).tolist())

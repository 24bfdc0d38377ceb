"""Reference sessions: integer semantics that do not depend on luck."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from accnn.models.session import (
    Optimisation,
    as_written,
    make_session,
    run,
)
from accnn.models.zoo import build


@pytest.fixture(scope="module")
def session():
    return make_session(build("squeezenet1_1", image_size=32, classes=10))


def test_outputs_come_by_name(session):
    result = run(session, {"input": np.zeros((1, 3, 32, 32), np.float32)})

    assert {name: array.shape for name, array in result.items()} == {"logits": (1, 10)}


def softmax_between_integers() -> ModelProto:
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "coarse", "zero"], ["f"]),
        helper.make_node("Softmax", ["f"], ["p"], axis=1),
        helper.make_node("QuantizeLinear", ["p", "fine", "low"], ["y"]),
    ]
    constants = [
        numpy_helper.from_array(np.array(value), name)
        for name, value in (
            ("coarse", np.float32(0.05)),
            ("fine", np.float32(1 / 256)),
            ("zero", np.int8(0)),
            ("low", np.int8(-128)),
        )
    ]
    shape = (4, 16)
    graph = helper.make_graph(
        nodes,
        "softmax",
        [helper.make_tensor_value_info("x", TensorProto.INT8, shape)],
        [helper.make_tensor_value_info("y", TensorProto.INT8, shape)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_softmax_between_integers_is_computed_in_floats():
    model = softmax_between_integers()
    x = np.random.default_rng(0).integers(-128, 128, (4, 16)).astype(np.int8)
    exponentials = np.exp(x * np.float32(0.05) - np.float32(7))
    shares = exponentials / exponentials.sum(axis=1, keepdims=True)
    expected = np.clip(np.rint(shares * 256) - 128, -128, 127).astype(np.int8)

    found = run(make_session(as_written(model)), {"x": x})

    np.testing.assert_array_equal(found["y"], expected)
    np.testing.assert_allclose(found["p"], shares, rtol=1e-5)
    assert [output.name for output in model.graph.output] == ["y"]


def an_output_that_is_moved_and_quantised() -> ModelProto:
    nodes = [
        helper.make_node("Relu", ["x"], ["y"]),
        helper.make_node("Transpose", ["y"], ["t"], perm=[1, 0]),
        helper.make_node("QuantizeLinear", ["t", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["z"]),
    ]
    scale = numpy_helper.from_array(np.array(np.float32(0.25)), "scale")
    zero = numpy_helper.from_array(np.array(np.int8(0)), "zero")
    graph = helper.make_graph(
        nodes,
        "moved",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 3)),
            helper.make_tensor_value_info("z", TensorProto.FLOAT, (3, 2)),
        ],
        [scale, zero],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_an_output_is_returned_before_it_is_quantised():
    x = np.array([[0.1, 0.2, 0.3], [-1.0, 1.1, 1.2]], np.float32)

    found = run(make_session(as_written(an_output_that_is_moved_and_quantised())), {"x": x})

    np.testing.assert_array_equal(found["y"], np.maximum(x, 0))
    np.testing.assert_array_equal(found["z"], np.rint(np.maximum(x, 0).T * 4) / 4)


def maxima_that_are_quantised(places: str) -> ModelProto:
    nodes = [
        helper.make_node("MaxPool", ["x"], ["m", places], kernel_shape=[2]),
        helper.make_node("QuantizeLinear", ["m", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    scale = numpy_helper.from_array(np.array(np.float32(1.0)), "scale")
    zero = numpy_helper.from_array(np.array(np.int8(0)), "zero")
    floats = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 1, size))
        for name, size in (("x", 4), ("y", 3))
    ]
    outputs = [floats[1], helper.make_tensor_value_info(places, TensorProto.INT64, (1, 1, 3))]
    graph = helper.make_graph(
        nodes, "pool", floats[:1], outputs if places else outputs[:1], [scale, zero]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_the_places_of_maxima_are_found_before_these_are_quantised():
    x = np.array([[[0.6, 0.9, 1.2, 200.0]]], np.float32)  # two of these round to the same integer

    found = run(make_session(as_written(maxima_that_are_quantised("at"))), {"x": x})

    np.testing.assert_array_equal(found["at"], [[[1, 2, 3]]])
    np.testing.assert_array_equal(found["y"], [[[1.0, 1.0, 127.0]]])


def test_places_of_maxima_of_integers_are_found():
    node = helper.make_node("MaxPool", ["x"], ["m", "at"], kernel_shape=[2])
    x, m, at = (
        helper.make_tensor_value_info(name, kind, (1, 1, size))
        for name, kind, size in (
            ("x", TensorProto.UINT8, 4),
            ("m", TensorProto.UINT8, 3),
            ("at", TensorProto.INT64, 3),
        )
    )
    graph = helper.make_graph([node], "pool", [x], [at], value_info=[m])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    found = run(make_session(as_written(model)), {"x": np.array([[[3, 3, 5, 1]]], np.uint8)})

    np.testing.assert_array_equal(found["at"], [[[0, 2, 2]]])


def test_maxima_without_places_need_not_be_returned():
    model = maxima_that_are_quantised("")

    assert as_written(model).graph.output == model.graph.output


def quantised_twice() -> ModelProto:
    """Return integers in steps of 0.05, read as floats and quantised in steps of 0.011."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "coarse", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "coarse", "zero"], ["f"]),
        helper.make_node("QuantizeLinear", ["f", "fine", "zero"], ["r"]),
        helper.make_node("DequantizeLinear", ["r", "fine", "zero"], ["y"]),
    ]
    constants = [
        numpy_helper.from_array(np.array(value), name)
        for name, value in (
            ("coarse", np.float32(0.05)),
            ("fine", np.float32(0.011)),
            ("zero", np.uint8(128)),
        )
    ]
    graph = helper.make_graph(
        nodes,
        "twice",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (32,))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (32,))],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_what_is_quantised_twice_is_rounded_twice():
    x = np.linspace(-1.3, 1.3, 32, dtype=np.float32)
    coarse, fine = np.float32(0.05), np.float32(0.011)

    found = run(make_session(as_written(quantised_twice())), {"x": x})

    once = np.rint(x / coarse) * coarse
    np.testing.assert_array_equal(found["y"], np.rint(once / fine) * fine)


def test_an_unknown_level_is_refused():
    with pytest.raises(ValueError, match="'most' is not a valid Optimisation"):
        make_session(build("squeezenet1_1", image_size=32), optimisation="most")


def test_levels_are_spelled_as_on_the_command_line():
    assert [str(level) for level in Optimisation] == ["none", "basic", "extended", "all"]


@pytest.mark.parametrize("said", [None, "0"])
def test_onnxruntime_leaves_no_device_id_behind(said: str | None, tmp_path: Path):
    """It writes one, and reports what it loads, unless it is told not to; a user's word counts."""
    code = """
import os
from accnn.models.session import make_session
from accnn.models.zoo import build
make_session(build("squeezenet1_1", image_size=32, classes=10))
print(os.environ.get("ORT_DISABLE_TELEMETRY"))
"""
    quiet = ("CI", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    environment = {name: text for name, text in os.environ.items() if name not in quiet}
    environment |= {"HOME": str(tmp_path)} | ({} if said is None else {quiet[1]: said})

    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == (said or "1")
    if said is None:
        assert [str(path) for path in tmp_path.rglob("*") if "Microsoft" in path.parts] == []

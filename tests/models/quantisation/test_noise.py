"""Signal-to-noise ratios of the tensors of a quantised model."""

import math

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from accnn.models.quantisation.noise import layer_noise, output_snr_db
from accnn.models.quantisation.quantize import quantize

SHAPE = (1, 3, 6, 6)


def network(weights=0.3):
    """Convolution, sigmoid, convolution."""
    rng = np.random.default_rng(0)
    w = [(rng.normal(size=(3, 3, 3, 3)) * weights).astype(np.float32) for _ in range(2)]
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["first"]),
        helper.make_node("Sigmoid", ["first"], ["second"]),
        helper.make_node("Conv", ["second", "w1"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, 2, 2])],
        [numpy_helper.from_array(array, f"w{number}") for number, array in enumerate(w)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def samples(count=2, scale=1.0):
    rng = np.random.default_rng(1)
    return [{"x": (rng.normal(size=SHAPE) * scale).astype(np.float32)} for _ in range(count)]


def test_every_tensor_that_passes_through_integers_has_a_ratio():
    model = network()
    found = layer_noise(model, quantize(model).model, samples())

    assert {item.name for item in found} == {"first", "second", "y"}
    assert [item.snr_db for item in found] == sorted(item.snr_db for item in found)
    assert all(10 < item.snr_db < 70 for item in found)


def test_the_output_has_the_ratio_of_the_whole():
    model = network()
    quantised = quantize(model).model
    (output,) = (i for i in layer_noise(model, quantised, samples()) if i.name == "y")

    assert output.snr_db == pytest.approx(output_snr_db(model, quantised, samples()), abs=0.5)


def test_what_lies_outside_of_the_ranges_makes_the_ratio_worse():
    model = network()
    quantised = quantize(model).model
    inside, outside = (
        {item.name: item.snr_db for item in layer_noise(model, quantised, samples(scale=scale))}
        for scale in (1.0, 10.0)
    )

    assert outside["first"] < inside["first"] - 10


def test_equal_tensors_and_zeros_are_left_out():
    model = network(weights=0.0)
    quantised = quantize(model).model

    assert "first" not in {item.name for item in layer_noise(model, quantised, samples())}
    assert output_snr_db(model, quantised, samples()) == math.inf

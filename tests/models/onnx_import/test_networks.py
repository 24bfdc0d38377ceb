"""Whole networks of the zoo, float and quantised, tensor by tensor against onnxruntime."""

import numpy as np
import onnx
import pytest

from accnn.models.quantisation.quantize import quantize
from accnn.models.sections import quantised_tensors
from accnn.models.session import Optimisation, make_session, run
from accnn.models.zoo import build
from accnn.runtime_sim.reference import run as run_reference
from tests.zoo_networks import INTEGER, LEAST_SIZE

SLOW = ("vgg16", "alexnet", "densenet121", "inception_v3", "resnet34", "resnet50", "resnext50")
FAST = [name for name in INTEGER if name not in SLOW]
SIZE = 32
"""Height and width of images of the fast ones [pixel]."""


def image(size):
    return np.random.default_rng(1).normal(size=(1, 3, size, size)).astype(np.float32)


def with_every_integer_tensor(model):
    """Make the output of every QuantizeLinear an output of the model."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear":
            info = onnx.helper.make_tensor_value_info(node.output[0], onnx.TensorProto.INT8, None)
            wide.graph.output.append(info)
    return wide


def computed_as(model, network, tensors):
    """Return the computed tensor that is each ONNX tensor, by ONNX name, where there is one.

    What a pool or a reshape makes of integers is quantised already: rewriting makes `pool.q` of
    `pool`, and drops the QuantizeLinear that follows it where scale and zero point stay.
    """
    found = {key: name for key, name in network.tensor_names if name in tensors}
    moved = {key: f"{source}.q" for key, source in quantised_tensors(model).items()}
    return {key: name for key, name in moved.items() if name in tensors} | found


def assert_bit_equal(rewrite, name, size, width=1.0, classes=1000):
    model = quantize(build(name, image_size=size, width=width, classes=classes), samples=2).model
    network, x = rewrite(model), image(size)
    tensors = run_reference(network.graph, network.constants, {network.input_names[0][1]: x})
    feeds = {model.graph.input[0].name: x}
    final = run(make_session(model, threads=1), feeds)
    layers = run(make_session(with_every_integer_tensor(model), threads=1), feeds)
    computed = computed_as(model, network, tensors)

    assert [key for key in layers if key not in computed] == []
    assert all(np.array_equal(tensors[computed[key]], layers[key]) for key in layers)
    for key, output in network.output_names:
        assert np.array_equal(tensors[output], final[key])
        assert tensors[output].std() > 0
    return network


@pytest.mark.parametrize("name", FAST)
def test_quantised_networks_are_bit_equal(name, rewrite):
    network = assert_bit_equal(rewrite, name, SIZE, width=0.25, classes=50)

    kinds = [op.kind for op in network.graph.ops]
    assert kinds.count("quantize") == kinds.count("dequantize") == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", INTEGER)
@pytest.mark.parametrize("size", [64, 224])
def test_quantised_networks_of_full_width_are_bit_equal(name, size, rewrite):
    assert_bit_equal(rewrite, name, max(size, LEAST_SIZE.get(name, 0)))


@pytest.mark.parametrize("name", FAST)
def test_float_networks_agree(name, rewrite):
    model = build(name, image_size=SIZE, width=0.25, classes=50)
    network, x = rewrite(model), image(SIZE)
    tensors = run_reference(network.graph, network.constants, {network.input_names[0][1]: x})
    session = make_session(model, optimisation=Optimisation.BASIC, threads=1)
    expected = run(session, {model.graph.input[0].name: x})

    for key, name_in_graph in network.output_names:
        largest = np.abs(expected[key]).max()
        assert np.abs(tensors[name_in_graph] - expected[key]).max() <= 2e-5 * largest

"""Build a network of the zoo as an ONNX model."""

from dataclasses import replace

from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from ...ir.errors import OptionError
from .builder import IR_VERSION, OPSET, Structure, Value, ZooOptions
from .registry import structure
from .weights import CALIBRATION_BATCH, Weights, calibrated_weights, initialisers


def build(
    name: str,
    *,
    image_size: int = 224,
    batch: int = 1,
    seed: int = 0,
    classes: int = 1000,
    width: float = 1.0,
) -> ModelProto:
    """Return the network called ``name`` with seeded weights; same arguments, same bytes.

    The input ``input`` is ``[batch, 3, image_size, image_size]`` float32, the output ``logits``
    ``[batch, classes]``. Weights do not depend on ``batch``.

    Args:
        name: A name of ``names()``.
        image_size: Height and width of the input [pixel]; published networks use 224.
        batch: Images per inference.
        seed: Seed of weights and of the images that calibrate them.
        classes: Outputs of the classifier.
        width: Factor on the channels of hidden layers; below 1 for small variants.

    Raises:
        OptionError: The name is unknown, or a size is out of range or too small for the network.
    """
    if seed < 0:
        raise OptionError(f"seed is {seed}; it must be 0 or more")
    options = ZooOptions(image_size=image_size, batch=batch, classes=classes, width=width)
    network = structure(name, options)
    calibration = structure(name, replace(options, batch=CALIBRATION_BATCH))
    return _model(network, calibrated_weights(calibration, seed))


def _model(network: Structure, weights: Weights) -> ModelProto:
    graph = helper.make_graph(
        network.nodes,
        network.name,
        [_value_info(network.input)],
        [_value_info(network.output)],
        initialisers(weights),
    )
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="accnn",
    )


def _value_info(value: Value) -> ValueInfoProto:
    return helper.make_tensor_value_info(value.name, TensorProto.FLOAT, value.shape)

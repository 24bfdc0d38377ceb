"""Build a network of the zoo as an ONNX model."""

from dataclasses import replace

from onnx import ModelProto, ValueInfoProto, helper

from ...ir.errors import OptionError
from .layers.structure import IR_VERSION, OPSET, LayerValue, Structure, ZooOptions
from .registry import find, structure
from .weights import Weights, calibrated_weights, calibration_batch, initialisers

PRODUCER = "accnn"
"""Who made a network, as its file says."""


def build(
    name: str,
    *,
    image_size: int | None = None,
    sequence: int = 128,
    batch: int = 1,
    seed: int = 0,
    classes: int | None = None,
    width: float = 1.0,
) -> ModelProto:
    """Return the network called ``name`` with seeded weights; same arguments, same bytes.

    Most networks read ``input``, ``[batch, 3, image_size, image_size]`` float32, and compute
    ``logits``, ``[batch, classes]``. Weights do not depend on ``batch``.

    Args:
        name: A name of ``names()``.
        image_size: Height and width of images [pixel]; the published ones by default.
        sequence: Length of texts [token].
        batch: Inputs per inference.
        seed: Seed of weights and of the images that calibrate them.
        classes: Outputs of the classifier; as many as published by default.
        width: Factor on the channels of hidden layers; below 1 for small variants.

    Raises:
        OptionError: The name is unknown, or a size is out of range or too small for the network.
    """
    if seed < 0:
        raise OptionError(f"seed is {seed}; it must be 0 or more")
    published = find(name)
    options = ZooOptions(
        image_size=published.image_size if image_size is None else image_size,
        sequence=sequence,
        batch=batch,
        classes=published.classes if classes is None else classes,
        width=width,
    )
    network = structure(name, options)
    calibration = structure(name, replace(options, batch=calibration_batch(network)))
    return _model(network, calibrated_weights(calibration, seed))


def _model(network: Structure, weights: Weights) -> ModelProto:
    graph = helper.make_graph(
        network.nodes,
        network.name,
        [_value_info(value) for value in network.inputs],
        [_value_info(network.output)],
        initialisers(weights),
    )
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name=PRODUCER,
    )


def _value_info(value: LayerValue) -> ValueInfoProto:
    return helper.make_tensor_value_info(value.name, value.kind, value.shape)

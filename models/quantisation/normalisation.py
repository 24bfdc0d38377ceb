"""Normalisations that no convolution takes in become depthwise convolutions of one tap.

    scale * (x - mean) / sqrt(variance + epsilon) + shift    ->    weight[c] * x + bias[c]

An integer machine has no normalisation, but it has convolutions, with one scale per channel.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper

_EPSILON = 1e-5  # ONNX's default


def normalise_by_convolution(model: ModelProto) -> bool:
    """Replace every normalisation of ``[N, C, H, W]`` with constant parameters; was there any?"""
    graph = model.graph
    weights = {w.name: w for w in graph.initializer}
    ranks = {
        value.name: len(value.type.tensor_type.shape.dim)
        for value in (*graph.value_info, *graph.input)
    }
    changed = False
    for node in graph.node:
        if node.op_type != "BatchNormalization" or ranks.get(node.input[0]) != 4:
            continue
        if all(name in weights for name in node.input[1:]):
            arrays = [numpy_helper.to_array(weights[name]) for name in node.input[1:]]
            _replace(node, model, _weight_and_bias(node, arrays))
            changed = True
    return changed


def _weight_and_bias(
    node: NodeProto, parameters: list[NDArray[Any]]
) -> Mapping[str, NDArray[np.float32]]:
    scale, shift, mean, variance = (array.astype(np.float64) for array in parameters)
    epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), _EPSILON)
    weight = scale / np.sqrt(variance + epsilon)
    return {
        "weight": weight.astype(np.float32).reshape(-1, 1, 1, 1),
        "bias": (shift - mean * weight).astype(np.float32),
    }


def _replace(
    node: NodeProto, model: ModelProto, parameters: Mapping[str, NDArray[np.float32]]
) -> None:
    result = node.output[0]
    names = [f"{result}/{what}" for what in parameters]
    model.graph.initializer.extend(
        numpy_helper.from_array(array, name)
        for name, array in zip(names, parameters.values(), strict=True)
    )
    channels = len(parameters["bias"])
    convolution = helper.make_node(
        "Conv",
        [node.input[0], *names],
        [result],
        name=node.name,
        kernel_shape=[1, 1],
        group=channels,
    )
    node.CopyFrom(convolution)

"""Seeded weights with statistics that make activations sane at every depth.

He initialisation alone lets the common part of all activations grow until the outputs hardly depend
on the input. As batch normalisation does in training, we normalise each layer over one batch of
pink-noise images: where the network has a normalisation, the statistics become its running mean and
variance; where it has none, they are folded into weights and bias (data-dependent initialisation).
The batch runs once, through a copy of the network whose normalisations compute batch statistics and
report them as outputs. What sees one position per image (the gates of squeeze-and-excite) is left
as it was drawn: centred over so few values, it would see nothing but their rounding.

References:
    He, Zhang, Ren, Sun: Delving Deep into Rectifiers. ICCV 2015.
    Mishkin, Matas: All you need is a good init. ICLR 2016.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper

from ..session import Optimisation, make_session, run
from .draw import Weights, draw, sample
from .head import FEATURES, find_head, spanned
from .layers.structure import IR_VERSION, OPSET, Structure

_LARGEST_BATCH = 8
_MOST_ELEMENTS = 2**22
_EPSILON = 1e-5
# A channel that the batch hardly excites must not be amplified: its variance counts as at least
# this share of the layer's mean variance.
_LEAST_VARIANCE = 0.05
_MEAN, _VARIANCE, _ONES, _ZEROS = "/mean", "/variance", "/ones", "/zeros"


def calibration_batch(structure: Structure) -> int:
    """Return how many inputs to normalise over: eight, fewer of long clips; whatever its batch."""
    per_input = max(math.prod(x.shape[1:]) for x in structure.inputs)
    return max(2, min(_LARGEST_BATCH, _MOST_ELEMENTS // per_input))


def calibrated_weights(batch_structure: Structure, seed: int) -> Weights:
    """Return weights normalised over the inputs that ``batch_structure`` reads at once.

    Args:
        batch_structure: The network for a batch of ``calibration_batch`` inputs.
        seed: Seed of weights and inputs.
    """
    weights = draw(batch_structure.parameters, seed)
    measured = _measure(batch_structure, weights, seed)
    head = find_head(batch_structure)
    if head is not None:
        weights |= spanned(head, measured[FEATURES], weights, seed)
    for node in batch_structure.nodes:
        if f"{node.name}{_MEAN}" in measured:
            mean, variance = measured[f"{node.name}{_MEAN}"], measured[f"{node.name}{_VARIANCE}"]
            _store(node, mean, variance, weights)
    return weights


def _measure(structure: Structure, weights: Weights, seed: int) -> Weights:
    """Run the batch; return mean and variance of normalised layers, and what the head reads.

    Weights are inputs of the session, not initialisers: onnxruntime then makes no copies of them.
    """
    nodes = _measuring_nodes(structure)
    reported = (_MEAN, _VARIANCE, FEATURES)
    statistics = [name for n in nodes for name in n.output if name.endswith(reported)]
    if not statistics:
        return {}
    feeds: dict[str, NDArray[Any]] = {**sample(structure.inputs, seed), **weights}
    feeds |= _unit_normalisations(structure, weights)
    model = helper.make_model(
        helper.make_graph(
            nodes,
            structure.name,
            [
                helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
                for n, v in feeds.items()
            ],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in statistics],
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    return run(make_session(model, optimisation=Optimisation.BASIC), feeds)


def _measuring_nodes(structure: Structure) -> list[NodeProto]:
    """Return the network's nodes with every normalisation computing and reporting statistics."""
    head, folded = find_head(structure), _folded(structure)
    nodes: list[NodeProto] = []
    for node in structure.nodes:
        if node is head:
            nodes.append(helper.make_node("Identity", node.input[:1], [FEATURES]))
            nodes.append(node)
        elif node.op_type == "BatchNormalization":
            nodes.append(_batch_statistics(node, [*node.input], node.output[0]))
        elif node.name in folded:
            nodes.extend(_normalised_conv(node))
        elif node.op_type == "Gemm":
            nodes.extend(_normalised_gemm(node))
        else:
            nodes.append(node)
    return nodes


def _folded(structure: Structure) -> frozenset[str]:
    """Return the biased convolutions but those behind a global pool."""
    pooled: set[str] = set()
    folded: set[str] = set()
    for node in structure.nodes:
        if node.op_type == "GlobalAveragePool" or pooled.intersection(node.input[:1]):
            pooled.update(node.output)
        elif node.op_type in ("Conv", "ConvTranspose") and len(node.input) == 3:
            folded.add(node.name)
    return frozenset(folded)


def _batch_statistics(node: NodeProto, inputs: list[str], output: str) -> NodeProto:
    """Return a batch normalisation in training mode that reports under the name of ``node``."""
    outputs = [output, f"{node.name}{_MEAN}", f"{node.name}{_VARIANCE}"]
    return helper.make_node(
        "BatchNormalization", inputs, outputs, epsilon=_EPSILON, momentum=0.0, training_mode=1
    )


def _unbiased(node: NodeProto, output: str) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = node.input[:2]
    copy.output[:] = [output]
    return copy


def _normalised_conv(node: NodeProto) -> tuple[NodeProto, ...]:
    """Return a convolution whose channels are normalised, then biased."""
    raw, name = f"{node.name}/raw", node.name
    ones, zeros = f"{name}{_ONES}", f"{name}{_ZEROS}"
    inputs = [raw, ones, node.input[2], zeros, ones]
    return _unbiased(node, raw), _batch_statistics(node, inputs, node.output[0])


def _normalised_gemm(node: NodeProto) -> tuple[NodeProto, ...]:
    """Return a fully connected layer, each output centred, all scaled by one factor, then biased.

    One image gives one value per output, too few for a variance of each.
    """
    name, n = node.name, helper.make_node
    mean, variance = f"{name}{_MEAN}", f"{name}{_VARIANCE}"
    return (
        _unbiased(node, f"{name}/raw"),
        n("ReduceMean", [f"{name}/raw"], [mean], axes=[0], keepdims=0),
        n("Sub", [f"{name}/raw", mean], [f"{name}/centred"]),
        n("Mul", [f"{name}/centred", f"{name}/centred"], [f"{name}/square"]),
        n("ReduceMean", [f"{name}/square"], [variance], keepdims=0),
        n("Sqrt", [variance], [f"{name}/std"]),
        n("Div", [f"{name}/centred", f"{name}/std"], [f"{name}/unit"]),
        n("Add", [f"{name}/unit", node.input[2]], [node.output[0]]),
    )


def _unit_normalisations(structure: Structure, weights: Weights) -> Weights:
    """Return scales of one and means of zero for convolutions without a normalisation."""
    folded = _folded(structure)
    biased = [n for n in structure.nodes if n.name in folded]
    sizes = {n.name: weights[n.input[2]].shape for n in biased}
    ones = {f"{n}{_ONES}": np.ones(size, np.float32) for n, size in sizes.items()}
    return ones | {f"{n}{_ZEROS}": np.zeros(size, np.float32) for n, size in sizes.items()}


def _store(
    node: NodeProto,
    mean: NDArray[np.float32],
    variance: NDArray[np.float32],
    weights: Weights,
) -> None:
    """Write statistics to where ``node`` keeps them: running ones, or folded into weight, bias."""
    variance = np.maximum(variance, np.float32(_LEAST_VARIANCE) * variance.mean())
    if node.op_type == "BatchNormalization":
        weights[node.input[3]], weights[node.input[4]] = mean, variance
        return
    scale = np.float32(1) / np.sqrt(variance + np.float32(_EPSILON))
    weight, bias = node.input[1], node.input[2]
    axis = 1 if node.op_type == "ConvTranspose" else 0
    rank = weights[weight].ndim
    weights[weight] *= scale.reshape(-1, *[1] * (rank - 1 - axis)) if scale.ndim else scale
    weights[bias] -= mean * scale


def initialisers(weights: Mapping[str, NDArray[np.float32]]) -> list[TensorProto]:
    """Return weights as ONNX initialisers, in their order."""
    return [
        helper.make_tensor(n, TensorProto.FLOAT, v.shape, v.astype("<f4").tobytes(), raw=True)
        for n, v in weights.items()
    ]

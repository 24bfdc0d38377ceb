"""The head of a network: its last layer of weights, which reads features and returns logits.

Features behind a rectifier are positive, and most of what they hold is common to all images. A
random head sees little of what differs between them, and centring its logits takes away the common
part: what is left of ResNet-50 at int8 is 15 dB above the rounding, its features are at 31 dB.
Training makes heads that lie in the span of the features that they saw. So do ours: each row is a
random combination of the centred features of one half of the calibration batch, scaled on the
other half, and the bias leaves a quarter of the common part, so that logits tell images apart.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto

from .draw import Weights, generator
from .layers.structure import Structure

FEATURES = "/features"
"""Name under which calibration reports what the head reads."""

_COMMON_PART = 0.25
_MOST_ROWS = 4096
_LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul")


def find_head(structure: Structure) -> NodeProto | None:
    """Return the last layer of weights, or nothing where it is no product at every position.

    Neither is one before a rectifier, which is normalised as those of hidden layers are.
    """
    shaping = (*_LAYERS, "Relu")
    last = next(n for n in reversed(structure.nodes) if n.op_type in shaping)
    if last.op_type not in ("Conv", "Gemm") or len(last.input) < 3:
        return None
    return last if set(structure.shapes[last.input[1]][2:]) <= {1} else None


def spanned(head: NodeProto, features: NDArray[Any], weights: Weights, seed: int) -> Weights:
    """Return weight and bias of a head that responds to what differs between features.

    Args:
        head: Its node.
        features: What it reads for a batch, ``[N, C, ...]``.
        weights: Drawn weights; the bias is kept and shifted.
        seed: Of the combinations.
    """
    _, weight, bias = head.input
    rows = np.moveaxis(features, 1, -1).reshape(-1, features.shape[1])
    rows = rows[:: max(1, len(rows) // _MOST_ROWS)]
    common = rows.mean(axis=0)
    seen, unseen = np.array_split(rows - common, 2)
    shape = (weights[bias].size, len(seen))
    matrix = generator(seed, weight).standard_normal(shape, dtype=np.float32) @ seen
    matrix /= max(float((unseen @ matrix.T).std()), np.finfo(np.float32).tiny)
    shift = np.float32(1 - _COMMON_PART) * (matrix @ common)
    return {weight: matrix.reshape(weights[weight].shape), bias: weights[bias] - shift}

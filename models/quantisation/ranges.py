"""Ranges of activations: the least and greatest value of each over samples (MinMax).

``histograms.py`` has those that leave out rare values.

They are found by one session that reduces each tensor on the fly, so that memory does not grow with
the number of samples. They are those of ``quantize_static`` (a test compares the models), which
needs four copies of the weights and several temporary files.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper

from ...ir.errors import ModelError, OptionError
from ..data.calibration import Sample
from ..session import Optimisation, make_session, run
from .prepare import large_weights, skeleton, value_infos


class CalibrationMethod(StrEnum):
    """How the range of an activation follows from its values."""

    MINMAX = "minmax"
    PERCENTILE = "percentile"
    ENTROPY = "entropy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    """What calibration found.

    Attributes:
        bounds: Least and greatest value of each activation, by name.
        samples: Number of samples seen.
    """

    bounds: dict[str, tuple[float, float]]
    samples: int


def measure_ranges(model: ModelProto, samples: Iterable[Sample]) -> Ranges:
    """Run the samples and return the least and greatest value of every float activation.

    Args:
        model: What ``prepare`` returns.
        samples: Inputs by name.

    Raises:
        OptionError: There is no sample.
        ModelError: A tensor is not finite.
    """
    tensors = [
        name
        for name, info in value_infos(model).items()
        if info.type.tensor_type.elem_type == TensorProto.FLOAT
    ]
    reduced = [f"{name}/{end}" for name in tensors for end in ("min", "max")]
    reducing = _with_reductions(skeleton(model), tensors)
    session, weights = make_session(reducing, optimisation=Optimisation.NONE), large_weights(model)
    ends = np.empty((0, len(reduced)), np.float32)
    seen = 0
    for sample in samples:
        row = np.array([list(run(session, {**sample, **weights}, reduced).values())], np.float32)
        ends = _merge(np.concatenate([ends, row]))
        seen += 1
    if not seen:
        raise OptionError("the calibration data holds no sample")
    pairs = ends[0].reshape(-1, 2).tolist()
    for name, pair in zip(tensors, pairs, strict=True):
        if not all(map(math.isfinite, pair)):
            raise ModelError(f"tensor {name!r} is not finite on the calibration data")
    return Ranges(
        bounds={n: (a, b) for n, (a, b) in zip(tensors, pairs, strict=True)}, samples=seen
    )


def _merge(ends: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the least of the even columns and the greatest of the odd ones, as one row."""
    merged = ends.max(axis=0)
    merged[::2] = ends[:, ::2].min(axis=0)
    return merged[None]


def _with_reductions(model: ModelProto, tensors: list[str]) -> ModelProto:
    """Let ``model`` return the least and greatest value of each of ``tensors``, nothing else.

    A tensor is reduced right after it is made, while it is in the processor's caches.
    """
    wanted = set(tensors)
    nodes: list[NodeProto] = []
    for made, node in (
        ([i.name for i in model.graph.input], None),
        *((node.output, node) for node in model.graph.node),
    ):
        nodes.extend(() if node is None else (node,))
        nodes.extend(r for name in made if name in wanted for r in _reductions(name))
    results = [f"{name}/{end}" for name in tensors for end in ("min", "max")]
    del model.graph.node[:], model.graph.output[:]
    model.graph.node.extend(nodes)
    model.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ()) for name in results
    )
    return model


def _reductions(name: str) -> tuple[NodeProto, NodeProto]:
    least = helper.make_node("ReduceMin", [name], [f"{name}/min"], keepdims=0)
    greatest = helper.make_node("ReduceMax", [name], [f"{name}/max"], keepdims=0)
    return least, greatest

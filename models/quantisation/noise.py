"""How far a quantised model is from its float model: signal-to-noise ratios of tensors."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from onnx import ModelProto, TensorProto

from ...ir.report import LayerNoise
from ..data.calibration import Sample
from ..session import Array, make_session, returning, run
from .prepare import large_weights, skeleton

_DEQUANTISED = "_DequantizeLinear_Output"
"""What the quantiser appends to the name of a tensor that passed through integers."""


def output_snr_db(reference: ModelProto, quantised: ModelProto, samples: Sequence[Sample]) -> float:
    """Return the ratio of signal to error energy of the first output [dB]; infinite if equal.

    Args:
        reference: The float model.
        quantised: The QDQ model that the quantiser made of it.
        samples: Inputs of both.
    """
    name = reference.graph.output[0].name
    return _ratios_db(skeleton(reference), reference, quantised, {name: name}, samples)[name]


def layer_noise(
    reference: ModelProto, quantised: ModelProto, samples: Sequence[Sample]
) -> tuple[LayerNoise, ...]:
    """Return the ratio of each tensor that both models compute, the lowest first.

    The error of a tensor is that of all that it is computed from, not of its own operator alone.
    Tensors that are equal, or nothing but zeros, have no ratio and are left out.

    Args:
        reference: The float model.
        quantised: The QDQ model that the quantiser made of it.
        samples: Inputs of both.
    """
    names = _common(reference, quantised)
    floats, integers = skeleton(reference), ModelProto()
    integers.CopyFrom(quantised)
    ratios = _ratios_db(
        returning(floats, list(names)),
        reference,
        returning(integers, list(names.values())),
        names,
        samples,
    )
    found = [LayerNoise(name, ratio) for name, ratio in ratios.items() if math.isfinite(ratio)]
    return tuple(sorted(found, key=lambda item: (item.snr_db, item.name)))


def _common(reference: ModelProto, quantised: ModelProto) -> dict[str, str]:
    """Return the float tensors that both models compute: the names in each."""
    made = {name for node in quantised.graph.node for name in node.output}
    inner = (name for node in reference.graph.node for name in node.output)
    names = {name: f"{name}{_DEQUANTISED}" for name in inner if f"{name}{_DEQUANTISED}" in made}
    outputs = [
        item.name
        for item in reference.graph.output
        if item.name in made and item.type.tensor_type.elem_type == TensorProto.FLOAT
    ]
    return names | dict(zip(outputs, outputs, strict=True))


def _ratios_db(
    floats: ModelProto,
    reference: ModelProto,
    quantised: ModelProto,
    names: Mapping[str, str],
    samples: Sequence[Sample],
) -> dict[str, float]:
    """Return the ratio of each tensor over all samples, which are few.

    One model runs after the other: what their sessions take is more than the tensors of one.

    Args:
        floats: The float model, its large weights as inputs.
        reference: The float model, which has these weights.
        quantised: The other model.
        names: What tensors are called in each.
        samples: Inputs of both.
    """
    wanted = _float_tensors(floats, reference, list(names), samples)
    session = make_session(quantised)
    signal, error = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for sample, tensors in zip(samples, wanted, strict=True):
        actual = run(session, sample, list(names.values()))
        for name, other in names.items():
            expected = tensors.pop(name).astype(np.float64)
            signal[name] += float(np.sum(expected**2))
            error[name] += float(np.sum((expected - actual[other]) ** 2))
    return {name: _decibel(signal[name], error[name]) for name in names}


def _float_tensors(
    floats: ModelProto, reference: ModelProto, names: Sequence[str], samples: Sequence[Sample]
) -> list[dict[str, Array]]:
    """Return what the float model computes of each sample."""
    session, weights = make_session(floats), large_weights(reference)
    return [run(session, {**weights, **sample}, names) for sample in samples]


def _decibel(signal: float, error: float) -> float:
    if error == 0:
        return math.inf
    return 10 * math.log10(signal / error) if signal > 0 else -math.inf

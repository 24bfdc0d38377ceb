"""Quantise a float ONNX model to integers with onnxruntime's static quantiser.

    float model -> prepare (fold) -> ranges over calibration data -> quantiser -> QDQ model

The result is in QDQ form: every tensor passes through ``QuantizeLinear -> DequantizeLinear``,
weights and biases are integer constants behind a ``DequantizeLinear``.

*What becomes of it.* At the extended level of optimisation, with s8 allowed (``make_session``),
onnxruntime 1.31 turns each of these groups into one integer operator; of the zoo's networks nothing
is left in float but the first quantise and the last dequantise:

=====================  =========================  ==============================================
float                  integer operator           remark
=====================  =========================  ==============================================
Conv, Gemm             QLinearConv, QGemm         int32 bias of scale ``sx * sw[k]``
Add, Concat            QLinearAdd, QLinearConcat  each operand has its own scale
Relu, Clip(0, 6)       none                       the zero point is the type's minimum: the
                                                  quantise after the producer clamps
LeakyRelu              QLinearLeakyRelu
MaxPool, Flatten       MaxPool, Flatten           output has the input's scale and zero point
AveragePool            QLinearAveragePool         output has the input's scale and zero point
GlobalAveragePool      QLinearGlobalAveragePool   own scale; a ReduceMean would remain in float
BatchNormalization     QLinearConv                folded; alone, a depthwise convolution
Softmax                none                       remains in float: 8 bits cannot tell small
                                                  probabilities apart
=====================  =========================  ==============================================
"""

import logging
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime.quantization as ort_quantization
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry

from ...ir.errors import ModelError, OptionError
from ...ir.report import LayerNoise
from ..data.calibration import InputSpec, Sample, input_specs, read_samples
from ..data.synthetic import synthetic
from .histograms import cut_ranges
from .indexed import IndexedModel, constants_by_name
from .noise import layer_noise, output_snr_db
from .options import Int8, QuantizeOptions
from .prepare import prepare
from .ranges import CalibrationMethod, Ranges, measure_ranges

_quantiser = cast(Any, ort_quantization)  # no type stubs
_CALIBRATION, _HELD_OUT = 1, 2  # streams of random numbers
_HELD_OUT_SAMPLES = 2
_INTEGER_OPS = frozenset({"QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul"})
_DYNAMIC_OPS = frozenset(
    {"ConvInteger", "DynamicQuantizeLinear", "DynamicQuantizeMatMul"}
    | {"MatMulInteger", "MatMulIntegerToFloat"}
)

_LEFT_IN_FLOAT = frozenset({"Softmax"})


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizedModel:
    """A quantised model and what is known about its accuracy.

    Attributes:
        model: The QDQ model.
        calibrated: Whether the ranges come from the user's data, not from noise.
        samples: Number of samples that the ranges come from.
        snr_db: Signal-to-noise ratio of the first output against the float model [dB], over
            seeded noise that is not among the samples (over the first samples themselves, where an
            input is no float); infinite for equal outputs.
        layers: The same of the tensors inside, the worst first; over the first samples of the
            user's data where there is any.
    """

    model: ModelProto
    calibrated: bool
    samples: int
    snr_db: float
    layers: tuple[LayerNoise, ...] = ()


def quantize(
    model: ModelProto,
    *,
    calibration: Path | None = None,
    seed: int = 0,
    samples: int = 8,
    options: QuantizeOptions | None = None,
) -> QuantizedModel:
    """Return ``model`` quantised to integers; same arguments, same bytes.

    Args:
        model: A float model with static input shapes; it is left as it is.
        calibration: Data set (see ``data/calibration.py``); all of its samples are used. Without
            one, ``samples`` are made up (``data/synthetic.py``) and the result says
            ``calibrated=False``.
        seed: Seed of made-up samples, 0 or more.
        samples: Number of made-up samples.
        options: Types and granularity; s8 x s8 per channel by default.

    Raises:
        ModelError: The model is quantised already, onnxruntime cannot load it, or a weight or an
            activation is not finite.
        OptionError: An option or the calibration data does not suit the model.
    """
    if samples < 1 or seed < 0:
        raise OptionError(f"samples is {samples} and seed {seed}; at least 1 and 0 are allowed")
    _check_is_float(model)
    specs = input_specs(model)
    prepared = prepare(model)
    _check_is_finite(prepared)
    chosen = options or QuantizeOptions()
    ranges = _ranges(prepared, lambda: _calibration_set(specs, calibration, seed, samples), chosen)
    quantised = _quantise(prepared, ranges.bounds, chosen)
    del prepared  # as large as the model; the ratio needs that memory
    held_out = tuple(_held_out(specs, calibration, ranges.bounds, seed))
    seen = held_out if calibration is None else tuple(_first_of(calibration, specs))
    return QuantizedModel(
        model=quantised,
        calibrated=calibration is not None,
        samples=ranges.samples,
        snr_db=output_snr_db(model, quantised, held_out),
        layers=layer_noise(model, quantised, seen),
    )


def is_quantized(model: ModelProto) -> bool:
    """Return whether a model computes in integers already (QDQ or QOperator form)."""
    return any(node.op_type in _INTEGER_OPS for node in model.graph.node)


def is_dynamically_quantized(model: ModelProto) -> bool:
    """Return whether a model quantises its activations by what they are at run time."""
    return any(node.op_type in _DYNAMIC_OPS for node in model.graph.node)


def _check_is_float(model: ModelProto) -> None:
    for node in model.graph.node:
        if node.op_type in _INTEGER_OPS | _DYNAMIC_OPS:
            raise ModelError(
                f"the model is quantised already: node {node.name!r} is {node.op_type}"
            )


def _check_is_finite(model: ModelProto) -> None:
    for weight in model.graph.initializer:
        if weight.data_type == TensorProto.FLOAT and not np.all(
            np.isfinite(numpy_helper.to_array(weight))
        ):
            raise ModelError(f"weights {weight.name!r} hold values that are not finite")


def _calibration_set(
    specs: tuple[InputSpec, ...], path: Path | None, seed: int, samples: int
) -> Iterator[Sample]:
    if path is not None:
        return read_samples(path, specs)
    return synthetic(specs, (seed, _CALIBRATION), samples)


def _ranges(
    model: ModelProto, samples: Callable[[], Iterator[Sample]], options: QuantizeOptions
) -> Ranges:
    """Return the ranges of activations; ``samples`` returns the calibration data from its start."""
    whole = measure_ranges(model, samples())
    if options.method is CalibrationMethod.MINMAX:
        return whole
    return cut_ranges(model, whole, samples(), options.method, options.percentile)


def _quantise(
    model: ModelProto, bounds: dict[str, tuple[float, float]], options: QuantizeOptions
) -> ModelProto:
    """Return the QDQ model; ``model`` is consumed."""
    helper.set_model_props(model, {"onnx.infer": "onnxruntime.quant"})  # types are in place
    types = {Int8.S8: _quantiser.QuantType.QInt8, Int8.U8: _quantiser.QuantType.QUInt8}
    tensor_ranges = _quantiser.TensorsData(
        _quantiser.CalibrationMethod.MinMax,
        {n: tuple(np.array([end], np.float32) for end in ends) for n, ends in bounds.items()},
    )
    with _quiet(), constants_by_name(_quantiser.base_quantizer, _quantiser.qdq_quantizer):
        quantiser = _IndexedQuantiser(
            model,
            options.per_channel,
            options.reduce_range,
            types[options.weight],
            types[options.activation],
            tensor_ranges,
            [],
            _left_alone(model),
            sorted({*QLinearOpsRegistry, *QDQRegistry} - _LEFT_IN_FLOAT),
            {},
        )
        quantiser.quantize_model()
        quantiser.model.topological_sort()
    result = ModelProto()  # a copy, for the original keeps the memory of the float weights
    result.CopyFrom(quantiser.model.model)
    del result.metadata_props[:]
    return result


class _IndexedQuantiser(_quantiser.QDQQuantizer):  # pyright: ignore[reportUntypedBaseClass]
    """onnxruntime's quantiser on an indexed model."""

    @property
    def model(self) -> Any:
        return self._indexed

    @model.setter
    def model(self, given: Any) -> None:
        self._indexed = IndexedModel(given)


def _left_alone(model: ModelProto) -> list[str]:
    """Return the names of normalisations over several axes, which get one where they lack it.

    The quantiser takes their scale for one with a value per channel.
    """
    ranks = {weight.name: len(weight.dims) for weight in model.graph.initializer}
    found: list[str] = []
    for number, node in enumerate(model.graph.node):
        if node.op_type == "LayerNormalization" and ranks.get(node.input[1], 1) > 1:
            node.name = node.name or f"{node.op_type}/{number}"
            found.append(node.name)
    return found


@contextmanager
def _quiet() -> Generator[None]:
    """Drop what the quantiser says through the root logger, without configuring that logger."""
    root = logging.getLogger()
    handler = logging.NullHandler()
    root.addHandler(handler)
    root.addFilter(_drop)
    try:
        yield
    finally:
        root.removeFilter(_drop)
        root.removeHandler(handler)


def _drop(record: logging.LogRecord) -> bool:
    return False


def _held_out(
    specs: tuple[InputSpec, ...],
    path: Path | None,
    bounds: dict[str, tuple[float, float]],
    seed: int,
) -> Iterator[Sample]:
    """Yield inputs for the signal-to-noise ratio: noise that fills the range of the user's data.

    Where an input is no float, noise means nothing, and the first samples of the data serve.
    """
    if path is not None and not all(spec.is_float for spec in specs):
        yield from _first_of(path, specs)
        return
    for sample in synthetic(specs, (seed, _HELD_OUT), _HELD_OUT_SAMPLES):
        if path is None:
            yield sample
        else:
            yield {name: _fill(noise, *bounds[name]) for name, noise in sample.items()}


def _first_of(path: Path, specs: tuple[InputSpec, ...]) -> Iterator[Sample]:
    return islice(read_samples(path, specs), _HELD_OUT_SAMPLES)


def _fill(noise: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    """Scale noise of variance 1 so that three deviations reach the ends of a range."""
    return np.clip(noise * ((high - low) / 6) + (high + low) / 2, low, high).astype(noise.dtype)

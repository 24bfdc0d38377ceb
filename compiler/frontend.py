"""From an ONNX file to a graph that the architecture can run: read, quantise, import."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..ir.arch import Architecture, Precision
from ..ir.errors import OptionError
from ..ir.report import Accuracy, FileIdentity, QuantizationReport
from ..models.accuracy import measure_accuracy
from ..models.onnx_import.importer import ImportedNetwork, import_model
from ..models.onnx_import.loading.load import load_model
from ..models.onnx_import.loading.nodes import NetworkNode, network_nodes
from ..models.onnx_import.loading.widen import compute_in_float32, note_of
from ..models.quantisation.quantize import is_dynamically_quantized, is_quantized
from ..models.session import Model
from .options import CompileOptions
from .stopwatch import Stopwatch
from .stores.networks import QuantisedNetworks

ANEW = QuantisedNetworks(None)
"""Quantises without recalling anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network ready to be compiled.

    Attributes:
        identity: The file it came from.
        model: What is compiled, as ONNX: after quantisation where that took place.
        imported: Its graph, constants and original names.
        quantization: How it was quantised, ``None`` where it was not.
        accuracy: What it makes of the user's examples, ``None`` where none were given.
        notes: What the user should know.
        types: Element types of inputs and outputs that are float32 here, by ONNX name.
        nodes: Of the file, before anything was quantised or folded.
    """

    identity: FileIdentity
    model: Model
    imported: ImportedNetwork
    quantization: QuantizationReport | None = None
    accuracy: Accuracy | None = None
    notes: tuple[str, ...] = ()
    types: Mapping[str, np.dtype[Any]] = field(default_factory=dict[str, "np.dtype[Any]"])
    nodes: tuple[NetworkNode, ...] = ()


def read_network(
    path: Path,
    arch: Architecture,
    options: CompileOptions,
    watch: Stopwatch,
    quantise: QuantisedNetworks = ANEW,
) -> Network:
    """Read a model and make it fit the precision of an architecture.

    Args:
        path: The ``.onnx`` file.
        arch: The accelerator.
        options: Shapes of inputs, calibration data, examples and seed.
        watch: Takes the time of each step.
        quantise: Quantises where that is needed, or recalls it.

    Raises:
        ModelError: The model cannot be read or has unsupported operators.
        OptionError: The model is quantised and the architecture computes in float, or the examples
            do not suit it.
    """
    with watch.step("read"):
        model = load_model(path, shapes=options.shapes, constants=options.constants)
        nodes = network_nodes(model)
        types = compute_in_float32(model)
        identity = FileIdentity(_readable(path.name), hashlib.sha256(path.read_bytes()).hexdigest())
    record, notes, floats = None, (), None
    if arch.precision is Precision.FP32:
        if is_quantized(model):
            raise OptionError(
                f"{path.name} is quantised, {arch.name} computes in {arch.precision}",
                hint="choose an int8 architecture, or give the float model",
            )
    elif not (is_quantized(model) or is_dynamically_quantized(model)):
        floats = model
        with watch.step("quantise"):
            model, record, notes = _quantise(model, options, quantise)
    if record is None and options.calibration is not None:
        is_float = arch.precision is Precision.FP32
        why = (
            f"{arch.name} computes in {arch.precision}" if is_float else "the network is quantised"
        )
        notes = (f"calibration data is not used: {why}",)
    with watch.step("import"):
        imported = import_model(model)
    accuracy = None
    if options.accuracy is not None:
        with watch.step("accuracy"):
            accuracy = measure_accuracy(options.accuracy, model, floats)
    return Network(
        identity=identity,
        model=model,
        imported=imported,
        quantization=record,
        accuracy=accuracy,
        notes=(*note_of(types), *notes),
        types=types,
        nodes=nodes,
    )


def _quantise(
    model: Model, options: CompileOptions, quantise: QuantisedNetworks
) -> tuple[Model, QuantizationReport, tuple[str, ...]]:
    result = quantise(model, options)
    source = (
        f"{result.samples} made-up samples, seed {options.seed}"
        if options.calibration is None
        else options.calibration.name
    )
    record = QuantizationReport(
        calibration=source,
        calibrated=result.calibrated,
        snr_db=result.snr_db if abs(result.snr_db) != float("inf") else None,
        method=str(options.calibration_method),
        layers=result.layers,
    )
    notes = (
        ()
        if result.calibrated
        else (
            "quantised with made-up calibration data: accuracy is not calibrated; "
            "give --calibration",
        )
    )
    return result.model, record, notes


def _readable(name: str) -> str:
    """Return a file's name as text that can be written; bytes that are no UTF-8 are marked."""
    return os.fsencode(name).decode("utf-8", "replace")

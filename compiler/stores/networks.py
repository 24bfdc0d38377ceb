"""Quantised networks on disk, so that a network is calibrated once for equal data.

A key is the digest of the float model, of the calibration data, of the options, and of the code
that quantises. An entry is a line of figures, then the model. Those used last are kept: they are as
large as networks.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...ir.errors import ModelError
from ...ir.report import LayerNoise
from ...models.apart import result_of
from ...models.data.calibration import data_files
from ...models.onnx_import.loading.load import parse_model
from ...models.quantisation.prepare import skeleton
from ...models.quantisation.quantize import QuantizedModel, quantize
from ...models.session import Model, serialized
from ..options import CompileOptions
from .store import Store, code_version, digest_of

_DECIDING = ("models", "ir/errors.py", "ir/report.py")
_PACKAGES = ("accnn", "numpy", "onnx", "onnxruntime")
_SUFFIX = ".quantised"
_KEPT = 8
_END = b"\n"


@dataclass(frozen=True, slots=True)
class QuantisedNetworks:
    """Quantises networks, or recalls them.

    Attributes:
        store: Where they are looked up and kept; ``None`` quantises everything anew.
    """

    store: Store | None

    def __call__(self, model: Model, options: CompileOptions) -> QuantizedModel:
        """Return a model quantised as the options of a compilation say.

        Raises:
            InputError: See :func:`~accnn.models.quantisation.quantize.quantize`.
        """
        if self.store is None:
            return _quantised(model, options)
        key = key_of(model, options)
        found = self._recalled(self.store, key)
        if found is None:
            found = _quantised(model, options)
            self.store.write(key, _SUFFIX, _encode(found))
            self.store.keep_newest(_SUFFIX, _KEPT)
        return found

    def _recalled(self, store: Store, key: str) -> QuantizedModel | None:
        content = store.read(key, _SUFFIX)
        try:
            return None if content is None else _decode(content)
        except (ModelError, ValueError, TypeError) as error:
            store.refuse(key, _SUFFIX, error)
            return None


def key_of(model: Model, options: CompileOptions) -> str:
    """Return the digest of everything that a quantised network depends on."""
    data = "" if options.calibration is None else _digest_of_data(options.calibration)
    version = code_version(_DECIDING, _PACKAGES)
    chosen = (options.seed, options.samples, options.quantising)
    return digest_of(_digest_of_model(model), data, *map(str, chosen), version)


def _digest_of_model(model: Model) -> str:
    """Return the digest of a model with its weights."""
    digest = hashlib.sha256(skeleton(model).SerializeToString(deterministic=True))
    for weight in model.graph.initializer:  # one at a time, for together they may be large
        digest.update(hashlib.sha256(weight.SerializeToString(deterministic=True)).digest())
    return digest.hexdigest()


def _digest_of_data(path: Path) -> str:
    """Return the digest of a calibration data set.

    Raises:
        OptionError: Nothing is there that could be read.
    """
    digest = hashlib.sha256()
    for file in data_files(path):
        digest.update(hashlib.sha256(file.name.encode()).digest())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _quantised(model: Model, options: CompileOptions) -> QuantizedModel:
    """Quantise in a child process: onnxruntime runs there what the user's file says."""
    return result_of(
        lambda: quantize(
            model,
            calibration=options.calibration,
            seed=options.seed,
            samples=options.samples,
            options=options.quantising,
        ),
        "quantise the network",
    )


def _encode(found: QuantizedModel) -> bytes:
    figures = {
        "calibrated": found.calibrated,
        "samples": found.samples,
        "snr_db": found.snr_db,
        "layers": [asdict(item) for item in found.layers],
    }
    return json.dumps(figures).encode() + _END + serialized(found.model)


def _decode(content: bytes) -> QuantizedModel:
    """Return the model of an entry.

    Raises:
        ModelError: The model is damaged.
        ValueError: The figures are.
        TypeError: They are not those that are needed.
    """
    line, _, blob = content.partition(_END)
    figures: dict[str, Any] = json.loads(line)
    layers = tuple(LayerNoise(**item) for item in figures.pop("layers", ()))
    return QuantizedModel(model=parse_model(blob, _SUFFIX), layers=layers, **figures)

"""Digests of models and data sets: equal content, equal digest, wherever the files are."""

import hashlib
from pathlib import Path

from onnx import ModelProto

from ..data.calibration import data_files
from .prepare import skeleton


def digest_of_model(model: ModelProto) -> str:
    """Return the digest of a model with its weights."""
    digest = hashlib.sha256(skeleton(model).SerializeToString(deterministic=True))
    for weight in model.graph.initializer:  # one at a time, for together they may be large
        digest.update(hashlib.sha256(weight.SerializeToString(deterministic=True)).digest())
    return digest.hexdigest()


def digest_of_data(path: Path) -> str:
    """Return the digest of a calibration data set.

    Raises:
        OptionError: Nothing is there that could be read.
    """
    digest = hashlib.sha256()
    for file in data_files(path):
        digest.update(hashlib.sha256(file.name.encode()).digest())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()

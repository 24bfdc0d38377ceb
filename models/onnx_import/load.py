"""Read an ONNX file from disk; whatever is wrong with it becomes one clear ``ModelError``."""

from collections.abc import Mapping
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto

from ...ir.errors import ModelError
from .external import embed_external_data
from .shapes import fix_shapes

LARGEST_MODEL = 2**31 - 1
"""Protobuf's own limit for one message, weights included [byte]."""


def load_model(
    path: Path | str, *, shapes: Mapping[str, tuple[int, ...]] | None = None
) -> ModelProto:
    """Read, complete and check a model.

    External data is read into the model; it must lie in the model's folder.

    Args:
        path: The ``.onnx`` file.
        shapes: Shapes of inputs, by input name; they replace symbolic dimensions.

    Raises:
        ModelError: The file is missing, no ONNX model, truncated, inconsistent or too large, its
            external data is missing or outside of its folder, or an input stays dynamic.
    """
    path = Path(path)
    model = _parse(_read(path), path)
    embed_external_data(model, path, LARGEST_MODEL)
    fix_shapes(model, shapes or {})
    _check(model, path)
    return model


def _read(path: Path) -> bytes:
    if not path.exists():
        raise ModelError(f"{path}: no such file")
    if not path.is_file():
        raise ModelError(f"{path}: not a file")
    size = path.stat().st_size
    if size > LARGEST_MODEL:
        raise ModelError(
            f"{path}: {size} bytes are more than the {LARGEST_MODEL} that protobuf allows",
            hint="save the weights as external data",
        )
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error


def _parse(blob: bytes, path: Path) -> ModelProto:
    if not blob:
        raise ModelError(f"{path}: the file is empty")
    model = ModelProto()
    try:
        model.ParseFromString(blob)
    except DecodeError as error:
        raise ModelError(f"{path}: not an ONNX model, or truncated") from error
    if not model.HasField("graph") or not model.opset_import:
        raise ModelError(f"{path}: not an ONNX model, or truncated (no graph or no opset)")
    return model


def _check(model: ModelProto, path: Path) -> None:
    if model.ByteSize() > LARGEST_MODEL:
        raise ModelError(f"{path}: model and external data exceed {LARGEST_MODEL} bytes")
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise ModelError(f"{path}: not a valid ONNX model: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)

"""External data: weights in files beside the model, read only from the model's own folder."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

from onnx import ModelProto, TensorProto

from ....ir.errors import ModelError


def embed_external_data(model: ModelProto, path: Path, largest: int) -> None:
    """Move external data into the model.

    Args:
        model: The model; changed in place.
        path: Where it was read from.
        largest: Bytes of external data that are acceptable in sum.

    Raises:
        ModelError: A file is missing, lies outside of the model's folder, is a link or too short.
    """
    budget = largest
    for tensor in _tensors(model):
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        blob = _read(tensor, path, budget)
        budget -= len(blob)
        del tensor.external_data[:]
        tensor.data_location = TensorProto.DEFAULT
        tensor.raw_data = blob


def _tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Yield tensors of the main graph; operators with subgraphs are refused later."""
    yield from model.graph.initializer
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors


def _read(tensor: TensorProto, path: Path, budget: int) -> bytes:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    title = f"{path}: external data of tensor {tensor.name!r}"
    file = _resolve(entries.get("location", ""), path, title)
    size = file.stat().st_size
    offset = _number(entries, "offset", 0, title)
    length = _number(entries, "length", size - offset, title)
    if length < 0 or offset + length > size:
        raise ModelError(f"{title}: bytes {offset}..{offset + length} lie outside of {file.name}")
    if length > budget:
        raise ModelError(f"{title}: the model's data exceed what protobuf can hold")
    with file.open("rb") as stream:
        stream.seek(offset)
        return stream.read(length)


def _resolve(location: str, path: Path, title: str) -> Path:
    """Return the file that a location names, which must truly lie in the model's folder."""
    parts = PurePosixPath(location).parts
    outside = (
        not location
        or "\0" in location
        or ".." in parts
        or PurePosixPath(location).is_absolute()
        or PureWindowsPath(location).is_absolute()
    )
    if outside:
        raise ModelError(f"{title}: {location!r} is not a path inside of the model's folder")
    folder = path.parent.resolve()
    file = folder / location
    if file.resolve() != file:
        raise ModelError(f"{title}: {location!r} leads through a link")
    if not file.is_file():
        raise ModelError(f"{title}: {location!r} does not exist beside the model")
    return file


def _number(entries: dict[str, str], key: str, default: int, title: str) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ModelError(f"{title}: {key} {text!r} is not a number")
    return int(text)

"""External data: weights in files beside the model, read only from the model's own folder."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from ....ir.errors import ModelError


def embed_external_data(model: ModelProto, path: Path, largest: int) -> None:
    """Move external data into the model.

    Args:
        model: The model; changed in place.
        path: Where it was read from.
        largest: Bytes of external data that are acceptable in sum.

    Raises:
        ModelError: A file is missing, lies outside of the model's folder, is a link of any kind,
            or too short.
    """
    budget = largest
    for tensor in _tensors(model):
        # What is left outside would be looked for in the current folder.
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        blob = _read(tensor, path, budget)
        budget -= len(blob)
        del tensor.external_data[:]
        tensor.data_location = TensorProto.DEFAULT
        tensor.raw_data = blob


def _tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Yield every tensor of a model, those of bodies and functions included."""
    graphs, nodes = [model.graph], [node for item in model.functions for node in item.node]
    while graphs or nodes:
        if graphs:
            graph = graphs.pop()
            yield from _stored(graph)
            nodes += graph.node
            continue
        tensors, inner = _held(nodes.pop())
        yield from tensors
        graphs += inner


def _stored(graph: GraphProto) -> Iterator[TensorProto]:
    """Yield the initialisers of a graph."""
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)


def _held(node: NodeProto) -> tuple[list[TensorProto], list[GraphProto]]:
    """Return the tensors and the bodies that are attributes of a node."""
    tensors: list[TensorProto] = []
    graphs: list[GraphProto] = []
    for attribute in node.attribute:
        tensors += [*([attribute.t] if attribute.HasField("t") else []), *attribute.tensors]
        graphs += [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]
        sparse = [attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []
        for item in (*sparse, *attribute.sparse_tensors):
            tensors += [item.values, item.indices]
    return tensors, graphs


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
    if file.stat().st_nlink > 1:
        raise ModelError(
            f"{title}: {location!r} is a hard link: the file has another name, maybe elsewhere",
            hint="put a copy in its place",
        )
    return file


def _number(entries: dict[str, str], key: str, default: int, title: str) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ModelError(f"{title}: {key} {text!r} is not a number")
    return int(text)

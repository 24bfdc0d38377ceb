"""The nodes of a network as its file has them, before anything is folded."""

from dataclasses import dataclass
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto


@dataclass(frozen=True, slots=True)
class NetworkNode:
    """One node.

    Attributes:
        name: Empty where the file has none.
        reads: Names of tensors.
        makes: Names of tensors.
    """

    name: str
    reads: tuple[str, ...]
    makes: tuple[str, ...]


def network_nodes(model: ModelProto) -> tuple[NetworkNode, ...]:
    """Return the nodes of a network, those of loop bodies and branches excluded."""
    return tuple(
        NetworkNode(node.name, tuple(filter(None, node.input)), tuple(filter(None, node.output)))
        for node in model.graph.node
    )


def nodes_of_file(path: Path) -> tuple[NetworkNode, ...]:
    """Return the nodes of a file without reading external data; none where it is no network."""
    try:
        return network_nodes(onnx.load(path, load_external_data=False))
    except (OSError, DecodeError):
        return ()

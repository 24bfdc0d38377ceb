"""Networks of a study: workloads with how often they occur."""

import csv
import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ....ir.codec.json_codec import dump_json, parse_json
from ....ir.errors import InputError
from ....ir.graph import Graph
from ....ir.ops import workload
from ....ir.workload import Workload
from ....models.onnx_import.importer import import_model
from ....models.onnx_import.loading.load import load_model
from ....models.zoo.build import build
from ....models.zoo.registry import names
from ...layers.read import Layer, read_layers
from ...stores.store import Store, code_version, digest_of

_DECIDING = ("ir", "models")
_PACKAGES = ("accnn", "numpy", "onnx")
_SUFFIX = ".layers"
_TABLE = ".csv"


@dataclass(frozen=True, slots=True)
class CountedLayer:
    """A layer that occurs several times.

    Attributes:
        name: Of its first occurrence.
        workload: What is computed.
        count: How often.
    """

    name: str
    workload: Workload
    count: int


@dataclass(frozen=True, slots=True)
class NetworkLayers:
    """A network, as the layers that the MAC array computes."""

    name: str
    layers: tuple[CountedLayer, ...]


def read_network_layers(text: str, folder: Path, store: Store | None) -> NetworkLayers:
    """Return the layers of a network.

    Args:
        text: A table ``layers.csv`` or ``layers.csv#network``, an ONNX file, or a name of the zoo.
        folder: Where files are looked for first.
        store: Where the layers of networks are kept; ``None`` keeps none.

    Raises:
        InputError: There is no such network, it cannot be read, or has no layer.
    """
    file, _, part = text.partition("#")
    path = folder / file
    if not path.exists():
        path = Path(file)
    if path.suffix == _TABLE:
        layers = _of_table(path, part)
    elif path.suffix == ".onnx":
        layers = _remembered(store, _digest_of_file(path), path)
    elif text in names():
        layers = _remembered(store, text, None)
    else:
        raise InputError(
            f"no network {text!r}", hint="an .onnx file, a .csv of layers, or see acc-zoo --list"
        )
    if not layers:
        raise InputError(f"{text} has no layer for the MAC array")
    return NetworkLayers(text, layers)


def _of_table(path: Path, network: str) -> tuple[CountedLayer, ...]:
    layers = read_layers(path)
    counts = _counts(path)
    wanted = [
        (layer, count)
        for layer, count in zip(layers, counts, strict=True)
        if not network or layer.name.split("/")[0] == network
    ]
    if not wanted:
        raise InputError(f"{path} has no network {network!r}")
    return _merged(wanted)


def _counts(path: Path) -> list[int]:
    """Return the column ``count`` of a table; ones where there is none."""
    with path.open(newline="", encoding="utf-8") as file:
        texts = [row.get("count") or "1" for row in csv.DictReader(file)]
    wrong = [item for item in texts if not item.isdecimal() or int(item) < 1]
    if wrong:
        raise InputError(f"{path}: count is {wrong[0]!r}, must be a positive number")
    return [int(item) for item in texts]


def _merged(layers: Iterable[tuple[Layer, int]]) -> tuple[CountedLayer, ...]:
    """Return each distinct workload once."""
    counts: Counter[Workload] = Counter()
    first: dict[Workload, str] = {}
    for layer, count in layers:
        counts[layer.workload] += count
        first.setdefault(layer.workload, layer.name)
    return tuple(CountedLayer(first[item], item, count) for item, count in counts.items())


def _remembered(store: Store | None, identity: str, path: Path | None) -> tuple[CountedLayer, ...]:
    """Return the layers of a file, or of a network of the zoo, from the store where they are."""
    key = digest_of(identity, "layers", code_version(_DECIDING, _PACKAGES))
    kept = None if store is None else store.read(key, _SUFFIX)
    if kept is not None:
        return _decode(kept)
    layers = layers_of(_graph(identity, path))
    if store is not None:
        store.write(key, _SUFFIX, _encode(layers))
    return layers


def _digest_of_file(path: Path) -> str:
    """Return the digest of a model's file; weights beside it change no workload."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _graph(name: str, path: Path | None) -> Graph:
    model = build(name) if path is None else load_model(path)
    return import_model(model).graph


def layers_of(graph: Graph) -> tuple[CountedLayer, ...]:
    """Return the distinct workloads of a graph, in the order in which they occur first."""
    found = ((op.name, workload(op, graph.types)) for op in graph.ops)
    return _merged((Layer(name, item), 1) for name, item in found if item is not None)


def _encode(layers: tuple[CountedLayer, ...]) -> bytes:
    return dump_json(NetworkLayers("", layers)).encode()


def _decode(text: bytes) -> tuple[CountedLayer, ...]:
    return parse_json(text.decode(), NetworkLayers).layers

"""Read an ONNX file from disk; whatever is wrong with it becomes one clear ``ModelError``."""

from collections.abc import Iterator, Mapping
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import cast

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto

from ....ir.errors import ModelError
from ...apart import crash_of
from ..table import NEWEST_OPSET, OLDEST_OPSET
from .constants import ConstantValue, bind_constants
from .external import embed_external_data
from .ir_version import state_ir_version
from .shapes import fix_shapes

LARGEST_MODEL = 2**31 - 1
"""Protobuf's own limit for one message, weights included [byte]."""

_STANDARD = ("", "ai.onnx")


def load_model(
    path: Path | str,
    *,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    constants: Mapping[str, ConstantValue] | None = None,
) -> ModelProto:
    """Read, complete and check a model.

    External data is read into the model; it must lie in the model's folder. All that is tried in a
    child process first, because it is native code that reads what may be damaged on purpose.

    Args:
        path: The ``.onnx`` file.
        shapes: Shapes of inputs and extents of axes, by name; they replace symbolic dimensions.
        constants: Values of inputs that become constants, by name.

    Raises:
        ModelError: The file is missing, no ONNX model, truncated, inconsistent or too large, its
            external data is missing or outside of its folder, an input remains dynamic, or a
            library crashes on it.
        OptionError: A shape or a constant does not suit the model.
    """
    path = Path(path)
    blob = _read(path)
    load = partial(_load, blob, path, shapes=shapes or {}, constants=constants or {})
    crash = crash_of(load)
    if crash is not None:
        raise ModelError(
            f"{path}: reading it ends the process ({crash})",
            hint="the file is damaged, or there is too little memory",
        )
    return load()


def _load(
    blob: bytes,
    path: Path,
    *,
    shapes: Mapping[str, tuple[int, ...]],
    constants: Mapping[str, ConstantValue],
) -> ModelProto:
    model = _parse(blob, path)
    state_ir_version(model, str(path))
    embed_external_data(model, path, LARGEST_MODEL)
    bind_constants(model, constants)
    fix_shapes(model, shapes)
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


def parse_model(blob: bytes, name: str) -> ModelProto:
    """Return the model of some bytes; nothing is checked.

    Args:
        blob: The bytes.
        name: What messages call them.

    Raises:
        ModelError: They are no model.
    """
    model = ModelProto()
    try:
        model.ParseFromString(blob)
    except DecodeError as error:
        raise ModelError(f"{name}: not an ONNX model, or truncated") from error
    return model


def _parse(blob: bytes, path: Path) -> ModelProto:
    if not blob:
        raise ModelError(f"{path}: the file is empty")
    model = parse_model(blob, str(path))
    if not model.HasField("graph") or not model.opset_import:
        raise ModelError(f"{path}: not an ONNX model, or truncated (no graph or no opset)")
    _check_outputs(model, path)
    newest = max((e.version for e in model.opset_import if e.domain in _STANDARD), default=0)
    if newest > NEWEST_OPSET:
        raise ModelError(
            f"{path}: opset {newest} is not supported ({OLDEST_OPSET} to {NEWEST_OPSET})",
            hint="convert the model with onnx.version_converter",
        )
    if not all(isinstance(text, str) for text in _texts(model)):
        raise ModelError(f"{path}: not an ONNX model, or damaged (a name is not UTF-8)")
    return model


def _check_outputs(model: ModelProto, path: Path) -> None:
    graph = model.graph
    if not graph.output:
        raise ModelError(f"{path}: the network has no output")
    given = {item.name for item in (*graph.input, *graph.initializer)}
    for value in graph.output:
        if value.name in given:
            raise ModelError(
                f"{path}: output {value.name!r} is an input or a constant of the network",
                hint="remove it from the network's outputs",
            )


def _texts(model: ModelProto) -> Iterator[object]:
    """Yield every name; protobuf returns bytes where one is not UTF-8."""
    graph = model.graph
    yield graph.name
    for entry in model.opset_import:
        yield entry.domain
    for value in (*graph.input, *graph.output, *graph.value_info):
        yield value.name
        yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)
    for tensor in graph.initializer:
        yield tensor.name
        yield from (text for entry in tensor.external_data for text in (entry.key, entry.value))
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)


def _check(model: ModelProto, path: Path) -> None:
    if model.ByteSize() > LARGEST_MODEL:
        raise ModelError(f"{path}: model and external data exceed {LARGEST_MODEL} bytes")
    _check_order(model, path)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise ModelError(f"{path}: not a valid ONNX model: {_first_line(error)}") from error


def _check_order(model: ModelProto, path: Path) -> None:
    """Check that every node reads what nodes before it compute.

    Raises:
        ModelError: Nodes need each other in a circle, or stand in another order.
    """
    nodes = model.graph.node
    makers = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    needs = [{makers[name] for name in node.input if name in makers} for node in nodes]
    early = next((index for index, read in enumerate(needs) if max(read, default=-1) >= index), -1)
    if early < 0:
        return
    try:
        TopologicalSorter(dict(enumerate(needs))).prepare()
    except CycleError as error:
        name = nodes[cast("int", error.args[1][0])].output[0]
        raise ModelError(f"{path}: the network has a cycle: {name!r} needs itself") from None
    name = next(item for item in nodes[early].input if makers.get(item, -1) >= early)
    raise ModelError(
        f"{path}: node {nodes[early].name!r} reads {name!r} before it is computed",
        hint="nodes must stand in the order in which they run",
    )


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)

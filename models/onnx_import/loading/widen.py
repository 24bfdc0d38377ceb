"""Networks in other floating-point types, computed in float32.

The machines compute in float32. A network in float16 or double becomes one in float32:
its inputs, constants and casts; what it returns can be cast back. Roundings to the narrower types
in between, and the digits of a double beyond float32, are lost.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from ..tensors import OTHER_FLOATS, to_array

TYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_dtype"})
"""Attributes that name an element type."""

_LARGEST = float(np.finfo(np.float32).max)


def compute_in_float32(model: ModelProto) -> dict[str, np.dtype[Any]]:
    """Turn all float16 and double tensors of a model into float32.

    Args:
        model: What is changed.

    Returns:
        The element type that each input and output had, of those that changed, by name.
    """
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    shown = [value for value in (*graph.input, *graph.output) if value.name not in weights]
    found = {
        value.name: helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        for value in shown
        if value.type.tensor_type.elem_type in OTHER_FLOATS
    }
    _widen(graph)
    return found


def _widen(graph: GraphProto) -> None:
    for value in (*graph.input, *graph.output, *graph.value_info):
        _widen_type(value)
    for tensor in (*graph.initializer, *_tensors(graph.node)):
        _widen_tensor(tensor)
    for attribute in _attributes(graph.node):
        if attribute.type == AttributeProto.GRAPH:
            _widen(attribute.g)
        elif attribute.name in TYPE_ATTRIBUTES and attribute.i in OTHER_FLOATS:
            attribute.i = TensorProto.FLOAT


def _attributes(nodes: Iterable[NodeProto]) -> Iterator[AttributeProto]:
    for node in nodes:
        yield from node.attribute


def _tensors(nodes: Iterable[NodeProto]) -> Iterator[TensorProto]:
    for attribute in _attributes(nodes):
        if attribute.type == AttributeProto.TENSOR:
            yield attribute.t


def _widen_type(value: ValueInfoProto) -> None:
    if value.type.tensor_type.elem_type in OTHER_FLOATS:
        value.type.tensor_type.elem_type = TensorProto.FLOAT


def _widen_tensor(tensor: TensorProto) -> None:
    """Convert a constant; finite numbers beyond float32 become its largest."""
    if tensor.data_type not in OTHER_FLOATS:
        return
    array = to_array(tensor).astype(np.float64)
    finite = np.isfinite(array)
    array[finite] = np.clip(array[finite], -_LARGEST, _LARGEST)
    tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float32), tensor.name))


def note_of(types: Mapping[str, np.dtype[Any]]) -> tuple[str, ...]:
    """Return what the user should know of inputs and outputs that were turned into float32."""
    if not types:
        return ()
    names = ", ".join(sorted({dtype.name for dtype in types.values()}))
    return (f"{names} is computed in float32, and so is what it is compared with",)

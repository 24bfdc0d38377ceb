"""State the IR version that a model needs, where it states one that few tools read yet.

    ir_version: 14        ->      ir_version: 10

An exporter states the newest version that it knows, and onnx is ahead of onnxruntime: 1.31 does not
read version 14. What came after version 10 are narrower element types, and on which device a node
runs, which means nothing here. A model without such types is one of version 10, which every
onnxruntime that is supported reads.
"""

from collections.abc import Iterator

from onnx import IR_VERSION, AttributeProto, GraphProto, ModelProto, TensorProto

from ....ir.errors import ModelError
from ..tensors import type_name
from .widen import TYPE_ATTRIBUTES

LAST_IR_VERSION = 10
"""The newest version that every supported onnxruntime and its quantiser read."""

_LAST_TYPE = TensorProto.INT4
"""The newest element type of that version; ONNX numbers its types as they come."""


def state_ir_version(model: ModelProto, name: str) -> None:
    """Lower the IR version that a model states, where it uses nothing newer.

    Args:
        model: What is changed.
        name: What messages call it.

    Raises:
        ModelError: It states a version that the installed onnx does not know, or it uses an element
            type that is newer than what can be stated.
    """
    if model.ir_version <= LAST_IR_VERSION:
        return
    if model.ir_version > IR_VERSION:
        raise ModelError(
            f"{name}: IR version {model.ir_version} is newer than the installed onnx "
            f"reads ({IR_VERSION})",
            hint="install a newer onnx, or export the model with an older one",
        )
    newer = sorted({code for code in _element_types(model.graph) if code > _LAST_TYPE})
    if newer:
        types = ", ".join(map(type_name, newer))
        raise ModelError(
            f"{name}: element type {types} of IR version {model.ir_version} is not supported "
            f"(IR version {LAST_IR_VERSION} and older have none)",
            hint="export the model with float or 8-bit integer tensors",
        )
    model.ir_version = LAST_IR_VERSION
    model.ClearField("configuration")
    for node in model.graph.node:
        node.ClearField("device_configurations")


def _element_types(graph: GraphProto) -> Iterator[int]:
    """Yield the element types that a graph and those inside of it name."""
    for value in (*graph.input, *graph.output, *graph.value_info):
        yield value.type.tensor_type.elem_type
    yield from (tensor.data_type for tensor in graph.initializer)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _element_types(attribute.g)
            elif attribute.type == AttributeProto.TENSOR:
                yield attribute.t.data_type
            elif attribute.name in TYPE_ATTRIBUTES:
                yield attribute.i

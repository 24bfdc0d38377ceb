"""Operators that ONNX itself defines by simpler ones, replaced by these."""

from collections.abc import Iterator, Mapping
from typing import Any

import onnx.defs
from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto, helper

from ....ir.types import TensorType
from ..builder import Builder
from ..node import Node
from ..tensors import element_code
from .renaming import renamed

_NONE = TypeProto()


def has_body(node: Node) -> bool:
    """Whether ONNX defines a node's operator by others."""
    return bool(_versions(node))


def _versions(node: Node) -> tuple[int, ...]:
    """Return the opsets that its definitions are for, as far as the model's reaches."""
    schema = _schema(node)
    if schema is None:
        return ()
    known = (*schema.function_opset_versions, *schema.context_dependent_function_opset_versions)
    return tuple(version for version in known if version <= node.opset)


def _schema(node: Node) -> Any:
    """Return ONNX's declaration of a node's operator (its type stub lacks the functions)."""
    try:
        return onnx.defs.get_schema(node.kind, node.opset, node.domain)
    except onnx.defs.SchemaError:
        return None


def body_of(node: Node, b: Builder) -> Iterator[Node]:
    """Yield the nodes that a node stands for; tensors inside have names of their own.

    Args:
        node: A node of which ``has_body`` holds.
        b: The graph under construction, which knows the node's inputs.
    """
    function = _function(node, b)
    opsets = {entry.domain: entry.version for entry in function.opset_import}
    names = dict.fromkeys(function.input, "")
    names |= dict(zip(function.input, node.inputs, strict=False))
    names |= {name: f"{node.outputs[0]}/{name}" for item in function.node for name in item.output}
    names |= {name: out for name, out in zip(function.output, node.outputs, strict=False) if out}
    given = _attributes(node, function)
    for item in function.node:
        yield Node(renamed(item, names, given), _opset(item, node, opsets, b))


def _opset(item: NodeProto, node: Node, opsets: Mapping[str, int], b: Builder) -> int:
    """Return the opset of a node of a function's body.

    A function of another domain does not say which opset of ONNX's own it means: the model's.
    """
    domain = "" if item.domain == "ai.onnx" else item.domain
    if domain != node.domain and domain in b.opsets:
        return b.opsets[domain]
    return opsets.get(item.domain, node.opset)


def _function(node: Node, b: Builder) -> FunctionProto:
    schema, version = _schema(node), max(_versions(node))
    function = FunctionProto()
    if version in schema.function_opset_versions:
        function.ParseFromString(schema.get_function_with_opset_version(version))
    else:
        types = [_type(b.type_of(name)) if name else _NONE for name in node.inputs]
        content = schema.get_context_dependent_function_with_opset_version(
            version, node.proto.SerializeToString(), [item.SerializeToString() for item in types]
        )
        function.ParseFromString(content)
    return function


def _type(found: TensorType) -> TypeProto:
    return helper.make_tensor_type_proto(element_code(found.dtype), found.shape)


def _attributes(node: Node, function: FunctionProto) -> Mapping[str, AttributeProto]:
    """Return the attributes of a node, defaults included."""
    found: dict[str, AttributeProto] = {
        name: item.default_value
        for name, item in _schema(node).attributes.items()
        if item.default_value.name
    }
    found |= {item.name: item for item in function.attribute_proto}
    return found | {item.name: item for item in node.proto.attribute}

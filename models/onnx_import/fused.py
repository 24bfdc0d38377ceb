"""Operators that onnxruntime fuses of dynamic quantisation, as those that it fused."""

from collections.abc import Iterator

from onnx import TensorProto, helper

from .node import Node

_OPSET = 21
"""The opset whose operators are put in place."""

_KINDS = frozenset({"DynamicQuantizeMatMul", "MatMulIntegerToFloat"})


def is_fused(node: Node) -> bool:
    """Whether a node is such an operator."""
    return node.domain == "com.microsoft" and node.kind in _KINDS


def unfused(node: Node) -> Iterator[Node]:
    """Yield the nodes that a node stands for.

    Args:
        node: A node of which ``is_fused`` holds.
    """
    out = node.outputs[0]
    a, a_zero, a_scale = node.input(0), _optional(node, 4), node.input(2)
    b_scale, b_zero, bias = _optional(node, 3), _optional(node, 5), _optional(node, 6)
    if node.kind == "DynamicQuantizeMatMul":
        a, a_scale, a_zero = (f"{out}/{part}" for part in ("quantised", "scale", "zero"))
        yield _node("DynamicQuantizeLinear", [node.input(0)], [a, a_scale, a_zero])
        b_scale, b_zero, bias = node.input(2), _optional(node, 3), _optional(node, 4)
    yield _node("MatMulInteger", [a, node.input(1), a_zero, b_zero], [f"{out}/sums"])
    cast = _node("Cast", [f"{out}/sums"], [f"{out}/floats"])
    cast.proto.attribute.append(helper.make_attribute("to", TensorProto.FLOAT))
    yield cast
    yield _node("Mul", [a_scale, b_scale], [f"{out}/factor"])
    product = f"{out}/product" if bias else out
    yield _node("Mul", [f"{out}/floats", f"{out}/factor"], [product])
    if bias:
        yield _node("Add", [product, bias], [out])


def _optional(node: Node, index: int) -> str:
    """Return the name of an input, ``""`` if it is absent."""
    return node.input(index) if node.has_input(index) else ""


def _node(kind: str, inputs: list[str], outputs: list[str]) -> Node:
    return Node(helper.make_node(kind, inputs, outputs, f"{kind} of {outputs[0]}"), _OPSET)

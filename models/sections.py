"""A model in sections, each of which reads what is given for the sections before it.

    a -> QuantizeLinear -> q -> rest      ->      a -> QuantizeLinear -> q
                                                  q/given (an input) -> rest

    a -> Floor -> rest                    ->      a
                                                  a/given (an input) -> Floor -> rest

``a`` and ``q`` are outputs then.
"""

from collections.abc import Mapping

from onnx import ModelProto, NodeProto, TensorProto, helper

from ..ir.types import TensorType
from .onnx_import.tensors import element_code
from .session import Model

_GIVEN = "/given"
_RECTIFIERS = frozenset({"Relu", "Clip"})
_JUMPS = frozenset(
    {
        *("ArgMax", "ArgMin", "BitCast", "Ceil", "DynamicQuantizeLinear", "Equal", "Floor"),
        *("Greater", "GreaterOrEqual", "Hardmax", "Less", "LessOrEqual", "Mod", "OneHot"),
        *("Round", "Shrink", "Sign", "ThresholdedRelu", "TopK"),
    }
)
"""Kinds of nodes whose result may change by any amount where an operand changes by the least."""
_CASTS = frozenset({"Cast", "CastLike"})
_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})
"""What floats become without a jump."""


def quantised_tensors(model: Model) -> dict[str, str]:
    """Return the float tensor that each quantised tensor of the graph itself is made of."""
    return {
        node.output[0]: node.input[0]
        for node in model.graph.node
        if node.op_type == "QuantizeLinear"
    }


def quantised_by(model: Model, kinds: frozenset[str]) -> frozenset[str]:
    """Return the quantised tensors that nodes of some kinds make, rectified or not.

    Args:
        model: The model.
        kinds: Kinds of nodes.
    """
    makers = {name: node for node in model.graph.node for name in node.output}

    def maker(name: str) -> NodeProto | None:
        node = makers.get(name)
        return maker(node.input[0]) if node is not None and node.op_type in _RECTIFIERS else node

    found = ((name, maker(source)) for name, source in quantised_tensors(model).items())
    return frozenset(name for name, node in found if node is not None and node.op_type in kinds)


def jumped_from(model: Model) -> frozenset[str]:
    """Return the tensors that nodes read whose functions jump."""
    return frozenset(
        name for node in model.graph.node if _jumps(node) for name in node.input if name
    )


def _jumps(node: NodeProto) -> bool:
    if node.op_type in _CASTS:
        return not any(item.name == "to" and item.i in _FLOATS for item in node.attribute)
    return node.op_type in _JUMPS


def given_name(name: str) -> str:
    """Return the name of the input that stands for a tensor."""
    return f"{name}{_GIVEN}"


def in_sections(model: Model, cuts: Mapping[str, TensorType]) -> ModelProto:
    """Return a model whose nodes read inputs in place of some tensors.

    Args:
        model: The model; it is left as it is.
        cuts: These tensors and their types; the model returns them, and what quantised ones are
            made of.
    """
    result = ModelProto()
    result.CopyFrom(model)
    graph, sources = result.graph, quantised_tensors(model)
    for node in graph.node:
        node.input[:] = [given_name(name) if name in cuts else name for name in node.input]
    shown = {output.name for output in graph.output}
    for name, found in cuts.items():
        code = element_code(found.dtype)
        graph.input.append(helper.make_tensor_value_info(given_name(name), code, found.shape))
        for made, kind in ((name, code), (sources.get(name, name), TensorProto.FLOAT)):
            if made not in shown:
                graph.output.append(helper.make_tensor_value_info(made, kind, None))
                shown.add(made)
    return result

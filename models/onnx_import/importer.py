"""Import an ONNX model as a graph of our operators and its constants."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from onnx import ModelProto, NodeProto

from ...ir.errors import ModelError, VerifyError
from ...ir.graph import Graph, eliminate_dead
from ...ir.operators.elementary import Array
from ...ir.ops import verify_graph
from ...ir.resources import Constants
from ...ir.types import TensorType
from .arguments import constant_input
from .bodies.control_flow import bodies, has_bodies, unrolled
from .bodies.expansion import body_of, has_body
from .builder import Builder
from .folding import fold, is_foldable
from .fused import is_fused, unfused
from .loading.shapes import run_time_inputs, static_shape
from .node import Node
from .table import (
    NEWEST_OPSET,
    OLDEST_OPSET,
    is_supported,
    operator_for,
    refuse_unsupported,
)
from .tensors import element_type, to_array


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedNetwork:
    """A network as the compiler sees it.

    Attributes:
        graph: Its operators; verified.
        constants: Data of the graph's constants.
        input_names: ONNX name and name in the graph of each input, in order.
        output_names: The same for each output, in order; several may be one tensor.
        tensor_names: The same for every ONNX tensor that is computed.
        empty_outputs: ONNX name and value of outputs without elements, which nothing computes.
    """

    graph: Graph
    constants: Constants
    input_names: tuple[tuple[str, str], ...]
    output_names: tuple[tuple[str, str], ...]
    tensor_names: tuple[tuple[str, str], ...]
    empty_outputs: tuple[tuple[str, Array], ...] = ()


def import_model(model: ModelProto) -> ImportedNetwork:
    """Turn a model with static shapes into a graph.

    Shape arithmetic is folded; all else is for passes to rewrite.

    Args:
        model: What ``load_model`` returns.

    Raises:
        ModelError: An operator, element type or opset is not supported, or the model is malformed.
    """
    opsets = _opsets(model)
    builder = Builder(opsets)
    for tensor in model.graph.initializer:
        builder.set_known(tensor.name, to_array(tensor))
    for value in run_time_inputs(model):
        dtype = element_type(value.type.tensor_type.elem_type, f"input {value.name!r}")
        builder.add_input(value.name, TensorType(dtype, static_shape(value)))
    nodes = [Node(proto, opsets.get(_domain(proto), 0)) for proto in model.graph.node]
    refuse_unsupported(_not_replaced(nodes))
    for node in nodes:
        _import_node(node, builder)
    return _finish(model, builder)


def _not_replaced(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the nodes that the table must have, those of bodies included."""
    for node in nodes:
        if has_bodies(node):
            inner = (proto for body in bodies(node) for proto in body.node)
            yield from _not_replaced(Node(proto, node.opset) for proto in inner)
        elif not (is_foldable(node) or is_fused(node) or has_body(node)):
            yield node


def _domain(proto: NodeProto) -> str:
    return "" if proto.domain == "ai.onnx" else proto.domain


def _import_node(node: Node, builder: Builder) -> None:
    for name in node.inputs:
        if name and not builder.is_defined(name):
            raise node.refusal(f"reads {name!r} before it is defined")
    if not node.outputs:
        raise node.refusal("has no output")
    if _is_folded(node, builder):
        known = [builder.known(name) if name else None for name in node.inputs]
        for name, array in zip(node.outputs, fold(node, known), strict=False):
            builder.set_known(name, array)
    elif is_fused(node):
        _import_all(unfused(node), builder)
    elif has_bodies(node):
        _import_all(unrolled(node, builder), builder)
    elif not is_supported(node) and has_body(node):
        _import_all(body_of(node, builder), builder)
    else:
        operator_for(node).run(node, builder)


def _import_all(nodes: Iterable[Node], builder: Builder) -> None:
    """Import nodes one by one; which come next may depend on those that were imported."""
    for node in nodes:
        _import_node(node, builder)


def _is_folded(node: Node, builder: Builder) -> bool:
    """Whether a node is evaluated at once.

    Raises:
        ComputedOperandError: It cannot be imported otherwise, and an input is computed.
    """
    if node.domain or not node.inputs or has_bodies(node):
        return False
    first = builder.known(node.inputs[0]) if node.inputs[0] else None
    is_empty = first is not None and not first.size and node.kind != "Concat"
    if is_empty or (is_foldable(node) and not is_supported(node)):
        for index in range(len(node.inputs)):
            if node.has_input(index):
                constant_input(builder, node, index, f"input {index}")
        return True
    names = [name for name in node.inputs if name]
    return is_foldable(node) and all(builder.known(name) is not None for name in names)


def _finish(model: ModelProto, builder: Builder) -> ImportedNetwork:
    outputs = tuple(value.name for value in model.graph.output)
    for name in outputs:
        if not builder.is_defined(name):
            raise ModelError(f"output {name!r} is not defined by any node")
    inputs = tuple(value.name for value in run_time_inputs(model))
    known = ((name, builder.known(name)) for name in outputs)
    empty = {name: array for name, array in known if array is not None and not array.size}
    outputs = tuple(name for name in outputs if name not in empty)
    if not outputs:
        raise ModelError(f"no output has elements: {', '.join(empty)}; nothing is to be computed")
    try:
        graph = eliminate_dead(builder.graph(model.graph.name, outputs))
        verify_graph(graph)
        constants = Constants(builder.arrays).only(graph.constant_names)
        constants.verify(graph)
    except VerifyError as error:
        raise ModelError(str(error)) from error
    named = tuple(zip(outputs, graph.outputs, strict=True))
    return ImportedNetwork(
        graph=replace(graph, outputs=tuple(dict.fromkeys(graph.outputs))),
        constants=constants,
        input_names=tuple(zip(inputs, (value.name for value in graph.inputs), strict=True)),
        output_names=named,
        tensor_names=tuple(
            (name, value) for name, value in builder.values.items() if value in graph.types
        ),
        empty_outputs=tuple(empty.items()),
    )


def _opsets(model: ModelProto) -> Mapping[str, int]:
    """Return the version of each domain.

    Raises:
        ModelError: The default domain has a version that is not known yet.
    """
    opsets = {
        "" if entry.domain == "ai.onnx" else entry.domain: entry.version
        for entry in model.opset_import
    }
    version = opsets.get("", OLDEST_OPSET)
    if version > NEWEST_OPSET:
        raise ModelError(
            f"opset {version} is not supported ({OLDEST_OPSET} to {NEWEST_OPSET})",
            hint="convert the model with onnx.version_converter",
        )
    return opsets

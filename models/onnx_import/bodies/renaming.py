"""Nodes of function and loop bodies under names of the network that runs them."""

from collections.abc import Mapping

from onnx import AttributeProto, GraphProto, NodeProto


def renamed(
    proto: NodeProto, names: Mapping[str, str], given: Mapping[str, AttributeProto] | None = None
) -> NodeProto:
    """Return a copy of a node with other names of tensors, in its own graphs as well.

    Args:
        proto: The node.
        names: The new names; tensors that it lacks keep theirs.
        given: Attributes of the function that the node belongs to, which it may refer to; one that
            is not given is left out.
    """
    copy = NodeProto()
    copy.CopyFrom(proto)
    for place in (copy.input, copy.output):
        place[:] = [names.get(name, name) for name in place]
    copy.name = f"{copy.name or copy.op_type} of {copy.output[0]}"
    del copy.attribute[:]
    for attribute in proto.attribute:
        source = attribute
        if attribute.ref_attr_name:
            if attribute.ref_attr_name not in (given or {}):
                continue
            source = (given or {})[attribute.ref_attr_name]
        copy.attribute.add().CopyFrom(source)
        copy.attribute[-1].name = attribute.name
        if source.type == AttributeProto.GRAPH:
            _rename_captured(copy.attribute[-1].g, names, given)
    return copy


def _rename_captured(
    graph: GraphProto, names: Mapping[str, str], given: Mapping[str, AttributeProto] | None
) -> None:
    """Rename what a graph reads from outside; its own tensors keep their names."""
    own = {value.name for value in (*graph.input, *graph.initializer)}
    own |= {name for node in graph.node for name in node.output}
    outer = {name: new for name, new in names.items() if name not in own}
    for node in graph.node:
        node.CopyFrom(renamed(node, outer, given))
    for value in graph.output:
        value.name = outer.get(value.name, value.name)

"""Make a network smaller that something is wrong with, as long as it remains wrong.

Three things are tried until none helps: to end at an earlier tensor, to begin at a later one, and
to leave out a node whose result has the type of one of its operands.
"""

from collections.abc import Callable, Iterator

from onnx import ModelProto, NodeProto, ValueInfoProto, helper

Fails = Callable[[ModelProto], bool]
"""Whether what was wrong with a network is wrong with this one."""


def reduced(model: ModelProto, fails: Fails, trials: int = 200) -> ModelProto:
    """Return the smallest network found that fails in the same way.

    Args:
        model: Fails; knows the shapes of all its tensors.
        fails: Tells of other networks.
        trials: How many networks are tried at most.
    """
    best, left = model, trials
    while True:
        for candidate in _smaller(best):
            if not left:
                return best
            left -= 1
            if fails(candidate):
                best = candidate
                break
        else:
            return best


def _smaller(model: ModelProto) -> Iterator[ModelProto]:
    """Yield networks with fewer nodes, those with fewest first."""
    found = [*_ending_earlier(model), *_beginning_later(model), *_without_a_node(model)]
    fewer = (item for item in found if 0 < len(item.graph.node) < len(model.graph.node))
    yield from sorted(fewer, key=lambda item: len(item.graph.node))


def _infos(model: ModelProto) -> dict[str, ValueInfoProto]:
    graph = model.graph
    return {item.name: item for item in (*graph.input, *graph.value_info, *graph.output)}


def _computed(model: ModelProto) -> list[ValueInfoProto]:
    """Return the tensors that nodes make and whose shapes are known, in order."""
    infos = _infos(model)
    return [infos[name] for node in model.graph.node for name in node.output if name in infos]


def _ending_earlier(model: ModelProto) -> Iterator[ModelProto]:
    for last in _computed(model):
        yield _cut(model, list(model.graph.node), list(model.graph.input), [last])


def _beginning_later(model: ModelProto) -> Iterator[ModelProto]:
    ends = {item.name for item in model.graph.output}
    alone = {node.output[0] for node in model.graph.node if len(node.output) == 1}
    for first in _computed(model):
        if first.name in ends or first.name not in alone:
            continue
        nodes = [node for node in model.graph.node if first.name not in node.output]
        inputs = [*model.graph.input, first]
        yield _cut(model, nodes, inputs, list(model.graph.output))


def _without_a_node(model: ModelProto) -> Iterator[ModelProto]:
    infos, ends = _infos(model), {item.name for item in model.graph.output}
    for left_out in (node for node in model.graph.node if len(node.output) == 1):
        (result,) = left_out.output
        for operand in left_out.input:
            known = operand in infos and result in infos and result not in ends
            if known and infos[operand].type == infos[result].type:
                nodes = [
                    _reading(node, result, operand)
                    for node in model.graph.node
                    if node is not left_out
                ]
                yield _cut(model, nodes, list(model.graph.input), list(model.graph.output))


def _reading(node: NodeProto, old: str, new: str) -> NodeProto:
    """Return a node that reads another tensor in the place of one."""
    found = NodeProto()
    found.CopyFrom(node)
    del found.input[:]
    found.input.extend(new if name == old else name for name in node.input)
    return found


def _cut(
    model: ModelProto,
    nodes: list[NodeProto],
    inputs: list[ValueInfoProto],
    outputs: list[ValueInfoProto],
) -> ModelProto:
    """Return the part of a network that its outputs need."""
    needed = {item.name for item in outputs}
    kept: list[NodeProto] = []
    for node in reversed(nodes):
        if needed & set(node.output):
            kept.append(node)
            needed |= set(node.input)
    graph = helper.make_graph(
        kept[::-1],
        model.graph.name,
        [item for item in inputs if item.name in needed],
        outputs,
        [item for item in model.graph.initializer if item.name in needed],
        value_info=[item for item in _computed(model) if item.name in needed],
    )
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)

"""Which inputs of a model are indices, and what they are below: a vocabulary, for instance."""

from collections.abc import Iterator

from onnx import ModelProto, NodeProto

_MOVES = frozenset({"Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})


def index_bounds(model: ModelProto) -> dict[str, int]:
    """Return the extent of what each input indexes, the least of several; other inputs are absent.

    An input is an index where it is gathered with, at once or after moves and casts, from a
    constant of the model.
    """
    sources = {n.output[0]: n.input[0] for n in model.graph.node if n.op_type in _MOVES}
    bounds: dict[str, int] = {}
    for name, extent in _gathered(model):
        while name in sources:
            name = sources[name]
        bounds[name] = min(extent, bounds.get(name, extent))
    return bounds


def _gathered(model: ModelProto) -> Iterator[tuple[str, int]]:
    """Yield the indices of every gather from a constant, with the extent of the axis."""
    shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Gather" and node.input[0] in shapes:
            yield node.input[1], shapes[node.input[0]][_axis(node)]


def _axis(node: NodeProto) -> int:
    return next((int(item.i) for item in node.attribute if item.name == "axis"), 0)

"""What a network must move to and from off-chip memory, whatever the plan and the tiles."""

from ...ir.graph import Graph, Op
from ...ir.op_views import window_of
from ...ir.ops import OPS, is_mac, parts_of
from .bounds import Padding, rows_read


def compulsory_network_bytes(graph: Graph) -> int:
    """Return the bytes of inputs, constants and outputs, each moved once, unread ones left out.

    Of an input that windows step over only what the most demanding operator touches is counted.
    """
    made = (name for name in dict.fromkeys(graph.outputs) if name in graph.producer)
    total = sum(graph.types[name].bytes for name in made)
    for value in (*graph.inputs, *graph.constants):
        read = (_read_bytes(graph, op, value.name) for op in graph.consumers[value.name])
        total += max(read, default=0)
    return total


def padding_of(graph: Graph, op: Op) -> Padding | None:
    """Return where the input of a convolution ends; ``None`` where it has no windows."""
    if op.kind != "conv2d":
        return None
    top, left, _, _ = window_of(op, (1, 1)).pads
    rows, columns = graph.types[op.operands[0]].shape[2:]
    return Padding(rows=rows, columns=columns, top=top, left=left)


def _read_bytes(graph: Graph, op: Op, name: str) -> int:
    """Return the bytes of a tensor that an operator reads at least."""
    source = graph.types[name]
    if name != op.operands[0] or name in op.operands[1:]:
        return source.bytes
    if op.kind != "conv2d":
        return source.dtype.bytes * _elements_read(graph, op)
    rows, columns = graph.types[op.operands[1]].shape[2:]
    window = window_of(op, (rows, columns))
    touched = 1
    for axis in (0, 1):
        touched *= rows_read(
            graph.types[op.name].shape[2 + axis],
            window.kernel[axis],
            window.stride[axis],
            window.dilation[axis],
            window.pads[axis],
            source.shape[2 + axis],
        )
    return touched * source.shape[0] * source.shape[1] * source.dtype.bytes


def _elements_read(graph: Graph, op: Op) -> int:
    """Return how many elements of its first operand an operator reads at least."""
    if is_mac(op) or op.kind not in OPS or OPS[op.kind].access is None:
        return graph.types[op.operands[0]].elements
    return max(
        read.elements(part.domain)
        for part in parts_of(op, graph.types)
        for read in part.reads
        if read.operand == 0
    )

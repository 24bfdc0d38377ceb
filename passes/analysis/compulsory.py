"""The off-chip bytes that no plan of a network avoids."""

from ...ir.graph import Graph, Op
from ...ir.op_views import window_of
from ...ir.ops import OPS, workload
from ...ir.workload import Workload
from .bounds import Padding

_POOLS = frozenset({"max_pool", "avg_pool"})


def compulsory_network_bytes(graph: Graph) -> int:
    """Return the bytes of inputs, constants and outputs, each moved once, unread ones left out.

    What the windows of a first convolution or pool step over is not counted.
    """
    total = sum(graph.types[name].bytes for name in graph.outputs if name in graph.producer)
    for value in (*graph.inputs, *graph.constants):
        read = sum(_read_bytes(graph, op, value.name) for op in graph.consumers[value.name])
        total += min(value.type.bytes, read)
    return total


def _read_bytes(graph: Graph, op: Op, name: str) -> int:
    """Return the bytes of a tensor that an operator reads at least."""
    load, padding = _windows(graph, op), padding_of(graph, op)
    if load is None or padding is None or name != op.operands[0]:
        return graph.types[name].bytes
    return padding.elements_read(load) * graph.types[name].dtype.bytes


def _windows(graph: Graph, op: Op) -> Workload | None:
    """Return how the windows of an operator move, pools seen as a convolution of each channel."""
    if op.kind not in _POOLS:
        return workload(op, graph.types) if op.kind in OPS else None
    window = window_of(op)
    N, C, P, Q = op.result.type.shape
    return Workload(
        R=window.kernel[0],
        S=window.kernel[1],
        P=P,
        Q=Q,
        C=C,
        N=N,
        stride=window.stride,
        dilation=window.dilation,
    )


def padding_of(graph: Graph, op: Op) -> Padding | None:
    """Return where the image of an operator with windows ends, ``None`` where it has none."""
    if op.kind != "conv2d" and op.kind not in _POOLS:
        return None
    top, left, _, _ = window_of(op, (1, 1)).pads
    rows, columns = graph.types[op.operands[0]].shape[2:]
    return Padding(rows=rows, columns=columns, top=top, left=left)

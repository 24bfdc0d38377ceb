"""What a network must move to and from off-chip memory, whatever the plan and the tiles."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...ir.graph import Graph, Op
from ...ir.operators.families.elementwise import ONE_ELEMENT
from ...ir.operators.spec import Family
from ...ir.operators.views import SlidingWindow, window_of
from ...ir.ops import OPS, is_mac, parts_of, workload
from .bounds import OffChipBytes, Padding

Pixels = tuple[NDArray[np.bool_], NDArray[np.bool_]]
"""Rows and columns of an image that somebody needs."""


def compulsory_network_bytes(graph: Graph) -> OffChipBytes:
    """Return the bytes of inputs, constants and outputs, each moved once, unread ones left out.

    Of an input that windows step over only what the most demanding operator touches is counted,
    and of that what outputs depend on: where operators are fused, nobody makes the rest.
    """
    needed = _needed_pixels(graph, graph.ops, graph.outputs)
    made = (name for name in dict.fromkeys(graph.outputs) if name in graph.producer)
    names = (value.name for value in (*graph.inputs, *graph.constants))
    read = sum(
        max((_read_bytes(graph, op, name, needed) for op in graph.consumers[name]), default=0)
        for name in names
    )
    return OffChipBytes(read, written=sum(graph.types[name].bytes for name in made))


def compulsory_group_bytes(graph: Graph, members: Sequence[str]) -> Mapping[str, int]:
    """Return the bytes of each activation that a fused group at least reads, or makes for others.

    All that it makes for others is made, and stored where it does not remain on chip; what is read
    comes once.

    Args:
        graph: The network.
        members: Operators of the group, in execution order.
    """
    ops = [graph.producer[name] for name in members]
    made = [name for name in members if _leaves(graph, name, members)]
    needed = _needed_pixels(graph, ops, made)
    found = {name: graph.types[name].bytes for name in made}
    for op in ops:
        for name in dict.fromkeys(op.inputs):
            if name not in members and not graph.is_constant(name):
                found[name] = max(found.get(name, 0), _read_bytes(graph, op, name, needed))
    return found


def _leaves(graph: Graph, name: str, members: Sequence[str]) -> bool:
    """Whether somebody outside of a group needs a result."""
    readers = graph.consumers[name]
    return name in graph.outputs or any(op.name not in members for op in readers)


def needed_macs(graph: Graph) -> Mapping[str, int]:
    """Return the multiply-accumulates of each operator that outputs of the network depend on.

    Where operators are fused, nobody computes rows that windows step over.

    Args:
        graph: The network.
    """
    needed = _needed_pixels(graph, graph.ops, graph.outputs)
    return {op.name: _macs(graph, op, needed) for op in graph.ops}


def _macs(graph: Graph, op: Op, needed: Mapping[str, Pixels]) -> int:
    load = workload(op, graph.types)
    if load is None:
        return 0
    if op.name not in needed:
        return load.macs
    rows, columns = needed[op.name]
    return load.macs * int(rows.sum()) * int(columns.sum()) // (rows.size * columns.size)


def padding_of(graph: Graph, op: Op) -> Padding | None:
    """Return where the input of a convolution ends; ``None`` where it has no windows."""
    if op.kind != "conv2d":
        return None
    top, left, _, _ = window_of(op, (1, 1)).pads
    rows, columns = graph.types[op.operands[0]].shape[2:]
    return Padding(rows=rows, columns=columns, top=top, left=left)


def _needed_pixels(graph: Graph, ops: Sequence[Op], outputs: Sequence[str]) -> Mapping[str, Pixels]:
    """Return the pixels of every image that outputs of some operators depend on through windows."""
    found: dict[str, Pixels] = {
        name: _all_pixels(graph, name) for name in outputs if _is_image(graph, name)
    }
    for op in reversed(ops):
        for name in dict.fromkeys(op.inputs):
            if _is_image(graph, name):
                read = _pixels_read(graph, op, name, found)
                known = found.get(name)
                found[name] = read if known is None else (known[0] | read[0], known[1] | read[1])
    return found


def _is_image(graph: Graph, name: str) -> bool:
    return len(graph.types[name].shape) == 4


def _all_pixels(graph: Graph, name: str) -> Pixels:
    rows, columns = graph.types[name].shape[2:]
    return np.ones(rows, np.bool_), np.ones(columns, np.bool_)


def _pixels_read(graph: Graph, op: Op, name: str, needed: Mapping[str, Pixels]) -> Pixels:
    """Return the pixels of an image that an operator reads for the needed ones of its result."""
    window = _window(graph, op, name)
    made = needed.get(op.name)
    if made is None or window is None:
        return _all_pixels(graph, name)
    rows, columns = graph.types[name].shape[2:]
    return _met(window, 0, made[0], rows), _met(window, 1, made[1], columns)


def _window(graph: Graph, op: Op, name: str) -> SlidingWindow | None:
    """Return the window that an operator reads an image through, ``None`` if it reads it all."""
    family = OPS[op.kind].family if op.kind in OPS else None
    if op.operands[0] == name and op.operands.count(name) == 1:
        if op.kind == "conv2d":
            rows, columns = graph.types[op.operands[1]].shape[2:]
            return window_of(op, (rows, columns))
        # Global pools have no window; neither have graphs that only schedulers of tensors see.
        if family is Family.POOL and "kernel" in dict(op.attrs):
            return window_of(op)
    is_same = graph.types[name].shape == op.result.type.shape
    return _PIXEL if family in ONE_ELEMENT and is_same else None


_PIXEL = SlidingWindow(
    kernel=(1, 1), stride=(1, 1), pads=(0, 0, 0, 0), dilation=(1, 1), overhang=(0, 0)
)


def _met(
    window: SlidingWindow, axis: int, made: NDArray[np.bool_], extent: int
) -> NDArray[np.bool_]:
    """Return what the windows of some results meet along one axis."""
    taps = np.arange(window.kernel[axis]) * window.dilation[axis] - window.pads[axis]
    places = (np.flatnonzero(made)[:, None] * window.stride[axis] + taps).ravel()
    met = np.zeros(extent, np.bool_)
    met[places[(places >= 0) & (places < extent)]] = True
    return met


def _read_bytes(graph: Graph, op: Op, name: str, needed: Mapping[str, Pixels]) -> int:
    """Return the bytes of a tensor that an operator reads at least."""
    source = graph.types[name]
    if _is_image(graph, name) and _window(graph, op, name) is not None:
        rows, columns = _pixels_read(graph, op, name, needed)
        pixels = int(rows.sum()) * int(columns.sum())
        return pixels * source.shape[0] * source.shape[1] * source.dtype.bytes
    if name != op.operands[0] or name in op.operands[1:]:
        return source.bytes
    return source.dtype.bytes * _elements_read(graph, op)


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

"""Which part of a resident tensor a tile operation touches."""

from collections.abc import Callable
from dataclasses import replace

from ....ir.arch import Architecture
from ....ir.graph import Graph, Op
from ....ir.isa.instructions import Space
from ....ir.operators.access import Box
from ....ir.ops import is_mac, operand_types, other_read, part_of, workload
from ....ir.tiles.graph import Range, Tile, TileOp
from ....ir.tiles.regions import region_of
from ....ir.workload import DIMS
from ...tiling.mac_tiles import MacTiler
from ...tiling.residency import Residency

Reads = Callable[[TileOp], tuple[Box | None, ...]]
"""From an operation to the boxes of its first operands, in the operator's views; those without one,
and the others, are never resident."""

_NOWHERE = Residency(addresses={}, workspace_address=0, workspace_bytes=0)


def window(tile: Tile, box: Box) -> Tile:
    """Return the part of a resident tile that covers a box.

    It has the steps of the tile: what lies between the rows that windows skip is there, too.
    """
    assert tile.address is not None
    steps = (axis.step for axis in tile.box)
    box = tuple(Range(axis.start, axis.stop, step) for axis, step in zip(box, steps, strict=True))
    part = replace(tile, box=box)
    shift = region_of(part).offset - region_of(tile).offset
    return replace(part, address=tile.address + shift * tile.element_bytes)


def reads_of(graph: Graph, op: Op, arch: Architecture) -> Reads:
    """Return what tells the boxes that the operations of an operator read.

    Args:
        graph: The network.
        op: The operator.
        arch: The machine.
    """
    if is_mac(op):
        return _mac_reads(graph, op, arch)
    types = operand_types(op, graph.types)

    def reads(step: TileOp) -> tuple[Box, ...]:
        part = part_of(op, types, step.box)
        return tuple(read.box(step.box) for read in part.reads)

    return reads


def _mac_reads(graph: Graph, op: Op, arch: Architecture) -> Reads:
    load = workload(op, graph.types)
    assert load is not None
    tiler = MacTiler(graph, op, load, Space.GB, _NOWHERE, arch, 0)

    def reads(step: TileOp) -> tuple[Box | None, ...]:
        if step.joined:
            read = other_read(graph, graph.producer[step.joined], step.works_for)
            last = None if read is None else read.box(step.written)
            return (*(None for _ in step.reads[1:]), last)
        if not step.accumulates:
            return ()
        ranges = dict(zip(DIMS, step.box, strict=True))
        return tiler.inputs(ranges).box, tiler.weights(ranges).box

    return reads

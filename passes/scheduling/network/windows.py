"""Which part of a resident tensor a tile operation touches."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ....ir.arch import Architecture
from ....ir.graph import Graph, Op
from ....ir.isa.instructions import Space
from ....ir.operators.access import Box, View
from ....ir.ops import is_mac, operand_types, other_read, part_of, workload
from ....ir.tiles.graph import Range, Tile, TileOp
from ....ir.tiles.regions import region_of
from ....ir.workload import DIMS
from ...tiling.mac_tiles import MacTiler
from ...tiling.residency import Residency


class Seen(NamedTuple):
    """Elements of a tensor, as an operator sees them.

    Attributes:
        box: Which they are.
        view: Along which axes; ``None`` for those of the tensor's tiles.
    """

    box: Box
    view: View | None = None


Reads = Callable[[TileOp], tuple[Seen | None, ...]]
"""From an operation to what it reads of its first operands; those without, and the others, are
never resident."""

_NOWHERE = Residency(addresses={}, workspace_address=0, workspace_bytes=0)


def window(tile: Tile, seen: Seen) -> Tile:
    """Return the part of a resident tile that covers what is seen of it.

    It has the steps of the tile: what lies between the rows that windows skip is there, too. A
    member of a group may see a tensor along other axes than the one that it was cut for: a reshape
    sees those of its result.

    Args:
        tile: The resident tile.
        seen: What an operation reads or writes of it.
    """
    assert tile.address is not None
    if seen.view is None or _are_axes_of(seen.view, tile):
        axes = zip(seen.box, tile.box, strict=True)
        part = replace(tile, box=tuple(Range(one.start, one.stop, own.step) for one, own in axes))
    else:
        part = replace(tile, view=seen.view.strides, box=seen.box)
    shift = region_of(part).offset - region_of(tile).offset
    return replace(part, address=tile.address + shift * tile.element_bytes)


def _are_axes_of(view: View, tile: Tile) -> bool:
    """Whether a tile is cut along the axes of a view; those of one element are as any other."""
    if len(view.strides) != len(tile.view):
        return False
    axes = zip(view.shape, view.strides, tile.view, strict=True)
    return all(stride == own for extent, stride, own in axes if extent > 1)


def reads_of(graph: Graph, op: Op, arch: Architecture) -> Reads:
    """Return what tells what the operations of an operator read.

    Args:
        graph: The network.
        op: The operator.
        arch: The machine.
    """
    if is_mac(op):
        return _mac_reads(graph, op, arch)
    types = operand_types(op, graph.types)

    def reads(step: TileOp) -> tuple[Seen, ...]:
        part = part_of(op, types, step.box)
        return tuple(Seen(read.box(step.box), read.view) for read in part.reads)

    return reads


def _mac_reads(graph: Graph, op: Op, arch: Architecture) -> Reads:
    load = workload(op, graph.types)
    assert load is not None
    tiler = MacTiler(graph, op, load, Space.GB, _NOWHERE, arch, 0)

    def reads(step: TileOp) -> tuple[Seen | None, ...]:
        if step.joined:
            read = other_read(graph, graph.producer[step.joined], step.works_for)
            last = None if read is None else Seen(read.box(step.written))
            return (*(None for _ in step.reads[1:]), last)
        if not step.accumulates:
            return ()
        ranges = dict(zip(DIMS, step.box, strict=True))
        return Seen(tiler.inputs(ranges).box), Seen(tiler.weights(ranges).box)

    return reads

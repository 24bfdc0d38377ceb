"""Which part of a resident tensor a tile operation touches."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from ....ir.arch import Architecture
from ....ir.errors import VerifyError
from ....ir.graph import Graph, Op
from ....ir.isa import Space
from ....ir.ops import workload
from ....ir.regions import region_of
from ....ir.tiles import Range, Tile, TileOp
from ....ir.workload import DIMS
from ...tiling.mac import MacTiler
from ...tiling.residency import Residency
from ...tiling.vector import pieces_of

Box = tuple[Range, ...]
Reads = Callable[[TileOp], Mapping[str, Box]]
"""From an operation to the box of each activation that it reads, in the operator's view."""

_NOWHERE = Residency(addresses={}, workspace_address=0, workspace_bytes=0)


def window(tile: Tile, box: Box) -> Tile:
    """Return the part of a resident tile that covers a box."""
    assert tile.address is not None
    part = replace(tile, box=box)
    shift = region_of(part).offset - region_of(tile).offset
    return replace(part, address=tile.address + shift * tile.element_bytes)


def reads_of(graph: Graph, op: Op, arch: Architecture) -> Reads:
    """Return what tells the boxes that the operations of an operator read."""
    if op.kind in ("conv2d", "dense"):
        return _mac_reads(graph, op, arch)
    pieces = pieces_of(graph, op)

    def reads(step: TileOp) -> Mapping[str, Box]:
        for piece in pieces:
            if _is_within(step.box, piece.domain):
                boxes = piece.needs(step.box)
                return {seen.name: box for seen, box in zip(piece.operands, boxes, strict=True)}
        raise VerifyError(f"an operation of %{op.name} lies in none of its parts")

    return reads


def _mac_reads(graph: Graph, op: Op, arch: Architecture) -> Reads:
    load = workload(op, graph.types)
    assert load is not None
    tiler = MacTiler(graph, op, load, Space.GB, _NOWHERE, arch, 0)

    def reads(step: TileOp) -> Mapping[str, Box]:
        return {op.operands[0]: tiler.inputs(dict(zip(DIMS, step.box, strict=True))).box}

    return reads


def _is_within(box: Box, domain: Box) -> bool:
    return all(
        outer.start <= inner.start and inner.stop <= outer.stop
        for inner, outer in zip(box, domain, strict=True)
    )

"""From tiles at addresses to the strided accesses of instructions."""

from ...ir.isa.instructions import Access, Space
from ...ir.tiles.graph import Range, Tile


def offset_in(tile: Tile, box: tuple[Range, ...]) -> int:
    """Return the byte offset of a box's first element inside a tile on chip."""
    return sum(
        (inner.start - outer.start) // outer.step * stride
        for inner, outer, stride in zip(box, tile.box, tile.strides, strict=True)
    )


def on_chip(tile: Tile, npu: int, address: int, box: tuple[Range, ...]) -> Access:
    """Return the access to a box of a tile that lies at an address.

    Args:
        tile: The tile.
        npu: Whose memory, 0 where all share it.
        address: Of the tile.
        box: What is accessed.
    """
    return Access(tile.space, tile.space.owner(npu), address + offset_in(tile, box), tile.strides)


def off_chip(tile: Tile, base: int) -> Access:
    """Return the access to a tile's elements in its tensor at ``base`` in off-chip memory."""
    size = tile.element_bytes
    address = base + sum(
        axis.start * stride * size for axis, stride in zip(tile.box, tile.view, strict=True)
    )
    strides = tuple(
        axis.step * stride * size for axis, stride in zip(tile.box, tile.view, strict=True)
    )
    return Access(Space.DRAM, 0, address, strides)


def squeeze(
    shape: tuple[int, ...], *accesses: Access
) -> tuple[tuple[int, ...], tuple[Access, ...]]:
    """Drop loops of one step, and join loops that run on without a gap in every access."""
    loops: list[tuple[int, tuple[int, ...]]] = []
    for position, extent in enumerate(shape):
        if extent == 1:
            continue
        strides = tuple(access.strides[position] for access in accesses)
        if loops and all(
            outer == extent * inner for outer, inner in zip(loops[-1][1], strides, strict=True)
        ):
            loops[-1] = (loops[-1][0] * extent, strides)
        else:
            loops.append((extent, strides))
    if not loops:
        loops = [(1, tuple(access.strides[-1] for access in accesses))]
    return tuple(extent for extent, _ in loops), tuple(
        Access(
            access.space, access.npu, access.address, tuple(strides[number] for _, strides in loops)
        )
        for number, access in enumerate(accesses)
    )

"""What tiles need at once, in whatever way they are placed.

All tiles of a turn are on chip while its operations run, and so is what must remain: tiles that
are written in several turns before they are stored, and those that are handed on, until they were
read. Where this is more than there is, no schedule of these tiles in this order exists, which is
known long before one was tried.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ....ir.errors import InfeasibleError, Shortage
from ....ir.isa.instructions import Space
from ....ir.isa.spaces import ON_CHIP
from ....ir.tiles.graph import Role, Tile, TileGraph
from ..engine.blocks import Block, busiest_step
from ..engine.kernel.arrays import (
    BYTES,
    INNER,
    KIND,
    MEMORY,
    NPU,
    RESULT,
    SHARED,
    TENSOR,
    TILES,
    IssueOrder,
    TileArrays,
)

Ints = NDArray[np.int64]

SpaceKey = tuple[Space, int]
"""A space, and the NPU that it belongs to; 0 where NPUs share it."""

FIXED = frozenset({Role.O, Role.INNER})
"""Roles of tiles that remain until they are done with: they cannot leave and come back."""


def check_demand(
    graph: TileGraph,
    tiles: TileArrays,
    order: IssueOrder,
    spaces: Mapping[Space, tuple[int, int]],
) -> None:
    """Refuse tiles of which too many are needed at once.

    Args:
        graph: Tiles and operations.
        tiles: The same, as the engine sees them.
        order: Operations as they are issued.
        spaces: First byte and size of the range of each space that tiles may use.

    Raises:
        InfeasibleError: Tiles that are needed at once do not fit their space.
    """
    if fits_together(tiles, order, spaces):
        return
    for (space, _), needs in demands(graph, order).items():
        _, size = spaces.get(space, (0, 0))
        turn, demand = busiest_step(block for _, block in needs)
        if demand > size:
            needed = [tile for tile, block in needs if block.first <= turn <= block.last]
            raise too_many(graph, [graph.tiles[tile] for tile in needed], size)


def fits_together(
    tiles: TileArrays, order: IssueOrder, spaces: Mapping[Space, tuple[int, int]]
) -> bool:
    """Whether tiles that are needed at once fit each space.

    Args:
        tiles: Tiles and operations.
        order: Operations as they are issued.
        spaces: First byte and size of the range of each space that tiles may use.
    """
    touched, counts = order.tiles, np.diff(order.turns[:, TILES])
    position = np.repeat(np.arange(len(counts)), counts)
    npu = np.repeat(order.turns[:-1, NPU], counts)
    sizes = np.where(tiles.tiles[:, TENSOR] < 0, tiles.tiles[:, BYTES], 0)
    is_fixed = np.isin(tiles.tiles[:, KIND], (RESULT, INNER))  # those of FIXED roles
    memory = tiles.tiles[touched, MEMORY] + np.where(tiles.tiles[touched, SHARED], 0, npu)
    memories: list[int] = np.unique(memory).tolist()
    for key in memories:
        _, size = spaces.get(ON_CHIP[key // tiles.npus], (0, 0))
        here = memory == key
        if _peak(touched[here], position[here], sizes, is_fixed) > size:
            return False
    return True


def _peak(touched: Ints, position: Ints, sizes: Ints, is_fixed: NDArray[np.bool_]) -> int:
    """Return the most that the tiles of one memory take at once [byte].

    Args:
        touched: Tiles, at ascending positions.
        position: Where each of them is touched.
        sizes: Of all tiles, 0 of those that are resident [byte].
        is_fixed: Which of all tiles remain from their first touch to their last one.
    """
    moves = ~is_fixed[touched]
    needed = np.bincount(position, np.where(moves, sizes[touched], 0), position[-1] + 2)
    remain, at = touched[~moves], position[~moves]
    first = np.unique(remain, return_index=True)[1]
    last = len(remain) - 1 - np.unique(remain[::-1], return_index=True)[1]
    change = np.bincount(at[first], sizes[remain[first]], len(needed))
    change -= np.bincount(at[last] + 1, sizes[remain[last]], len(needed))
    return int((needed + np.cumsum(change)).max())


def demands(graph: TileGraph, order: IssueOrder) -> dict[SpaceKey, list[tuple[int, Block]]]:
    """Return what must lie in each space, and at which turns; tiles that may leave turn by turn.

    Args:
        graph: Tiles and operations.
        order: Operations as they are issued.
    """
    found: dict[SpaceKey, list[tuple[int, Block]]] = {}
    fixed: dict[tuple[SpaceKey, int], tuple[int, int]] = {}
    begins: list[int] = order.turns[:, TILES].tolist()
    npus: list[int] = order.turns[:-1, NPU].tolist()
    tiles: list[int] = order.tiles.tolist()
    for position, npu in enumerate(npus):
        for tile in tiles[begins[position] : begins[position + 1]]:
            item = graph.tiles[tile]
            if item.is_resident:
                continue
            key = item.space, item.space.owner(npu)
            if item.role in FIXED:
                first, _ = fixed.get((key, tile), (position, position))
                fixed[key, tile] = first, position
            else:
                block = Block(first=position, last=position, bytes=item.occupied)
                found.setdefault(key, []).append((tile, block))
    for (key, tile), (first, last) in fixed.items():
        block = Block(first=first, last=last, bytes=graph.tiles[tile].occupied)
        found.setdefault(key, []).append((tile, block))
    return found


def too_many(graph: TileGraph, needed: Sequence[Tile], size: int) -> InfeasibleError:
    """Return what to say of tiles that are needed at once and do not fit together.

    Args:
        graph: Whose tiles.
        needed: The tiles, all of one space.
        size: Of that space [byte].
    """
    return InfeasibleError(
        f"the tiles of one operation of %{graph.operators[0]} do not fit together",
        shortage=Shortage(
            resource=needed[0].space.value,
            demand=sum(tile.occupied for tile in needed),
            capacity=size,
            terms=tuple((f"{tile.role} of %{tile.tensor}", tile.occupied) for tile in needed),
        ),
    )

"""What tiles need at once, in whatever way they are placed.

All tiles of a turn are on chip while its operations run, and so is what must remain: tiles that
are written in several turns before they are stored, and those that are handed on, until they were
read. Where this is more than there is, no schedule of these tiles in this order exists, which is
known long before one was tried.
"""

from collections.abc import Mapping, Sequence

from ....ir.errors import InfeasibleError, Shortage
from ....ir.isa.instructions import Space
from ....ir.tiles.graph import Tile, TileGraph
from ..engine.address_space import SpaceKey
from ..engine.blocks import Block, busiest_step
from .issue_order import Turn
from .tile_memory import FIXED


def check_demand(
    graph: TileGraph, order: Sequence[Turn], spaces: Mapping[Space, tuple[int, int]]
) -> None:
    """Refuse tiles of which too many are needed at once.

    Args:
        graph: Tiles and operations.
        order: Operations as they are issued.
        spaces: First byte and size of the range of each space that tiles may use.

    Raises:
        InfeasibleError: Tiles that are needed at once do not fit their space.
    """
    for (space, _), needs in demands(graph, order).items():
        _, size = spaces.get(space, (0, 0))
        turn, demand = busiest_step(block for _, block in needs)
        if demand > size:
            needed = [tile for tile, block in needs if block.first <= turn <= block.last]
            raise too_many(graph, [graph.tiles[tile] for tile in needed], size)


def demands(graph: TileGraph, order: Sequence[Turn]) -> dict[SpaceKey, list[tuple[int, Block]]]:
    """Return what must lie in each space, and at which turns; tiles that may leave turn by turn.

    Args:
        graph: Tiles and operations.
        order: Operations as they are issued.
    """
    found: dict[SpaceKey, list[tuple[int, Block]]] = {}
    fixed: dict[tuple[SpaceKey, int], tuple[int, int]] = {}
    for position, turn in enumerate(order):
        for tile in turn.tiles:
            item = graph.tiles[tile]
            if item.is_resident:
                continue
            key = item.space, item.space.owner(turn.npu)
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

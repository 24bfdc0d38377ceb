"""What tiles need at once, in whatever way they are placed.

All tiles of a turn are on chip while its operations run, and so is what must remain: tiles that
are written in several turns before they are stored, and those that are handed on, until they were
read. Where this is more than there is, no schedule of these tiles in this order exists, which is
known long before one was tried.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....ir.errors import InfeasibleError, Shortage
from ....ir.isa.instructions import Space
from ....ir.tiles.graph import TileGraph
from .issue_order import Turn
from .tile_memory import FIXED, SpaceKey, space_key


@dataclass(frozen=True, slots=True)
class _Life:
    """A tile and the turns at which it must be on chip, from the first to the last one."""

    tile: int
    first: int
    last: int


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
    for key, lives in _lives(graph, order).items():
        _, size = spaces.get(key[0], (0, 0))
        turn, demand = _largest(graph, lives)
        if demand > size:
            needed = [item for item in lives if item.first <= turn <= item.last]
            raise _refusal(graph, key[0], size, demand, needed)


def _lives(graph: TileGraph, order: Sequence[Turn]) -> dict[SpaceKey, list[_Life]]:
    """Return what must lie in each space, and when; tiles that may leave count turn by turn."""
    found: dict[SpaceKey, list[_Life]] = {}
    fixed: dict[tuple[SpaceKey, int], tuple[int, int]] = {}
    for position, turn in enumerate(order):
        for tile in turn.tiles:
            item = graph.tiles[tile]
            if item.is_resident:
                continue
            key = space_key(graph, tile, turn.npu)
            if item.role in FIXED:
                first, _ = fixed.get((key, tile), (position, position))
                fixed[key, tile] = first, position
            else:
                found.setdefault(key, []).append(_Life(tile, position, position))
    for (key, tile), (first, last) in fixed.items():
        found.setdefault(key, []).append(_Life(tile, first, last))
    return found


def _largest(graph: TileGraph, lives: Sequence[_Life]) -> tuple[int, int]:
    """Return the turn at which most is needed, the first such one, and how much [byte]."""
    changes: dict[int, int] = {}
    for item in lives:
        size = graph.tiles[item.tile].occupied
        changes[item.first] = changes.get(item.first, 0) + size
        changes[item.last + 1] = changes.get(item.last + 1, 0) - size
    here, turn, most = 0, 0, 0
    for position in sorted(changes):
        here += changes[position]
        if here > most:
            turn, most = position, here
    return turn, most


def _refusal(
    graph: TileGraph, space: Space, size: int, demand: int, lives: Sequence[_Life]
) -> InfeasibleError:
    tiles = (graph.tiles[item.tile] for item in lives)
    terms = tuple((f"{tile.role} of %{tile.tensor}", tile.occupied) for tile in tiles)
    return InfeasibleError(
        f"the tiles of one operation of %{graph.operators[0]} do not fit together",
        shortage=Shortage(resource=space.value, demand=demand, capacity=size, terms=terms),
    )

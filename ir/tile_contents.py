"""When the elements of tensors are there that one operator of a schedule hands to another."""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .regions import base_of, region_of
from .tiles import Tile, TileGraph

NEVER = 1 << 62
"""Later than any cycle."""

Place: TypeAlias = tuple[str, int]
"""A tensor and its address on chip; the address is -1 off chip."""


@dataclass
class TensorContents:
    """Follows the content of whole tensors, element by element; local to one verification.

    Nothing is followed where one operator stands alone: what it reads was there before. Several
    operators find nothing on chip but what an event makes or brings in.

    Attributes:
        graph: Tiles and operations.
    """

    graph: TileGraph
    _ready: dict[Place, npt.NDArray[np.int64]] = field(
        default_factory=dict[Place, npt.NDArray[np.int64]]
    )

    def __post_init__(self) -> None:
        self._alone = len(self.graph.operators) == 1
        tiles = self.graph.tiles
        self._made = frozenset(tiles[out].tensor for out in self.graph.writers)
        self._sizes: dict[str, int] = {}
        for tile in tiles:
            end = region_of(tile).end
            self._sizes[tile.tensor] = max(self._sizes.get(tile.tensor, 0), end)

    def forget(self, tile: Tile) -> None:
        """Note that a resident tensor is about to be brought in anew."""
        self._ready.pop(_on_chip(tile), None)

    def ready_on_chip(self, tile: Tile) -> int:
        """Return when all elements of a resident tile are there; ``NEVER`` if one is not."""
        if self._alone:
            return 0
        return int(region_of(tile).within(self._elements(_on_chip(tile))).max())

    def ready_off_chip(self, tile: Tile) -> int:
        """Return when all elements of a tile are off chip; ``NEVER`` if one is not."""
        if self._alone or tile.tensor not in self._made:
            return 0
        return int(region_of(tile).within(self._elements((tile.tensor, -1))).max())

    def write_on_chip(self, tile: Tile, end: int) -> bool:
        """Note that a resident tile is complete; return whether none of it was there before."""
        return self._alone or self._write(_on_chip(tile), tile, end)

    def write_off_chip(self, tile: Tile, end: int) -> bool:
        """Note that a tile has left the chip; return whether none of it had before."""
        return self._alone or self._write((tile.tensor, -1), tile, end)

    def _write(self, place: Place, tile: Tile, end: int) -> bool:
        elements = region_of(tile).within(self._elements(place))
        is_new = bool((elements == NEVER).all())
        elements[...] = end
        return is_new

    def _elements(self, place: Place) -> npt.NDArray[np.int64]:
        if place not in self._ready:
            self._ready[place] = np.full(self._sizes[place[0]], NEVER, np.int64)
        return self._ready[place]


def _on_chip(tile: Tile) -> Place:
    return tile.tensor, base_of(tile)

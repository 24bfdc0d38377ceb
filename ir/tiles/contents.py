"""When the parts of tensors are there that operators hand to each other."""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .cells import TensorCells
from .graph import TileGraph
from .regions import base_of

NEVER = 1 << 62
"""Later than any cycle."""

Place: TypeAlias = tuple[str, int]
"""A tensor and its address on chip; the address is -1 off chip."""


@dataclass
class TensorContents:
    """Follows the content of whole tensors, cell by cell; local to one verification.

    Nothing is on chip but what is there from the start, and what an event makes or brings in.

    Attributes:
        graph: Tiles and operations.
        cells: The parts of its tensors that are written at once.
    """

    graph: TileGraph
    cells: TensorCells
    _ready: dict[Place, npt.NDArray[np.int64]] = field(
        default_factory=dict[Place, npt.NDArray[np.int64]]
    )

    def __post_init__(self) -> None:
        makers = (op for op in self.graph.ops if not self.graph.keeps(op))
        self._made = frozenset(self.graph.tiles[op.out].tensor for op in makers)

    def forget(self, tile: int) -> None:
        """Note that a resident tensor is about to be brought in anew."""
        self._ready.pop(self._on_chip(tile), None)

    def ready_on_chip(self, tile: int) -> int:
        """Return when all of a resident tile is there; ``NEVER`` if a part is not."""
        if self.graph.tiles[tile].tensor in self.graph.preloaded:
            return 0
        return self._latest(self._on_chip(tile), tile)

    def ready_off_chip(self, tile: int) -> int:
        """Return when all of a tile is off chip; ``NEVER`` if a part is not."""
        tensor = self.graph.tiles[tile].tensor
        return self._latest((tensor, -1), tile) if tensor in self._made else 0

    def write_on_chip(self, tile: int, end: int) -> bool:
        """Note that a resident tile is complete; return whether none of it was there before."""
        return self._write(self._on_chip(tile), tile, end)

    def write_off_chip(self, tile: int, end: int) -> bool:
        """Note that a tile has left the chip; return whether none of it had before."""
        return self._write((self.graph.tiles[tile].tensor, -1), tile, end)

    def _latest(self, place: Place, tile: int) -> int:
        return int(self._times(place)[list(self.cells.of(tile))].max())

    def _write(self, place: Place, tile: int, end: int) -> bool:
        cells = list(self.cells.of(tile))
        times = self._times(place)
        is_new = bool((times[cells] == NEVER).all())
        times[cells] = end
        return is_new

    def _times(self, place: Place) -> npt.NDArray[np.int64]:
        if place not in self._ready:
            self._ready[place] = np.full(self.cells.count(place[0]), NEVER, np.int64)
        return self._ready[place]

    def _on_chip(self, number: int) -> Place:
        tile = self.graph.tiles[number]
        return tile.tensor, base_of(tile)

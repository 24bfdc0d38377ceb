"""When what operators hand to each other is there: tensors in parts, tiles that roll in rows."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .cells import TensorCells
from .graph import Range, TileGraph
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


class RollingRows:
    """Follows the rows of a tile that rolls; local to one verification.

        three rows of a plane at once    x0 x1 x2 | y0 y1 y2         planes x and y, rows 0 to 2
                                         .. x1 x2   x3 y1 y2   y3    row 3 of x lies where y0 was

    Attributes:
        graph: Tiles and operations.
        tile: Number of the tile.
    """

    def __init__(self, graph: TileGraph, tile: int) -> None:
        self._rolls = graph.tiles[tile].rolls
        self._missing: dict[int, int] = defaultdict(int)
        for number in graph.writers[tile]:
            for row in _rows(graph.written_box(graph.ops[number])[-2]):
                self._missing[row] += 1
        self._written: dict[int, int] = defaultdict(int)
        self._read: dict[int, int] = defaultdict(int)
        self._stop = 0

    def read(self, rows: Range, start: int, end: int) -> bool:
        """Follow a read; return whether the rows are there.

        Args:
            rows: What is read.
            start: When that begins [cycle].
            end: When it ends [cycle].
        """
        for row in _rows(rows):
            if self._missing[row] or self._written[row] > start or row + self._rolls < self._stop:
                return False
            self._read[row] = max(self._read[row], end)
        return True

    def write(self, rows: Range, start: int, end: int) -> bool:
        """Follow a write; return whether nobody needs what lies there.

        Args:
            rows: What is written.
            start: When that begins [cycle].
            end: When it ends [cycle].
        """
        for row in _rows(rows):
            old = row - self._rolls
            while old >= 0:
                if max(self._read[old], self._written[old]) > start:
                    return False
                old -= self._rolls
            self._missing[row] -= 1
            self._written[row] = max(self._written[row], end)
            self._stop = max(self._stop, row + 1)
        return True


def _rows(rows: Range) -> range:
    return range(rows.start, rows.stop, rows.step)

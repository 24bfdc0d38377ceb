"""Which elements of tensors are written together: cells, by which operators hand tensors on.

A tile of the next operator waits for those tiles of the one before that it overlaps, whatever view
each of them has of the tensor. Telling this element by element for every event would be slow.
Elements that lie in the same written boxes are one *cell*: a box that is written is made of whole
cells, and a box that is read waits for the cells that it meets. That is as exact as elements are.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .graph import Role, Tile, TileGraph
from .regions import Region, region_of

Cells: TypeAlias = tuple[int, ...]
"""Numbers of cells of one tensor, ascending."""

_Labels: TypeAlias = npt.NDArray[np.int32]
"""Per element of a tensor, the number of its cell."""


@dataclass(frozen=True)
class TensorCells:
    """The cells of all tensors of a tile graph.

    Attributes:
        graph: Tiles and operations. Tiles that no operation names are whole tensors, which move.
    """

    graph: TileGraph
    _labels: dict[str, tuple[_Labels, int]] = field(
        default_factory=dict[str, tuple[_Labels, int]], compare=False
    )
    _known: dict[tuple[str, Region], Cells] = field(
        default_factory=dict[tuple[str, Region], Cells], compare=False
    )
    _of_tile: dict[int, Cells] = field(default_factory=dict[int, Cells], compare=False)

    @cached_property
    def elements(self) -> dict[str, int]:
        """Elements of every tensor, as far as tiles reach."""
        found: dict[str, int] = {}
        for tile in self.graph.tiles:
            found[tile.tensor] = max(found.get(tile.tensor, 0), region_of(tile).end)
        return found

    @cached_property
    def _written(self) -> dict[str, tuple[Region, ...]]:
        """The boxes of every tensor that some event writes at once."""
        found: dict[str, dict[Region, None]] = defaultdict(dict)
        for number in self.graph.writers:
            tile = self.graph.tiles[number]
            if tile.role not in (Role.PSUM, Role.INNER):
                found[tile.tensor][region_of(tile)] = None
        return {tensor: tuple(regions) for tensor, regions in found.items()}

    def count(self, tensor: str) -> int:
        """Return how many cells a tensor has."""
        return self._cut(tensor)[1]

    def of(self, number: int) -> Cells:
        """Return the cells of its tensor that a tile meets; it must be no accumulator."""
        found = self._of_tile.get(number)
        if found is None:
            found = self._of_tile[number] = self._met(self.graph.tiles[number])
        return found

    def _met(self, tile: Tile) -> Cells:
        assert tile.role is not Role.PSUM
        if tile.tensor not in self._written:
            return (0,)
        key = tile.tensor, region_of(tile)
        labels, count = self._cut(tile.tensor)
        if key not in self._known:
            is_met = np.zeros(count, np.bool_)
            is_met[key[1].within(labels)] = True
            self._known[key] = tuple(np.flatnonzero(is_met).tolist())
        return self._known[key]

    def _cut(self, tensor: str) -> tuple[_Labels, int]:
        if tensor not in self._labels:
            regions = self._written.get(tensor, ())
            labels, _ = self._labels[tensor] = cut(self.elements[tensor], regions)
            covered = sum(math.prod(region.shape) for region in regions)
            if covered == np.count_nonzero(labels):  # they are disjoint, and each is a cell
                numbered = enumerate(regions, start=1)
                self._known.update(((tensor, region), (cell,)) for cell, region in numbered)
        return self._labels[tensor]


def cut(elements: int, regions: Iterable[Region]) -> tuple[_Labels, int]:
    """Return the cell of every element of a tensor, and how many cells there are.

    Cell 0 is what lies in none of the regions; it may be empty.
    """
    labels, count = np.zeros(elements, np.int32), 1
    for region in regions:
        part = region.within(labels)
        if not part.any():  # nearly always: tiles of a result are disjoint
            part[...] = count
            count += 1
            continue
        inside = np.unique(part)
        fresh = np.full(count, -1, np.int32)
        fresh[inside] = np.arange(count, count + len(inside), dtype=np.int32)
        part[...] = fresh[part]
        count += len(inside)
    return labels, count

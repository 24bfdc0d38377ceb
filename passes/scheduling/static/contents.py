"""What lies where while tiles are scheduled, and what of it an event touches.

It is told apart as finely as by :class:`~accnn.ir.tiles.hazards.ScheduleHazards`, which looks at
whole schedules: what events wait for here is what they wait for there.
"""

from dataclasses import dataclass, field
from functools import cached_property

from ....ir.tiles.cells import TensorCells
from ....ir.tiles.graph import Role, Tile, TileGraph, TileOp
from ....ir.tiles.hazards import Met, PlacedContent
from ....ir.tiles.regions import base_of
from ....ir.tiles.touches import OffChip, OnChip, SpilledSums
from .tile_memory import LOADED, TileMemory
from .timeline import Timeline


@dataclass
class RunContents:
    """Contents of tiles and tensors; local to one scheduling run.

    Attributes:
        graph: Tiles and operations.
        memory: Where tiles are placed.
        time: Keeps what events waited for at all addresses.
    """

    graph: TileGraph
    memory: TileMemory
    time: Timeline
    _placed: dict[tuple[int, int], PlacedContent] = field(
        default_factory=dict[tuple[int, int], PlacedContent]
    )
    _others: dict[OnChip | OffChip | SpilledSums, PlacedContent] = field(
        default_factory=dict[OnChip | OffChip | SpilledSums, PlacedContent]
    )

    def place(self, tile: int, owner: int, address: int) -> None:
        """Give the addresses where a tile is placed to it.

        Args:
            tile: The tile.
            owner: Whose memory it is, 0 where all share it.
            address: First byte.
        """
        item = self.graph.tiles[tile]
        claim = self.time.claim(item.space, owner, address, item.occupied, item.rolls)
        self._placed[tile, owner] = claim

    def placed(self, tile: int, npu: int) -> Met:
        """Return all of a tile, where it is placed.

        Args:
            tile: The tile.
            npu: Who touches it.
        """
        return self._placed[self.memory.owned(tile, npu)], None

    def met(self, op: TileOp, tile: int, npu: int) -> Met:
        """Return what an operation touches of a tile.

        Args:
            op: The operation.
            tile: The tile.
            npu: Who executes it.
        """
        item = self.graph.tiles[tile]
        if item.is_resident:
            return self._resident(item), self._cells.of(tile)
        return self._placed[self.memory.owned(tile, npu)], self.graph.rows(op, tile)

    def off_chip(self, tile: int) -> tuple[Met, ...]:
        """Return what a tile is off chip, where somebody may have to wait for it.

        Args:
            tile: The tile.
        """
        item = self.graph.tiles[tile]
        if item.role is Role.PSUM:
            return ((self._outside(SpilledSums(tile)), None),)
        if item.tensor not in self._read_back:
            return ()
        return ((self._outside(OffChip(item.tensor)), self._cells.of(tile)),)

    @cached_property
    def _cells(self) -> TensorCells:
        return TensorCells(self.graph)

    @cached_property
    def _read_back(self) -> frozenset[str]:
        """Tensors that are stored by some operations and loaded for others."""
        tiles = [item for item in self.graph.tiles if not item.is_resident]
        loaded = {item.tensor for item in tiles if item.role in LOADED}
        return frozenset(loaded.intersection(item.tensor for item in tiles if item.role is Role.O))

    def _outside(self, storage: OffChip | SpilledSums) -> PlacedContent:
        if storage not in self._others:
            self._others[storage] = PlacedContent(0, 0)
        return self._others[storage]

    def _resident(self, tile: Tile) -> PlacedContent:
        """Return the content of the tensor that a resident tile is part of."""
        storage = OnChip(tile.tensor, base_of(tile))
        if storage not in self._others:
            size = self._cells.elements[tile.tensor] * tile.element_bytes
            self._others[storage] = self.time.claim(tile.space, 0, storage.base, size)
        return self._others[storage]

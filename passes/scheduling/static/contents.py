"""What lies where while tiles are scheduled, and what of it an event touches.

Parts are as fine as those of :class:`~accnn.ir.tiles.hazards.ScheduleHazards`, which looks at whole
schedules: what events wait for here is what they wait for there.
"""

from dataclasses import dataclass, field
from functools import cached_property

from ....ir.tiles.cells import TensorCells
from ....ir.tiles.graph import Role, Tile, TileGraph, TileOp
from ....ir.tiles.hazards import Met, PlacedContent
from ....ir.tiles.regions import base_of
from ....ir.tiles.touches import OnChip
from .tile_memory import TileMemory
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
    _resident: dict[OnChip, PlacedContent] = field(default_factory=dict[OnChip, PlacedContent])
    _spilled: dict[int, PlacedContent] = field(default_factory=dict[int, PlacedContent])

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
            return self._tensor_of(item), self._cells.of(tile)
        return self._placed[self.memory.owned(tile, npu)], self.graph.rows(op, tile)

    def off_chip(self, tile: int) -> tuple[Met, ...]:
        """Return what a tile is off chip, if somebody may have to wait for it.

        What an operator, or a group, stores is not loaded again for it, but for unfinished sums.

        Args:
            tile: The tile.
        """
        if self.graph.tiles[tile].role is not Role.PSUM:
            return ()
        if tile not in self._spilled:
            self._spilled[tile] = PlacedContent(0, 0)
        return ((self._spilled[tile], None),)

    @cached_property
    def _cells(self) -> TensorCells:
        return TensorCells(self.graph)

    def _tensor_of(self, tile: Tile) -> PlacedContent:
        """Return the content of the tensor that a resident tile is part of."""
        storage = OnChip(tile.tensor, base_of(tile))
        if storage not in self._resident:
            size = self._cells.elements[tile.tensor] * tile.element_bytes
            self._resident[storage] = self.time.claim(tile.space, 0, storage.base, size)
        return self._resident[storage]

"""What instruction selection looks at: a tile operation with its tiles where they are."""

from collections.abc import Callable
from dataclasses import dataclass

from ...ir.graph import Graph, Op
from ...ir.isa.instructions import Access
from ...ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp, shifted
from ...ir.types import TensorType
from .addressing import on_chip

Locate = Callable[[int], int]
"""From the index of a tile to its address now."""


@dataclass(frozen=True, slots=True)
class SelectionSite:
    """What instruction selection looks at.

    Attributes:
        graph: The network.
        op: The operator.
        tiles: Its tile graph.
        step: The tile operation.
        npu: Where it runs.
        locate: Where its tiles are.
    """

    graph: Graph
    op: Op
    tiles: TileGraph
    step: TileOp
    npu: int
    locate: Locate

    def tile(self, index: int) -> Tile:
        """Return a tile."""
        return self.tiles.tiles[index]

    def access(self, index: int, box: tuple[Range, ...]) -> Access:
        """Return the access to a box of a placed tile, along the axes of that."""
        return on_chip(self.tile(index), self.npu, self.locate(index), box)

    def read(self, position: int, box: tuple[Range, ...]) -> Access:
        """Return the access to a box of an operand, which may be a part of what its tile is of.

        Args:
            position: Of the operand among what is read.
            box: Along the operand's own axes.
        """
        return self.access(self.step.reads[position], shifted(box, self.step.shift(position)))

    def written(self, box: tuple[Range, ...]) -> Access:
        """Return the access to a box of the result, which may be a part of what its tile is of.

        Args:
            box: Along the result's own axes.
        """
        return self.access(self.step.out, shifted(box, self.step.shift(-1)))

    def type(self, name: str) -> TensorType:
        """Return the type of a tensor."""
        return self.graph.types[name]

    def quant(self, name: str) -> tuple[float, int]:
        """Return scale and zero point of a tensor with one of each, 1 and 0 if it has none."""
        quant = self.type(name).quant
        return (1.0, 0) if quant is None else quant.single

    @property
    def parameters(self) -> tuple[int, ...]:
        """Tiles of role parameter that the operator reads itself, and no member behind it."""
        own = self.step.reads[:-1] if self.step.joined else self.step.reads
        return tuple(tile for tile in own if self.tile(tile).role is Role.PARAM)

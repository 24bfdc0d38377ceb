"""Collect tiles and operations into a tile graph, each distinct tile once."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from ...ir.errors import InfeasibleError
from ...ir.graph import Op
from ...ir.isa.instructions import Unit
from ...ir.mapping import LoopNest
from ...ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp

MOST_OPERATIONS = 2**16
"""Of one operator; beyond, the tiles are absurdly small, and each schedule of them takes half a
minute. ResNet-50 has 8,000 in all on a machine like Simba."""


def cuts(extent: int, size: int) -> tuple[Range, ...]:
    """Return consecutive ranges of at most ``size`` that cover ``extent``."""
    return tuple(Range(start, min(start + size, extent)) for start in range(0, extent, size))


def resident_operands(tiles: Iterable[Tile], made: Collection[str] = ()) -> tuple[str, ...]:
    """Return the resident tensors that an operator reads: they lie on chip before it begins.

    Args:
        tiles: Of the operator, or of a group.
        made: Results, which a group may read, too.
    """
    found = (tile for tile in tiles if tile.is_resident and tile.role is not Role.O)
    return tuple(dict.fromkeys(tile.tensor for tile in found if tile.tensor not in made))


@dataclass(slots=True)
class TileCollector:
    """A tile graph in the making; never leaves the function that fills it."""

    operator: str
    tiles: list[Tile] = field(default_factory=list[Tile])
    ops: list[TileOp] = field(default_factory=list[TileOp])
    nests: list[LoopNest] = field(default_factory=list[LoopNest])
    _tile_index: dict[Tile, int] = field(default_factory=dict[Tile, int])
    _nest_index: dict[LoopNest, int] = field(default_factory=dict[LoopNest, int])

    def tile(self, tile: Tile) -> int:
        """Return the index of a tile, adding it the first time."""
        number = self._tile_index.setdefault(tile, len(self.tiles))
        if number == len(self.tiles):
            self.tiles.append(tile)
        return number

    def nest(self, nest: LoopNest) -> int:
        """Return the index of a nest, adding it the first time."""
        number = self._nest_index.setdefault(nest, len(self.nests))
        if number == len(self.nests):
            self.nests.append(nest)
        return number

    def op(
        self,
        worker: Op,
        *,
        unit: Unit,
        box: tuple[Range, ...],
        reads: tuple[int, ...],
        out: int,
        nests: tuple[int, ...] = (),
        cost: int = 0,
        read_bytes: int = 0,
        written_bytes: int = 0,
        shifts: tuple[int, ...] = (),
        written: tuple[Range, ...] = (),
        rows: tuple[Range, ...] = (),
    ) -> TileOp:
        """Return an operation for an operator, which may be a member of a group.

        Args:
            worker: The operator.
            unit: The kind of engine.
            box: What it computes.
            reads: Tiles that it reads.
            out: The tile that it writes.
            nests: Loops that the array of each NPU runs.
            cost: Lane cycles of one element on the vector unit.
            read_bytes: What it reads of the scratchpad.
            written_bytes: What it writes there.
            shifts: First channel of the operator's own tensors in those of the tiles.
            written: What is written along the axes of the tile, if these are the tensor's own.
            rows: Rows that it reads of tiles that roll.
        """
        member = "" if worker.name == self.operator else worker.name
        return TileOp(
            operator=self.operator,
            unit=unit,
            box=box,
            reads=reads,
            out=out,
            nests=nests,
            cost=cost,
            read_bytes=read_bytes,
            written_bytes=written_bytes,
            member=member,
            shifts=shifts if any(shifts) else (),
            written=written,
            rows=rows,
        )

    def add(self, op: TileOp) -> None:
        """Add an operation.

        Raises:
            InfeasibleError: They are too many.
        """
        self.check(1)
        self.ops.append(op)

    def check(self, more: int) -> None:
        """Refuse operations, before they are made, that would be too many.

        Args:
            more: How many will be added.

        Raises:
            InfeasibleError: They are too many.
        """
        if len(self.ops) + more > MOST_OPERATIONS:
            raise InfeasibleError(
                f"%{self.operator} would be cut into more than {MOST_OPERATIONS} tile operations",
                hint="give it a larger scratchpad, or another mapper",
            )

    def finish(self) -> TileGraph:
        """Return the frozen graph."""
        return TileGraph(
            operators=(self.operator,),
            tiles=tuple(self.tiles),
            ops=tuple(self.ops),
            nests=tuple(self.nests),
            preloaded=resident_operands(self.tiles, {self.tiles[op.out].tensor for op in self.ops}),
        )

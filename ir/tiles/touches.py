"""What each event of a tile schedule reads and writes, and where that lies."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from ..isa.instructions import Unit
from .cells import Cells, TensorCells
from .events import INWARDS, Event, EventKind, Placement
from .graph import Role, Tile, TileGraph
from .regions import base_of
from .schedule import TileSchedule


@dataclass(frozen=True, slots=True)
class OnChip:
    """A tensor that is resident whole, from its address on."""

    tensor: str
    base: int


@dataclass(frozen=True, slots=True)
class OffChip:
    """A tensor in off-chip memory."""

    tensor: str


@dataclass(frozen=True, slots=True)
class SpilledSums:
    """An accumulator tile in off-chip memory."""

    tile: int


Storage: TypeAlias = Placement | OnChip | OffChip | SpilledSums
"""What holds one content at a time."""


class Touch(NamedTuple):
    """An access; ``cells`` is set where an event may touch a part: of tensors, rows that roll."""

    storage: Storage
    cells: Cells | None = None


class Touches(NamedTuple):
    """All accesses of one event."""

    reads: tuple[Touch, ...]
    writes: tuple[Touch, ...]

    @property
    def both(self) -> tuple[Touch, ...]:
        """Reads, then writes."""
        return (*self.reads, *self.writes)


@dataclass(frozen=True)
class Accesses:
    """Tells the accesses of the events of a schedule."""

    schedule: TileSchedule

    @property
    def graph(self) -> TileGraph:
        """Tiles and operations."""
        return self.schedule.graph

    def of(self, number: int) -> Touches:
        """Return what an event reads and writes."""
        event = self.schedule.events[number]
        if event.kind is EventKind.COMPUTE:
            return self._compute(number, event)
        return self._transfer(number, event)

    def starts_residence(self, number: int) -> bool:
        """Whether an event brings a whole tensor in."""
        event = self.schedule.events[number]
        return event.kind in INWARDS and self.graph.tiles[event.subject].is_resident

    @property
    def cells(self) -> TensorCells:
        """The parts of tensors that are written at once."""
        return self.schedule.cells

    def parts(self, storage: OnChip | OffChip | Placement) -> int:
        """Return how many cells a tensor has, or rows a tile that rolls."""
        if isinstance(storage, Placement):
            return self.graph.tiles[storage.tile].box[-2].stop
        return self.cells.count(storage.tensor)

    def bytes(self, storage: OnChip) -> int:
        """Return the bytes of a resident tensor, as far as tiles reach."""
        return self.cells.elements[storage.tensor] * self._element_bytes[storage]

    @cached_property
    def _element_bytes(self) -> Mapping[OnChip, int]:
        """Size of an element of every resident tensor [byte]."""
        return {
            OnChip(tile.tensor, base_of(tile)): tile.element_bytes
            for tile in self.graph.tiles
            if tile.is_resident
        }

    @cached_property
    def _on_chip(self) -> Mapping[int, Touch]:
        """The access to each tile that lies at one place only: resident, or placed once."""
        placed = self.schedule.placements_of.items()
        once = {tile: Touch(places[0]) for tile, places in placed if len(places) == 1}
        windows = {
            number: Touch(OnChip(tile.tensor, base_of(tile)), self.cells.of(number))
            for number, tile in enumerate(self.graph.tiles)
            if tile.is_resident
        }
        return once | windows

    def _compute(self, number: int, event: Event) -> Touches:
        op = self.graph.ops[event.subject]
        before = (op.out,) if op.accumulates and not event.clear else ()
        return Touches(self._tiles((*op.reads, *before), number), self._tiles((op.out,), number))

    def _transfer(self, number: int, event: Event) -> Touches:
        tile = self.graph.tiles[event.subject]
        chip = self._tiles((event.subject,), number)
        outside = (self._outside(tile, event.subject),)
        return Touches(outside, chip) if event.kind in INWARDS else Touches(chip, outside)

    def _outside(self, tile: Tile, number: int) -> Touch:
        if tile.role is Role.PSUM:
            return Touch(SpilledSums(number))
        return Touch(OffChip(tile.tensor), self.cells.of(number))

    def _tiles(self, tiles: Iterable[int], number: int) -> tuple[Touch, ...]:
        return tuple(self._tile(tile, number) for tile in dict.fromkeys(tiles))

    def _tile(self, tile: int, number: int) -> Touch:
        touch = self._on_chip.get(tile) or Touch(self.placement(tile, number))
        if not self.graph.tiles[tile].rolls:
            return touch
        op = self.graph.ops[self.schedule.events[number].subject]
        return touch._replace(cells=self.graph.rows(op, tile))

    def placement(self, tile: int, number: int) -> Placement:
        """Return where a placed tile is for an event: its own NPU's, or the one transferred.

        A tile may be fetched anew for one NPU before another one has read it: of two places, the
        one that begins or ends with the event is meant.
        """
        event, known = self.schedule.events[number], self.schedule.placements_of[tile]
        if len(known) == 1:
            return known[0]
        here = self.schedule.placed_during(tile, number)
        if event.unit is not Unit.DMA and not self.graph.tiles[tile].space.is_shared:
            here = tuple(item for item in here if item.npu == event.index)
        ends = tuple(item for item in here if number in (item.first_event, item.last_event))
        return (ends or here)[-1]

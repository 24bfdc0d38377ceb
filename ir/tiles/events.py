"""What happens to tiles, and where they are meanwhile."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from typing import Any, Self

from ..isa.instructions import Unit
from .cells import TensorCells
from .graph import TileGraph


class EventKind(StrEnum):
    """What an event does."""

    LOAD = "load"
    STORE = "store"
    SPILL = "spill"
    RETRIEVE = "retrieve"
    COMPUTE = "compute"


TRANSFERS = frozenset({EventKind.LOAD, EventKind.STORE, EventKind.SPILL, EventKind.RETRIEVE})
"""Kinds that move a tile between off-chip memory and the chip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that one engine does.

    ``load`` brings a tile in, ``store`` writes a finished output tile to its tensor, ``spill``
    and ``retrieve`` move an unfinished accumulator tile (at accumulator width) out and back.
    ``compute`` is a tile operation.

    Transfers of resident tiles are the whole tensors that the graph schedule moves.

    Attributes:
        kind: What it does.
        subject: Index of the tile (transfers) or of the operation (``compute``).
        unit: Kind of engine.
        index: DMA channel or NPU.
        step: Position of the operator that it works for among those of the tile graph.
        start: First cycle, as predicted.
        end: Cycle after the last, as predicted.
        clear: For ``compute``: whether accumulation starts from zero.
        fill: On the MAC array, cycles from the start until it computes: buffers fill, perhaps while
            it still computes what came before.
        drain: On the MAC array, cycles from the last in which it computes to the end.
    """

    kind: EventKind
    subject: int
    unit: Unit
    index: int
    start: int
    end: int
    step: int = 0
    clear: bool = False
    fill: int = 0
    drain: int = 0

    def at(
        self, start: int, end: int, *, fill: int = 0, drain: int = 0, index: int | None = None
    ) -> "Event":
        """Return the event at another time; as ``replace``, but for many events.

        Args:
            start: First cycle.
            end: Cycle after the last.
            fill: Of the MAC array, cycles until it computes.
            drain: Of the MAC array, cycles after it has computed.
            index: DMA channel or NPU; as before by default.
        """
        return Event(
            kind=self.kind,
            subject=self.subject,
            unit=self.unit,
            index=self.index if index is None else index,
            start=start,
            end=end,
            step=self.step,
            clear=self.clear,
            fill=fill,
            drain=drain,
        )

    @property
    def begin(self) -> int:
        """Cycle from which the engine computes; before, buffers fill."""
        return self.start + self.fill

    @property
    def done(self) -> int:
        """Cycle after the last in which the engine computes; then results leave."""
        return self.end - self.drain


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A tile at an address of its space for a span of events.

    Attributes:
        tile: Index of the tile.
        npu: Whose space, 0 for shared ones.
        address: First byte.
        first_event: Index of the event that first touches it there; the load or retrieve that
            brings it, where one does.
        last_event: Index of the last event that touches it there.
    """

    tile: int
    npu: int
    address: int
    first_event: int
    last_event: int


INWARDS = frozenset({EventKind.LOAD, EventKind.RETRIEVE})
"""Kinds that bring a tile in."""


@dataclass(frozen=True, kw_only=True)
class TileEvents:
    """Events on the tiles of one tile graph.

    Attributes:
        graph: What is scheduled.
        events: In program order.
        placements: Every time that a tile is on chip.
    """

    graph: TileGraph
    events: tuple[Event, ...]
    placements: tuple[Placement, ...]

    @cached_property
    def cells(self) -> TensorCells:
        """The parts of tensors that are written at once."""
        return TensorCells(self.graph)

    def rescheduled(self, **changes: Any) -> Self:
        """Return other events on the same tiles; as ``replace``, but cells are known already.

        Args:
            changes: Fields, but not ``graph``.
        """
        found = replace(self, **changes)
        vars(found)["cells"] = self.cells
        return found

    @cached_property
    def placements_of(self) -> Mapping[int, tuple[Placement, ...]]:
        """Placements of each tile, by time."""
        found: dict[int, list[Placement]] = defaultdict(list)
        for item in self.placements:
            found[item.tile].append(item)
        return {
            tile: tuple(sorted(items, key=lambda item: item.first_event))
            for tile, items in found.items()
        }

    def placement(self, tile: int, event: int, npu: int = 0) -> Placement | None:
        """Return where a tile is during an event, as seen by an NPU.

        Args:
            tile: Number of the tile.
            event: Number of the event.
            npu: Who looks; counts for tiles in private memories.
        """
        shared = self.graph.tiles[tile].space.is_shared
        here = self.placed_during(tile, event)
        return next((item for item in here if shared or item.npu == npu), None)

    def placed_during(self, tile: int, event: int) -> tuple[Placement, ...]:
        """Return the placements of a tile that an event lies within, by time.

        Args:
            tile: Number of the tile.
            event: Number of the event.
        """
        known = self.placements_of.get(tile, ())
        begin = bisect_left(self._last_events.get(tile, ()), event)
        end = bisect_right(known, event, lo=begin, key=attrgetter("first_event"))
        return tuple(item for item in known[begin:end] if item.last_event >= event)

    @cached_property
    def _last_events(self) -> Mapping[int, tuple[int, ...]]:
        """The last event of each placement of a tile and of those before it, by time."""
        return {
            tile: tuple(accumulate((item.last_event for item in items), max))
            for tile, items in self.placements_of.items()
        }

"""Keep track of the tiles on chip: where each is, when it is needed next, who gives way.

One :class:`TileMemory` serves one scheduling run. It knows the order of the operations beforehand,
so that "needed next" is a position in that order. What was touched last decides when a byte is
ready for something else.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...ir.isa import Space, Unit
from ...ir.tile_events import Placement
from ...ir.tiles import Role, TileGraph
from .allocator import AT_ONCE, NEVER, Allocator, Occupant
from .issue_order import Turn
from .timeline import Timeline

RESULTS = frozenset({Role.O, Role.PSUM, Role.INNER})
"""Roles of tiles that operations write."""

_FIXED = frozenset({Role.O, Role.INNER})
"""Roles of tiles that remain until they are done with: they cannot leave and come back."""

SpaceKey = tuple[Space, int]
"""A space, and the NPU that it belongs to; 0 where NPUs share it."""


@dataclass
class TileMemory:
    """The tiles in all spaces.

    Attributes:
        graph: Tiles and operations.
        time: Events so far.
        spaces: First byte and size of the range of each space that tiles may use.
        order: Operations as they are issued, each with its NPU.
        placements: Those of tiles that have left.
    """

    graph: TileGraph
    time: Timeline
    spaces: Mapping[Space, tuple[int, int]]
    order: Sequence[Turn]
    placements: list[Placement] = field(default_factory=list[Placement])

    def __post_init__(self) -> None:
        self._allocators: dict[SpaceKey, Allocator] = {}
        self._freed: dict[SpaceKey, list[tuple[int, int, int]]] = {}
        self._uses = self._use_lists()
        self._results = self._result_bytes()

    def _use_lists(self) -> dict[tuple[int, int], list[int]]:
        """Positions in the order at which an NPU touches a tile, last first."""
        uses: dict[tuple[int, int], list[int]] = {}
        for position in reversed(range(len(self.order))):
            turn = self.order[position]
            for tile in self.tiles_of(turn.ops):
                uses.setdefault(self.owned(tile, turn.npu), []).append(position)
        return uses

    def tiles_of(self, ops: Iterable[int]) -> tuple[int, ...]:
        """Return the tiles that operations read and write, in the order of their first touch."""
        chosen = (self.graph.ops[number] for number in ops)
        return tuple(dict.fromkeys(tile for op in chosen for tile in (*op.reads, op.out)))

    def _result_bytes(self) -> dict[Space, int]:
        """Return the bytes of each space that results take at most: two of each kind.

        Outputs are of one kind, sums of another; inner tiles of each tensor of one of their own.
        """
        largest: dict[tuple[Space, Role, str], int] = {}
        for tile in self.graph.tiles:
            if tile.role in RESULTS and not tile.is_resident:
                tensor = tile.tensor if tile.role is Role.INNER else ""
                key = tile.space, tile.role, tensor
                largest[key] = max(largest.get(key, 0), tile.occupied)
        found: dict[Space, int] = {}
        for (space, *_), size in largest.items():
            found[space] = found.get(space, 0) + 2 * size
        return found

    def owned(self, tile: int, npu: int) -> tuple[int, int]:
        """Return a tile with the NPU whose copy of it is meant; 0 where NPUs share it."""
        return tile, 0 if self.graph.tiles[tile].space.is_shared else npu

    def key(self, tile: int, npu: int) -> SpaceKey:
        """Return the space of a tile, and the NPU that it belongs to."""
        return self.graph.tiles[tile].space, self.owned(tile, npu)[1]

    def allocator(self, tile: int, npu: int) -> Allocator:
        """Return the space of a tile."""
        key = self.key(tile, npu)
        if key not in self._allocators:
            base, size = self.spaces.get(key[0], (0, 0))
            self._allocators[key] = Allocator(base, size)
        return self._allocators[key]

    def is_here(self, tile: int, npu: int) -> bool:
        """Whether a tile is on chip."""
        return tile in self.allocator(tile, npu).occupants

    def find(self, tile: int, npu: int, horizon: int) -> tuple[int, tuple[Occupant, ...]] | None:
        """Return an address for a tile and who must leave for it.

        Args:
            tile: The tile.
            npu: The NPU that needs it.
            horizon: Tiles that are needed up to this position remain.

        Returns:
            ``None`` where there is no space.
        """
        key, allocator, item = (
            self.key(tile, npu),
            self.allocator(tile, npu),
            self.graph.tiles[tile],
        )
        self._sweep(key)
        return allocator.find(
            item.occupied,
            high=item.role in RESULTS,
            horizon=horizon,
            ready=lambda address, size: self._ready(key, address, size),
        )

    def leaves_space(self, tile: int, npu: int, horizon: int) -> bool:
        """Whether a tile fits beside all that is needed before it, and results to come.

        Args:
            tile: Number of the tile.
            npu: Whose memory.
            horizon: Position up to which is looked ahead.
        """
        item, allocator = self.graph.tiles[tile], self.allocator(tile, npu)
        inputs = results = 0
        for occupant in allocator.occupants.values():
            if occupant.is_result:
                results += occupant.bytes
            elif occupant.next_use <= horizon:
                inputs += occupant.bytes
        return (
            inputs + item.occupied + max(results, self._results.get(item.space, 0))
            <= allocator.size
        )

    def enter(self, tile: int, npu: int, address: int) -> None:
        """Begin the placement of a tile.

        Args:
            tile: Number of the tile.
            npu: Whose memory.
            address: Where.
        """
        item = self.graph.tiles[tile]
        self.allocator(tile, npu).add(
            Occupant(
                tile,
                address,
                item.occupied,
                AT_ONCE if item.role in _FIXED else self._uses[self.owned(tile, npu)][-1],
                is_result=item.role in RESULTS,
            )
        )

    def touch(self, tile: int, npu: int, event: int) -> None:
        """Note that an event touches a tile.

        Args:
            tile: Number of the tile.
            npu: Whose memory.
            event: Number of the event.
        """
        if self.graph.tiles[tile].is_resident:
            return
        occupant = self.allocator(tile, npu).occupants[tile]
        occupant.last_event = event
        if occupant.first_event < 0:
            occupant.first_event = event

    def passed(self, position: int) -> None:
        """Note that the operation at a position was issued: what it touched is needed later."""
        turn = self.order[position]
        for tile in self.tiles_of(turn.ops):
            uses = self._uses[self.owned(tile, turn.npu)]
            uses.pop()
            occupant = self.allocator(tile, turn.npu).occupants.get(tile)
            if occupant is not None and occupant.next_use != AT_ONCE:
                occupant.next_use = uses[-1] if uses else NEVER

    def end(self, tile: int, npu: int) -> None:
        """End the placement of a tile."""
        self._end(self.key(tile, npu), self.allocator(tile, npu).occupants[tile])

    def end_all(self) -> None:
        """End all placements."""
        for key, allocator in self._allocators.items():
            for occupant in tuple(allocator.occupants.values()):
                self._end(key, occupant)

    def _end(self, key: SpaceKey, occupant: Occupant) -> None:
        self._allocators[key].remove(occupant)
        end = occupant.address + occupant.bytes
        self._freed.setdefault(key, []).append((occupant.address, end, self._last_end(occupant)))
        if occupant.first_event >= 0:
            self.placements.append(
                Placement(
                    tile=occupant.tile,
                    npu=key[1],
                    address=occupant.address,
                    first_event=occupant.first_event,
                    last_event=occupant.last_event,
                )
            )

    def _last_end(self, occupant: Occupant) -> int:
        return self.time.events[occupant.last_event].end if occupant.last_event >= 0 else 0

    def _channel_free(self) -> int:
        return self.time.free_at(Unit.DMA, self.time.dma_channel())

    def _sweep(self, key: SpaceKey) -> None:
        """End placements that are not used again and were last touched before a channel is free.

        They would neither keep a transfer waiting nor be worth keeping; without this, small tiles
        that are used once pile up until memory is full, and every look for space passes them all.
        """
        now = self._channel_free()
        idle = [
            occupant
            for occupant in self._allocators[key].occupants.values()
            if occupant.next_use == NEVER
        ]
        for occupant in idle:
            if self._last_end(occupant) <= now:
                self._end(key, occupant)

    def _ready(self, key: SpaceKey, address: int, size: int) -> int:
        """Return when all that touched an address range is done, 0 if a channel is busy longer."""
        now = self._channel_free()
        freed = [item for item in self._freed.get(key, []) if item[2] > now]
        self._freed[key] = freed
        latest = 0
        for low, high, end in freed:
            if low < address + size and address < high:
                latest = max(latest, end)
        for occupant in self._allocators[key].between(address, address + size):
            latest = max(latest, self._last_end(occupant))
        return latest if latest > now else 0

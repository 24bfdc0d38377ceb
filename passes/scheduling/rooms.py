"""Keep track of the tiles on chip: where each is, when it is needed next, who gives way.

One :class:`Rooms` serves one scheduling run. It knows the order of the operations beforehand, so
that "needed next" is a position in that order. What was touched last decides when a byte is ready
for something else.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...ir.isa import Space, Unit
from ...ir.tile_events import Placement
from ...ir.tiles import Role, TileGraph
from .issue_order import Turn
from .room import AT_ONCE, NEVER, Room, Stay
from .timeline import Timeline

RoomKey = tuple[Space, int]
"""A space, and the NPU that it belongs to; 0 where NPUs share it."""


@dataclass
class Rooms:
    """The tiles in all spaces.

    Attributes:
        graph: Tiles and operations.
        time: Events so far.
        spaces: First byte and size of the range of each space that tiles may use.
        order: Operations as they are issued, each with its NPU.
        placements: Stays that have ended.
    """

    graph: TileGraph
    time: Timeline
    spaces: Mapping[Space, tuple[int, int]]
    order: Sequence[Turn]
    placements: list[Placement] = field(default_factory=list[Placement])

    def __post_init__(self) -> None:
        self._rooms: dict[RoomKey, Room] = {}
        self._freed: dict[RoomKey, list[tuple[int, int, int]]] = {}
        self._uses = self._use_lists()
        self._results = self._result_room()

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

    def _result_room(self) -> dict[Space, int]:
        """Return the bytes of each space that two operations' outputs and sums take at most."""
        largest: dict[tuple[Space, Role], int] = {}
        for tile in self.graph.tiles:
            if tile.role in (Role.O, Role.PSUM) and not tile.is_resident:
                key = tile.space, tile.role
                largest[key] = max(largest.get(key, 0), tile.occupied)
        found: dict[Space, int] = {}
        for (space, _), size in largest.items():
            found[space] = found.get(space, 0) + 2 * size
        return found

    def owned(self, tile: int, npu: int) -> tuple[int, int]:
        """Return a tile with the NPU whose copy of it is meant; 0 where NPUs share it."""
        return tile, 0 if self.graph.tiles[tile].space.is_shared else npu

    def key(self, tile: int, npu: int) -> RoomKey:
        """Return the space of a tile, and the NPU that it belongs to."""
        return self.graph.tiles[tile].space, self.owned(tile, npu)[1]

    def room(self, tile: int, npu: int) -> Room:
        """Return the room of a tile."""
        key = self.key(tile, npu)
        if key not in self._rooms:
            base, size = self.spaces.get(key[0], (0, 0))
            self._rooms[key] = Room(base, size)
        return self._rooms[key]

    def is_here(self, tile: int, npu: int) -> bool:
        """Whether a tile is on chip."""
        return tile in self.room(tile, npu).stays

    def find(self, tile: int, npu: int, horizon: int) -> tuple[int, tuple[Stay, ...]] | None:
        """Return an address for a tile and who must leave for it.

        Args:
            tile: The tile.
            npu: The NPU that needs it.
            horizon: Tiles that are needed up to this position stay.

        Returns:
            ``None`` where there is no room.
        """
        key, room, item = self.key(tile, npu), self.room(tile, npu), self.graph.tiles[tile]
        self._sweep(key)
        return room.find(
            item.occupied,
            high=item.role in (Role.O, Role.PSUM),
            horizon=horizon,
            ready=lambda address, size: self._ready(key, address, size),
        )

    def leaves_room(self, tile: int, npu: int, horizon: int) -> bool:
        """Whether a tile fits beside all that is needed before it, and results to come.

        Args:
            tile: Number of the tile.
            npu: Whose memory.
            horizon: Position up to which is looked ahead.
        """
        item, room = self.graph.tiles[tile], self.room(tile, npu)
        inputs = results = 0
        for stay in room.stays.values():
            if stay.is_result:
                results += stay.bytes
            elif stay.next_use <= horizon:
                inputs += stay.bytes
        return inputs + item.occupied + max(results, self._results.get(item.space, 0)) <= room.size

    def enter(self, tile: int, npu: int, address: int) -> None:
        """Begin the stay of a tile.

        Args:
            tile: Number of the tile.
            npu: Whose memory.
            address: Where.
        """
        item = self.graph.tiles[tile]
        self.room(tile, npu).add(
            Stay(
                tile,
                address,
                item.occupied,
                AT_ONCE if item.role is Role.O else self._uses[self.owned(tile, npu)][-1],
                is_result=item.role in (Role.O, Role.PSUM),
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
        stay = self.room(tile, npu).stays[tile]
        stay.last_event = event
        if stay.first_event < 0:
            stay.first_event = event

    def passed(self, position: int) -> None:
        """Note that the operation at a position was issued: what it touched is needed later."""
        turn = self.order[position]
        for tile in self.tiles_of(turn.ops):
            uses = self._uses[self.owned(tile, turn.npu)]
            uses.pop()
            stay = self.room(tile, turn.npu).stays.get(tile)
            if stay is not None and stay.next_use != AT_ONCE:
                stay.next_use = uses[-1] if uses else NEVER

    def end(self, tile: int, npu: int) -> None:
        """End the stay of a tile."""
        self._end(self.key(tile, npu), self.room(tile, npu).stays[tile])

    def end_all(self) -> None:
        """End all stays."""
        for key, room in self._rooms.items():
            for stay in tuple(room.stays.values()):
                self._end(key, stay)

    def _end(self, key: RoomKey, stay: Stay) -> None:
        self._rooms[key].remove(stay)
        end = stay.address + stay.bytes
        self._freed.setdefault(key, []).append((stay.address, end, self._last_end(stay)))
        if stay.first_event >= 0:
            self.placements.append(
                Placement(
                    tile=stay.tile,
                    npu=key[1],
                    address=stay.address,
                    first_event=stay.first_event,
                    last_event=stay.last_event,
                )
            )

    def _last_end(self, stay: Stay) -> int:
        return self.time.events[stay.last_event].end if stay.last_event >= 0 else 0

    def _channel_free(self) -> int:
        return self.time.free_at(Unit.DMA, self.time.dma_channel())

    def _sweep(self, key: RoomKey) -> None:
        """End stays that are not used again and were last touched before a channel is free.

        They would neither keep a transfer waiting nor be worth keeping; without this, small tiles
        that are used once pile up until the room is full, and every look for room passes them all.
        """
        now = self._channel_free()
        idle = [stay for stay in self._rooms[key].stays.values() if stay.next_use == NEVER]
        for stay in idle:
            if self._last_end(stay) <= now:
                self._end(key, stay)

    def _ready(self, key: RoomKey, address: int, size: int) -> int:
        """Return when all that touched an address range is done, 0 if a channel is busy longer."""
        now = self._channel_free()
        freed = [item for item in self._freed.get(key, []) if item[2] > now]
        self._freed[key] = freed
        latest = 0
        for low, high, end in freed:
            if low < address + size and address < high:
                latest = max(latest, end)
        for stay in self._rooms[key].between(address, address + size):
            latest = max(latest, self._last_end(stay))
        return latest if latest > now else 0

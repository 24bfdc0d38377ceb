"""Keep track of the tiles on chip: where each is, when it is needed next, who gives way.

One :class:`TileMemory` serves one scheduling run. It knows the order of the operations beforehand,
so that "needed next" is a position in that order. What was touched last decides when a byte is
ready for something else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ....ir.isa.instructions import Space, Unit
from ....ir.tiles.events import Placement
from ....ir.tiles.graph import Role, TileGraph
from ..engine.address_space import AT_ONCE, NEVER, AddressSpace, Claim, SpaceKey
from .issue_order import Turn
from .timeline import Timeline

RESULTS = frozenset({Role.O, Role.PSUM, Role.INNER})
"""Roles of tiles that operations write."""

LOADED = frozenset({Role.W, Role.I, Role.PARAM})
"""Roles of tiles that come from off-chip memory."""

FIXED = frozenset({Role.O, Role.INNER})
"""Roles of tiles that remain until they are done with: they cannot leave and come back."""


@dataclass(slots=True)
class Occupant:
    """A tile at an address.

    Attributes:
        tile: Number of the tile.
        address: First byte.
        bytes: Size [byte].
        claim: In its address space.
        next_use: Position in the order of operations at which it is needed next, or ``NEVER``, or
            ``AT_ONCE``.
        is_result: Whether it is an output or a sum.
        first_event: The event that brought it; -1 before there is one.
        last_event: The event that touched it last; -1 before there is one.
    """

    tile: int
    address: int
    bytes: int
    claim: Claim
    next_use: int
    is_result: bool
    first_event: int = -1
    last_event: int = -1


@dataclass
class TileRange:
    """One address range and the tiles in it; local to one scheduling run.

    There may be thousands of tiles, so that what is asked for with every tile is kept up to date.

    Attributes:
        base: First byte.
        size: Number of bytes.
        occupants: The tiles that are there now, by tile.
        unused: Those of them that are not needed again.
        result_bytes: What results take of it [byte].
        space: Who holds which addresses.
        is_upper_next: Whether the tile that came last lies in the lower half. Sums, which take
            half of their memory at most, change sides, so that the array adds to some while the
            vector unit finishes those before.
    """

    base: int
    size: int
    occupants: dict[int, Occupant] = field(default_factory=dict[int, Occupant])
    unused: dict[int, Occupant] = field(default_factory=dict[int, Occupant])
    result_bytes: int = 0
    space: AddressSpace = field(default_factory=AddressSpace)
    is_upper_next: bool = True
    _tiles: dict[int, int] = field(default_factory=dict[int, int])
    _input_bytes: dict[int, int] = field(default_factory=dict[int, int])
    _until: int = AT_ONCE
    _due: int = 0

    def input_bytes(self, horizon: int) -> int:
        """Return what tiles take that operations read up to a position of their order [byte].

        Args:
            horizon: The position; mostly the one that was asked for before, or the next one.
        """
        while self._until < horizon:
            self._until += 1
            self._due += self._input_bytes.get(self._until, 0)
        while self._until > horizon:
            self._due -= self._input_bytes.get(self._until, 0)
            self._until -= 1
        return self._due

    def _count(self, item: Occupant, bytes: int) -> None:
        """Count the bytes of a tile by when it is needed; no longer, where these are negative."""
        if item.next_use == NEVER and bytes > 0:
            self.unused[item.tile] = item
        else:
            self.unused.pop(item.tile, None)
        if item.is_result:
            self.result_bytes += bytes
            return
        self._input_bytes[item.next_use] = self._input_bytes.get(item.next_use, 0) + bytes
        if item.next_use <= self._until:
            self._due += bytes

    def find(
        self, size: int, *, high: bool, horizon: int, quiet: int = 0
    ) -> tuple[int, tuple[Occupant, ...]] | None:
        """Return an address and who must leave for it; ``None`` where pinned tiles forbid it.

        Args:
            size: Bytes that are needed.
            high: Whether to place at the high end of what is chosen.
            horizon: Tiles that are used up to then are pinned: they remain.
            quiet: Until then nothing can be brought in [cycle].
        """
        within = self.base, self.base + self.size
        address = self.space.last_needed(size, within, high=high, horizon=horizon, quiet=quiet)
        if address is None:
            return None
        return address, self.at(address, size)

    def at(self, address: int, size: int) -> tuple[Occupant, ...]:
        """Return the tiles that lie at some addresses.

        Args:
            address: First byte.
            size: [byte].
        """
        found = self.space.live(address, address + size)
        return tuple(self.occupants[self._tiles[number]] for number in found)

    def add(self, tile: int, address: int, size: int, next_use: int, *, is_result: bool) -> None:
        """Add a tile, at free addresses.

        Args:
            tile: Number of the tile.
            address: First byte.
            size: [byte].
            next_use: Position at which it is needed next.
            is_result: Whether it is an output or a sum.
        """
        claim = self.space.claim(address, address + size, next_use=next_use)
        self.is_upper_next = 2 * (address - self.base) < self.size
        self._tiles[claim.number] = tile
        item = Occupant(tile, address, size, claim, next_use, is_result)
        self.occupants[tile] = item
        self._count(item, size)

    def needed(self, occupant: Occupant, next_use: int) -> None:
        """Note when a tile is needed next."""
        self._count(occupant, -occupant.bytes)
        occupant.next_use = next_use
        self._count(occupant, occupant.bytes)
        self.space.needed(occupant.claim, next_use)

    def remove(self, occupant: Occupant) -> None:
        """Remove a tile."""
        self._count(occupant, -occupant.bytes)
        del self.occupants[occupant.tile], self._tiles[occupant.claim.number]
        self.space.leave(occupant.claim)


@dataclass
class TileMemory:
    """The tiles in all spaces.

    Attributes:
        graph: Tiles and operations.
        time: Events so far.
        spaces: First byte and size of the range of each space that tiles may use.
        order: Operations as they are issued, each with its NPU.
        fixed: Addresses of tiles that are known beforehand, outside of these ranges.
        since: Position in the order from which on such an address is a tile's.
        placements: Those of tiles that have left.
    """

    graph: TileGraph
    time: Timeline
    spaces: Mapping[Space, tuple[int, int]]
    order: Sequence[Turn]
    fixed: Mapping[int, int] = field(default_factory=dict[int, int])
    since: Mapping[int, int] = field(default_factory=dict[int, int])
    placements: list[Placement] = field(default_factory=list[Placement])

    def __post_init__(self) -> None:
        self._memories: dict[SpaceKey, TileRange] = {}
        self._fixed = TileRange(0, 0)
        self._position = 0
        self._memory_of: dict[tuple[int, int], TileRange] = {}
        self._is_shared = [tile.space.is_shared for tile in self.graph.tiles]
        self._uses = self._use_lists()
        self._results = self._result_bytes()

    def _use_lists(self) -> dict[tuple[int, int], list[int]]:
        """Positions in the order at which an NPU touches a tile, last first."""
        uses: dict[tuple[int, int], list[int]] = {}
        for position in reversed(range(len(self.order))):
            turn = self.order[position]
            for tile in turn.tiles:
                uses.setdefault(self.owned(tile, turn.npu), []).append(position)
        return uses

    def _result_bytes(self) -> dict[Space, int]:
        """Return the bytes of each space that results take at most: two of each kind.

        Sums are of one kind; outputs and inner tiles of each tensor of one of their own. Of what
        rolls there is one tile.
        """
        largest: dict[tuple[Space, Role, str], int] = {}
        for number, tile in enumerate(self.graph.tiles):
            if tile.role in RESULTS and not tile.is_resident and number not in self.fixed:
                tensor = tile.tensor if tile.role in FIXED else ""
                key = tile.space, tile.role, tensor
                size = tile.occupied if tile.rolls else 2 * tile.occupied
                largest[key] = max(largest.get(key, 0), size)
        found: dict[Space, int] = {}
        for (space, *_), size in largest.items():
            found[space] = found.get(space, 0) + size
        return found

    def owned(self, tile: int, npu: int) -> tuple[int, int]:
        """Return a tile with the NPU whose copy of it is meant; 0 where NPUs share it."""
        return tile, 0 if self._is_shared[tile] else npu

    def memory(self, tile: int, npu: int) -> TileRange:
        """Return the memory that a tile lies in."""
        if tile in self.fixed:
            return self._fixed
        found = self._memory_of.get((tile, npu))
        if found is None:
            space = self.graph.tiles[tile].space
            found = self._memory_of[tile, npu] = self._memory((space, space.owner(npu)))
        return found

    def _memory(self, key: SpaceKey) -> TileRange:
        if key not in self._memories:
            base, size = self.spaces.get(key[0], (0, 0))
            self._memories[key] = TileRange(base, size)
        return self._memories[key]

    def is_here(self, tile: int, npu: int) -> bool:
        """Whether a tile is on chip."""
        return tile in self.memory(tile, npu).occupants

    def is_used(self, tile: int, npu: int) -> bool:
        """Whether anything has touched a tile on chip since it came."""
        occupant = self.memory(tile, npu).occupants[tile]
        return occupant.last_event > occupant.first_event

    def find(self, tile: int, npu: int, horizon: int) -> tuple[int, tuple[Occupant, ...]] | None:
        """Return an address for a tile and who must leave for it.

        Args:
            tile: The tile.
            npu: The NPU that needs it.
            horizon: Tiles that are needed up to this position remain.

        Returns:
            ``None`` where there is no space.
        """
        memory, item = self.memory(tile, npu), self.graph.tiles[tile]
        if tile in self.fixed:
            return self._at(memory, self.fixed[tile], item.occupied, self.since[tile])
        self._sweep(memory, self.owned(tile, npu)[1], self._free_channel)
        high = memory.is_upper_next if item.role is Role.PSUM else item.role in RESULTS
        return memory.find(item.occupied, high=high, horizon=horizon, quiet=self._quiet(tile, npu))

    def _at(
        self, memory: TileRange, address: int, size: int, since: int
    ) -> tuple[int, tuple[Occupant, ...]] | None:
        """Return an address that is known, and the tiles there that are not used again.

        It is not free before the position from which on it is the tile's, or while others there
        are used.
        """
        there = memory.at(address, size)
        is_free = self._position >= since and all(item.next_use == NEVER for item in there)
        return (address, there) if is_free else None

    @property
    def _free_channel(self) -> int:
        """When a channel is free [cycle]."""
        return self.time.free_at(Unit.DMA, self.time.dma_channel())

    def _quiet(self, tile: int, npu: int) -> int:
        """Return until when whatever writes a tile first is busy [cycle]."""
        if self.graph.tiles[tile].role not in RESULTS:
            return self._free_channel
        return self.time.free_at(self.graph.ops[self.graph.writers[tile][0]].unit, npu)

    def leaves_space(self, tile: int, npu: int, horizon: int) -> bool:
        """Whether a tile fits beside all that is needed before it, and results to come.

        Args:
            tile: Number of the tile.
            npu: Whose memory.
            horizon: Position up to which is looked ahead.
        """
        if tile in self.fixed:
            return True
        item, memory = self.graph.tiles[tile], self.memory(tile, npu)
        results = max(memory.result_bytes, self._results.get(item.space, 0))
        return memory.input_bytes(horizon) + item.occupied + results <= memory.size

    def enter(self, tile: int, npu: int, address: int) -> None:
        """Begin the placement of a tile.

        Args:
            tile: Number of the tile.
            npu: Whose memory.
            address: Where.
        """
        item = self.graph.tiles[tile]
        next_use = AT_ONCE if item.role in FIXED else self._uses[self.owned(tile, npu)][-1]
        is_result = item.role in RESULTS
        self.memory(tile, npu).add(tile, address, item.occupied, next_use, is_result=is_result)

    def touch(self, tile: int, npu: int, event: int) -> None:
        """Note that an event touches a tile.

        Args:
            tile: Number of the tile.
            npu: Whose memory.
            event: Number of the event.
        """
        if self.graph.tiles[tile].is_resident:
            return
        memory = self.memory(tile, npu)
        occupant = memory.occupants[tile]
        memory.space.use(occupant.claim, self.time.events[event].end)
        occupant.last_event = event
        if occupant.first_event < 0:
            occupant.first_event = event

    def passed(self, position: int) -> None:
        """Note that the operation at a position was issued: what it touched is needed later."""
        turn = self.order[position]
        self._position = position + 1
        for tile in turn.tiles:
            uses = self._uses[self.owned(tile, turn.npu)]
            uses.pop()
            memory = self.memory(tile, turn.npu)
            occupant = memory.occupants.get(tile)
            if occupant is not None and occupant.next_use != AT_ONCE:
                memory.needed(occupant, uses[-1] if uses else NEVER)

    def end(self, tile: int, npu: int) -> None:
        """End the placement of a tile."""
        memory = self.memory(tile, npu)
        self._end(memory, self.owned(tile, npu)[1], memory.occupants[tile])

    def end_all(self) -> None:
        """End all placements."""
        everything = (*self._memories.items(), ((Space.GB, 0), self._fixed))
        for (_, owner), memory in everything:
            for occupant in tuple(memory.occupants.values()):
                self._end(memory, owner, occupant)

    def _end(self, memory: TileRange, owner: int, occupant: Occupant) -> None:
        memory.remove(occupant)
        if occupant.first_event >= 0:
            self.placements.append(
                Placement(
                    tile=occupant.tile,
                    npu=owner,
                    address=occupant.address,
                    first_event=occupant.first_event,
                    last_event=occupant.last_event,
                )
            )

    def _last_end(self, occupant: Occupant) -> int:
        return self.time.events[occupant.last_event].end if occupant.last_event >= 0 else 0

    def _sweep(self, memory: TileRange, owner: int, quiet: int) -> None:
        """End placements that are not used again and were last touched before a channel is free.

        They would neither keep a transfer waiting nor be worth keeping; without this, small tiles
        that are used once pile up until memory is full, and every look for space passes them all.
        """
        for occupant in sorted(memory.unused.values(), key=lambda item: item.claim.number):
            if self._last_end(occupant) <= quiet:
                self._end(memory, owner, occupant)

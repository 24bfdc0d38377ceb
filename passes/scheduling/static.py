"""Schedule tiles in the order of their loop nest, with transfers running ahead.

Operations keep the order of the nest. On several NPUs whole accumulations are dealt out in turn,
which unrolls the innermost loop that changes the output. Before an operation is issued, the tiles
of the next ones are fetched as far as there is room; the tile whose next use is furthest away
makes room. A channel that would be idle before the array is fetches what later operations read, if
that leaves room for outputs. Accumulator tiles that leave unfinished are spilled and retrieved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError, Shortage
from ...ir.hazards import Block
from ...ir.isa import Space, Unit
from ...ir.tile_schedule import Event, EventKind, Placement, TileSchedule
from ...ir.tiles import Role, TileGraph, TileOp
from .room import AT_ONCE, NEVER, Room, Stay
from .timeline import Timeline


def schedule_static(
    graph: TileGraph,
    arch: Architecture,
    rooms: Mapping[Space, tuple[int, int]],
    *,
    cycles_lower_bound: int = 0,
) -> TileSchedule:
    """Return the schedule of a tile graph in its own order.

    Args:
        graph: Tiles and operations.
        arch: The machine.
        rooms: First byte and size of the range of each space that tiles may use.
        cycles_lower_bound: Passed through to the result.

    Raises:
        InfeasibleError: The tiles of one operation do not fit together.
    """
    run = _Run(graph, arch, rooms)
    run.execute()
    return TileSchedule(
        graph=graph,
        events=tuple(run.time.events),
        placements=tuple(run.placements),
        scheduler="static",
        cycles=run.time.makespan,
        cycles_lower_bound=cycles_lower_bound,
    )


def issue_order(graph: TileGraph, npus: int) -> tuple[tuple[int, int], ...]:
    """Return (operation, NPU) pairs: accumulations dealt out in turn, interleaved."""
    groups: dict[tuple[str, int], list[int]] = {}
    for number, op in enumerate(graph.ops):
        key = ("op", number) if op.acc is None else ("acc", op.acc)
        groups.setdefault(key, []).append(number)
    if npus == 1:
        return tuple((number, 0) for number in range(len(graph.ops)))
    order: list[tuple[int, int]] = []
    chains = list(groups.values())
    for first in range(0, len(chains), npus):
        batch = chains[first : first + npus]
        for position in range(max(len(chain) for chain in batch)):
            order += [
                (chain[position], npu) for npu, chain in enumerate(batch) if position < len(chain)
            ]
    return tuple(order)


def unit_of(op: TileOp) -> Unit:
    """Return the engine that executes an operation."""
    if op.profile:
        return Unit.MX
    return Unit.VX if op.cost else Unit.ST


@dataclass
class _Run:
    """One scheduling run."""

    graph: TileGraph
    arch: Architecture
    spaces: Mapping[Space, tuple[int, int]]
    placements: list[Placement] = field(default_factory=list[Placement])

    def __post_init__(self) -> None:
        self.time = Timeline(self.arch, self.graph)
        self.order = issue_order(self.graph, len(self.arch.npus))
        self.rooms: dict[tuple[Space, int], Room] = {}
        self.freed: dict[tuple[Space, int], list[tuple[int, int, int]]] = {}
        self.blocks: dict[tuple[int, int], Block] = {}
        self.resident: dict[tuple[str, int], Block] = {}
        self.uses = self._use_lists()
        self.outputs = self._output_room()
        self.last = self._last_of_sums()
        self.cursor = 0
        self.horizon = 0
        self.scout = 0
        self.added: dict[int, int] = {}
        self.finished: dict[int, int] = {}
        self.spilled: set[int] = set()
        self.parts = {tile: self._part_count(ops) for tile, ops in self.graph.writers.items()}

    def _use_lists(self) -> dict[tuple[int, int], list[int]]:
        """Positions in the order at which an NPU touches a tile, last first."""
        uses: dict[tuple[int, int], list[int]] = {}
        for position in reversed(range(len(self.order))):
            number, npu = self.order[position]
            for tile in _tiles(self.graph.ops[number]):
                uses.setdefault(self._key(tile, npu), []).append(position)
        return uses

    def _part_count(self, ops: Sequence[int]) -> int:
        members = [self.graph.ops[number] for number in ops]
        direct = sum(op.acc is None for op in members)
        return direct + len({op.acc for op in members if op.acc is not None})

    def _key(self, tile: int, npu: int) -> tuple[int, int]:
        return tile, 0 if self.graph.tiles[tile].space.is_shared else npu

    def execute(self) -> None:
        ahead = len(self.arch.npus)
        ready = 0
        for position, (number, npu) in enumerate(self.order):
            self.cursor = position
            while ready <= position:
                self.horizon = ready
                self._fetch(*self.order[ready], must=True)
                ready += 1
            while ready < min(position + 1 + ahead, len(self.order)):
                self.horizon = ready
                if not self._fetch(*self.order[ready], must=False):
                    break
                ready += 1
            self.scout = max(self.scout, ready)
            self._issue(number, npu)
        for room_key in list(self.rooms):
            for stay in list(self.rooms[room_key].stays.values()):
                self._end(room_key, stay)

    def _fetch(self, number: int, npu: int, *, must: bool) -> bool:
        """Bring the tiles of an operation in and make room for its results."""
        op = self.graph.ops[number]
        for tile in _tiles(op):
            if tile == op.out and not self._completes(number):
                continue
            item = self.graph.tiles[tile]
            if item.is_resident or self._is_here(tile, npu):
                continue
            if item.role is Role.O and self.finished.get(tile, 0) == self.parts[tile]:
                continue
            if not self._bring(tile, npu, must=must):
                return False
        return True

    def _completes(self, number: int) -> bool:
        """Whether an operation writes its output: it is direct, or the last of its sums."""
        acc = self.graph.ops[number].acc
        return acc is None or self.last[acc] == number

    def _last_of_sums(self) -> dict[int, int]:
        """Return the operation that is issued last among those that add to an accumulator."""
        found: dict[int, int] = {}
        for number, _ in self.order:
            acc = self.graph.ops[number].acc
            if acc is not None:
                found[acc] = number
        return found

    def _output_room(self) -> dict[Space, int]:
        """Return the bytes of each space that two operations' outputs and sums take at most."""
        largest: dict[tuple[Space, Role], int] = {}
        for tile in self.graph.tiles:
            if tile.role in (Role.O, Role.PSUM) and not tile.is_resident:
                key = tile.space, tile.role
                largest[key] = max(largest.get(key, 0), tile.bytes)
        found: dict[Space, int] = {}
        for (space, _), size in largest.items():
            found[space] = found.get(space, 0) + 2 * size
        return found

    def _run_ahead(self, npu: int) -> None:
        """Fetch what later operations read while a channel is idle before the array.

        This comes before the store of what the array is at, which would keep its channel waiting.
        """
        while self.scout < len(self.order):
            number, other = self.order[self.scout]
            self.horizon = self.scout
            for tile in self.graph.ops[number].reads:
                if self.graph.tiles[tile].is_resident or self._is_here(tile, other):
                    continue
                busy = self.time.free_at(Unit.DMA, self.time.dma_channel())
                if busy >= self.time.free_at(Unit.MX, npu):
                    return
                if not self._leaves_room(tile, other) or not self._bring(tile, other, must=False):
                    return
            self.scout += 1

    def _leaves_room(self, tile: int, npu: int) -> bool:
        """Whether a tile fits beside all that is needed before it, and outputs to come."""
        item, room = self.graph.tiles[tile], self._room(tile, npu)
        inputs = outputs = 0
        for stay in room.stays.values():
            if self.graph.tiles[stay.tile].role in (Role.O, Role.PSUM):
                outputs += stay.bytes
            elif self._next_use(stay) <= self.horizon:
                inputs += stay.bytes
        return inputs + item.bytes + max(outputs, self.outputs.get(item.space, 0)) <= room.size

    def _is_here(self, tile: int, npu: int) -> bool:
        return tile in self._room(tile, npu).stays

    def _room_key(self, tile: int, npu: int) -> tuple[Space, int]:
        space = self.graph.tiles[tile].space
        return space, 0 if space.is_shared else npu

    def _room(self, tile: int, npu: int) -> Room:
        key = self._room_key(tile, npu)
        if key not in self.rooms:
            base, size = self.spaces.get(key[0], (0, 0))
            self.rooms[key] = Room(base, size)
        return self.rooms[key]

    def _bring(self, tile: int, npu: int, *, must: bool) -> bool:
        item = self.graph.tiles[tile]
        key, room = self._room_key(tile, npu), self._room(tile, npu)
        self._sweep(key)
        found = room.find(
            item.bytes,
            high=item.role in (Role.O, Role.PSUM),
            next_use=self._next_use,
            horizon=self.horizon,
            ready=lambda address, size: self._ready(key, address, size),
        )
        if found is None:
            if must:
                raise self._shortage(tile, room)
            return False
        address, leaving = found
        for stay in leaving:
            self._leave(key, stay)
        stay = Stay(tile, address, item.bytes, self.uses[self._key(tile, npu)])
        room.stays[tile] = stay
        block = self.time.claim(key[0], key[1], address, item.bytes)
        self.blocks[self._key(tile, npu)] = block
        if item.role in (Role.W, Role.I, Role.PARAM):
            self._transfer(EventKind.LOAD, tile, npu, writes=(block,))
        elif tile in self.spilled:
            self._transfer(EventKind.RETRIEVE, tile, npu, writes=(block,))
            self.spilled.discard(tile)
        return True

    def _sweep(self, key: tuple[Space, int]) -> None:
        """End stays that are not used again and were last touched before a channel is free.

        They would neither keep a transfer waiting nor be worth keeping; without this, small tiles
        that are used once pile up until the room is full, and every look for room passes them all.
        """
        now = self.time.free_at(Unit.DMA, self.time.dma_channel())
        for stay in tuple(self.rooms[key].stays.values()):
            if self._last_end(stay) <= now and self._next_use(stay) == NEVER:
                self._end(key, stay)

    def _ready(self, key: tuple[Space, int], address: int, size: int) -> int:
        """Return when all that touched an address range is done, 0 if a channel is busy longer."""
        now = self.time.free_at(Unit.DMA, self.time.dma_channel())
        freed = [item for item in self.freed.get(key, []) if item[2] > now]
        self.freed[key] = freed
        latest = 0
        for low, high, end in freed:
            if low < address + size and address < high:
                latest = max(latest, end)
        for stay in self.rooms[key].stays.values():
            if stay.address < address + size and address < stay.address + stay.bytes:
                latest = max(latest, self._last_end(stay))
        return latest if latest > now else 0

    def _last_end(self, stay: Stay) -> int:
        return self.time.events[stay.last_event].end if stay.last_event >= 0 else 0

    def _next_use(self, stay: Stay) -> int:
        """Return when a tile is needed next, a position; a result that is not stored: at once."""
        if self.graph.tiles[stay.tile].role is Role.O:
            return AT_ONCE
        uses = stay.uses
        while uses and uses[-1] < self.cursor:
            uses.pop()
        return uses[-1] if uses else NEVER

    def _leave(self, key: tuple[Space, int], stay: Stay) -> None:
        """End the stay of a tile; unfinished accumulators are written off first."""
        item = self.graph.tiles[stay.tile]
        unfinished = item.role is Role.PSUM and self.added.get(stay.tile, 0) > 0
        if unfinished:
            block = self.blocks[(stay.tile, key[1])]
            self._transfer(EventKind.SPILL, stay.tile, key[1], reads=(block,))
            self.spilled.add(stay.tile)
        self._end(key, stay)

    def _end(self, key: tuple[Space, int], stay: Stay) -> None:
        del self.rooms[key].stays[stay.tile]
        end = stay.address + stay.bytes
        self.freed.setdefault(key, []).append((stay.address, end, self._last_end(stay)))
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

    def _transfer(
        self,
        kind: EventKind,
        tile: int,
        npu: int,
        *,
        reads: tuple[Block, ...] = (),
        writes: tuple[Block, ...] = (),
    ) -> None:
        number = self.time.add(
            kind,
            tile,
            Unit.DMA,
            self.time.dma_channel(),
            reads=reads,
            writes=writes,
            author=kind.value,
        )
        self._touch(tile, npu, number)

    def _touch(self, tile: int, npu: int, event: int) -> None:
        if self.graph.tiles[tile].is_resident:
            return
        stay = self._room(tile, npu).stays[tile]
        stay.last_event = event
        if stay.first_event < 0:
            stay.first_event = event

    def _block(self, tile: int, npu: int) -> Block:
        item = self.graph.tiles[tile]
        if not item.is_resident:
            return self.blocks[self._key(tile, npu)]
        assert item.address is not None
        key = (item.tensor, item.address)
        if key not in self.resident:
            self.resident[key] = self.time.claim(item.space, 0, item.address, item.bytes)
        return self.resident[key]

    def _issue(self, number: int, npu: int) -> None:
        op = self.graph.ops[number]
        if op.acc is None:
            self._compute_direct(number, op, npu)
            return
        inputs = [tile for tile in op.reads if self.graph.tiles[tile].role is not Role.PARAM]
        clear = self.added.get(op.acc, 0) == 0
        acc = self._block(op.acc, npu)
        reads = [self._block(tile, npu) for tile in inputs] + ([] if clear else [acc])
        event = self.time.add(
            EventKind.COMPUTE,
            number,
            unit_of(op),
            npu,
            reads=reads,
            writes=(acc,),
            author=op.operator,
            clear=clear,
        )
        for tile in (*inputs, op.acc):
            self._touch(tile, npu, event)
        self._run_ahead(npu)
        self.added[op.acc] = self.added.get(op.acc, 0) + 1
        if self.added[op.acc] == len(self.graph.accumulating[op.acc]):
            self._finish(number, op, npu)

    def _finish(self, number: int, op: TileOp, npu: int) -> None:
        assert op.acc is not None
        params = [tile for tile in op.reads if self.graph.tiles[tile].role is Role.PARAM]
        event = self.time.add(
            EventKind.FINISH,
            number,
            Unit.VX,
            npu,
            reads=[self._block(tile, npu) for tile in (*params, op.acc)],
            writes=(self._block(op.out, npu),),
            author=op.operator,
        )
        for tile in (*params, op.acc, op.out):
            self._touch(tile, npu, event)
        key = self._room_key(op.acc, npu)
        self._end(key, self.rooms[key].stays[op.acc])
        self._complete_part(op.out, npu)

    def _compute_direct(self, number: int, op: TileOp, npu: int) -> None:
        event = self.time.add(
            EventKind.COMPUTE,
            number,
            unit_of(op),
            npu,
            reads=[self._block(tile, npu) for tile in op.reads],
            writes=(self._block(op.out, npu),),
            author=op.operator,
        )
        for tile in (*op.reads, op.out):
            self._touch(tile, npu, event)
        self._complete_part(op.out, npu)

    def _complete_part(self, out: int, npu: int) -> None:
        """Count a finished part of an output tile; store the tile when it is complete."""
        self.finished[out] = self.finished.get(out, 0) + 1
        if self.finished[out] < self.parts[out] or self.graph.tiles[out].is_resident:
            return
        self._transfer(EventKind.STORE, out, npu, reads=(self._block(out, npu),))
        key = self._room_key(out, npu)
        self._end(key, self.rooms[key].stays[out])

    def _shortage(self, tile: int, room: Room) -> InfeasibleError:
        item = self.graph.tiles[tile]
        taken = [
            (
                f"{self.graph.tiles[stay.tile].role} of %{self.graph.tiles[stay.tile].tensor}",
                stay.bytes,
            )
            for stay in room.stays.values()
        ]
        terms = ((f"{item.role} of %{item.tensor}", item.bytes), *taken)
        return InfeasibleError(
            f"the tiles of one operation of %{self.graph.operators[0]} do not fit together",
            shortage=Shortage(
                resource=item.space.value,
                demand=sum(amount for _, amount in terms),
                capacity=room.size,
                terms=terms,
            ),
        )


def _tiles(op: TileOp) -> tuple[int, ...]:
    acc = () if op.acc is None else (op.acc,)
    return (*dict.fromkeys(op.reads), *acc, op.out)


def busy_cycles(events: Sequence[Event], unit: Unit) -> int:
    """Return the cycles during which engines of a kind are busy, summed over the engines."""
    return sum(event.end - event.start for event in events if event.unit is unit)

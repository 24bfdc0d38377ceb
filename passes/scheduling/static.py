"""Schedule tiles in the order of their loop nest, with transfers running ahead.

Operations keep the order of the nest. On several NPUs whole accumulations are dealt out in turn,
which unrolls the innermost loop that changes the output. Before an operation is issued, the tiles
of the next ones are fetched as far as there is room; the tile whose next use is furthest away
makes room. A channel that would be idle before the array is fetches what later operations read, if
that leaves room for outputs. Accumulator tiles that leave unfinished are spilled and retrieved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError, Shortage
from ...ir.hazards import Block
from ...ir.isa import Space, Unit
from ...ir.tile_events import Event, EventKind
from ...ir.tile_schedule import TileSchedule
from ...ir.tiles import Range, Role, TileGraph, TileOp
from .room import Room
from .rooms import Rooms, tiles_of
from .timeline import Timeline
from .timing.retime import timed


def schedule_static(
    graph: TileGraph,
    arch: Architecture,
    rooms: Mapping[Space, tuple[int, int]],
) -> TileSchedule:
    """Return the schedule of a tile graph in its own order.

    Args:
        graph: Tiles and operations.
        arch: The machine.
        rooms: First byte and size of the range of each space that tiles may use.

    Raises:
        InfeasibleError: The tiles of one operation do not fit together.
    """
    run = _Run(graph, arch, rooms)
    run.execute()
    schedule = TileSchedule(
        graph=graph,
        events=tuple(run.time.events),
        placements=tuple(run.rooms.placements),
        scheduler="static",
        cycles=0,  # the clock tells
    )
    return timed(schedule, arch)


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
    if op.nests:
        return Unit.MX
    return Unit.VX if op.cost else Unit.ST


@dataclass
class _Run:
    """One scheduling run."""

    graph: TileGraph
    arch: Architecture
    spaces: Mapping[Space, tuple[int, int]]

    def __post_init__(self) -> None:
        self.time = Timeline(self.arch, self.graph)
        self.order = issue_order(self.graph, len(self.arch.npus))
        self.rooms = Rooms(self.graph, self.time, self.spaces, self.order)
        self.blocks: dict[tuple[int, int], Block] = {}
        self.resident: dict[tuple[str, int], Block] = {}
        self.last = self._last_of_sums()
        self.horizon = 0
        self.scout = 0
        self.added: dict[int, int] = {}
        self.cleared: set[tuple[int, tuple[Range, ...]]] = set()
        self.finished: dict[int, int] = {}
        self.spilled: set[int] = set()
        self.parts = {tile: self._part_count(ops) for tile, ops in self.graph.writers.items()}

    def _part_count(self, ops: Sequence[int]) -> int:
        members = [self.graph.ops[number] for number in ops]
        direct = sum(op.acc is None for op in members)
        return direct + len({op.acc for op in members if op.acc is not None})

    def execute(self) -> None:
        ahead = len(self.arch.npus)
        ready = 0
        for position, (number, npu) in enumerate(self.order):
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
            self.rooms.passed(position)
        self.rooms.end_all()

    def _fetch(self, number: int, npu: int, *, must: bool) -> bool:
        """Bring the tiles of an operation in and make room for its results."""
        op = self.graph.ops[number]
        for tile in tiles_of(op):
            if tile == op.out and not self._completes(number):
                continue
            item = self.graph.tiles[tile]
            if item.is_resident or self.rooms.is_here(tile, npu):
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

    def _run_ahead(self, npu: int) -> None:
        """Fetch what later operations read while a channel is idle before the array.

        This comes before the store of what the array is at, which would keep its channel waiting.
        """
        while self.scout < len(self.order):
            number, other = self.order[self.scout]
            self.horizon = self.scout
            for tile in self.graph.ops[number].reads:
                if self.graph.tiles[tile].is_resident or self.rooms.is_here(tile, other):
                    continue
                busy = self.time.free_at(Unit.DMA, self.time.dma_channel())
                if busy >= self.time.free_at(Unit.MX, npu):
                    return
                if not self.rooms.leaves_room(tile, other, self.horizon):
                    return
                if not self._bring(tile, other, must=False):
                    return
            self.scout += 1

    def _bring(self, tile: int, npu: int, *, must: bool) -> bool:
        item = self.graph.tiles[tile]
        found = self.rooms.find(tile, npu, self.horizon)
        if found is None:
            if must:
                raise self._shortage(tile, self.rooms.room(tile, npu))
            return False
        address, leaving = found
        space, owner = self.rooms.key(tile, npu)
        for stay in leaving:
            self._leave(stay.tile, owner)
        self.rooms.enter(tile, npu, address)
        block = self.time.claim(space, owner, address, item.occupied)
        self.blocks[tile, owner] = block
        if item.role in (Role.W, Role.I, Role.PARAM):
            self._transfer(EventKind.LOAD, tile, npu, writes=(block,))
        elif tile in self.spilled:
            self._transfer(EventKind.RETRIEVE, tile, npu, writes=(block,))
            self.spilled.discard(tile)
        return True

    def _leave(self, tile: int, npu: int) -> None:
        """End the stay of a tile; unfinished accumulators are written off first."""
        is_sum = self.graph.tiles[tile].role is Role.PSUM
        if is_sum and self.added.get(tile, 0) > 0:
            self._transfer(EventKind.SPILL, tile, npu, reads=(self.blocks[tile, npu],))
            self.spilled.add(tile)
        self.rooms.end(tile, npu)

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
            npu=npu,
        )
        self.rooms.touch(tile, npu, number)

    def _block(self, tile: int, npu: int) -> Block:
        item = self.graph.tiles[tile]
        if not item.is_resident:
            return self.blocks[self.rooms.owned(tile, npu)]
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
        clear = (op.acc, op.sums) not in self.cleared
        self.cleared.add((op.acc, op.sums))
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
            self.rooms.touch(tile, npu, event)
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
            self.rooms.touch(tile, npu, event)
        self.rooms.end(op.acc, npu)
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
            self.rooms.touch(tile, npu, event)
        self._complete_part(op.out, npu)

    def _complete_part(self, out: int, npu: int) -> None:
        """Count a finished part of an output tile; store the tile when it is complete."""
        self.finished[out] = self.finished.get(out, 0) + 1
        if self.finished[out] < self.parts[out] or self.graph.tiles[out].is_resident:
            return
        self._transfer(EventKind.STORE, out, npu, reads=(self._block(out, npu),))
        self.rooms.end(out, npu)

    def _shortage(self, tile: int, room: Room) -> InfeasibleError:
        item = self.graph.tiles[tile]
        taken = [
            (
                f"{self.graph.tiles[stay.tile].role} of %{self.graph.tiles[stay.tile].tensor}",
                stay.bytes,
            )
            for stay in room.stays.values()
        ]
        terms = ((f"{item.role} of %{item.tensor}", item.occupied), *taken)
        demand = sum(amount for _, amount in terms)
        operator = self.graph.operators[0]
        if demand <= room.size:
            return InfeasibleError(
                f"a tile of %{operator} needs {item.occupied} byte of {item.space} in one piece; "
                f"{room.size - demand + item.occupied} are free, in several",
                hint="give it a larger scratchpad, or another mapper",
            )
        return InfeasibleError(
            f"the tiles of one operation of %{operator} do not fit together",
            shortage=Shortage(
                resource=item.space.value, demand=demand, capacity=room.size, terms=terms
            ),
        )


def busy_cycles(events: Sequence[Event], unit: Unit) -> int:
    """Return the cycles during which engines of a kind are busy, summed over the engines."""
    return sum(event.end - event.start for event in events if event.unit is unit)

"""Schedule tiles in the order of their loop nest, with transfers running ahead.

Operations keep the order of the nest. On several NPUs whole accumulations are dealt out in turn,
which unrolls the innermost loop that changes the output. Before an operation is issued, the tiles
of the next ones are fetched as far as there is space; the tile whose next use is furthest away
makes space. A channel that would be idle before the array is fetches what later operations read, if
that leaves space for outputs. Accumulator tiles that leave unfinished are spilled and retrieved.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.isa.instructions import Space, Unit
from ....ir.tiles.events import INWARDS, EventKind
from ....ir.tiles.graph import Range, Role, TileGraph, TileOp
from ....ir.tiles.schedule import TileSchedule
from ..engine.address_space import NEVER
from ..timing.retime import clocked
from .contents import RunContents
from .demand import check_demand, too_many
from .fixed_places import NOWHERE, FixedPlaces, fixed_places
from .issue_order import Dealing, Turn, dealings
from .tile_memory import FIXED, LOADED, TileMemory, TileRange
from .timeline import Timeline


def schedule_static(
    graph: TileGraph,
    arch: Architecture,
    ranges: Mapping[Space, tuple[int, int]],
    *,
    other_ways: bool = True,
) -> TileSchedule:
    """Return the schedule of a tile graph in its own order.

    Tiles that are fetched for an idle channel, and have to leave before anything reads them, come
    for nothing. They wait until their turn is near in a second attempt, and all tiles of their
    tensors in a third one. Where space is left in pieces only, inner tiles get their addresses
    beforehand. On several NPUs all this is done for each way to deal operations out. Of what fits,
    cycles and bytes decide alike.

    Args:
        graph: Tiles and operations.
        arch: The machine.
        ranges: First byte and size of the range of each space that tiles may use.
        other_ways: Whether to try other ways, too, in which NPUs share the work.

    Raises:
        InfeasibleError: The tiles of one operation do not fit together.
    """
    return best_of(dealt_schedules(graph, arch, ranges, other_ways=other_ways).values())


def dealt_schedules(
    graph: TileGraph,
    arch: Architecture,
    ranges: Mapping[Space, tuple[int, int]],
    *,
    other_ways: bool = True,
) -> Mapping[Dealing, TileSchedule]:
    """Return the schedules that fit, by how accumulations are dealt out; at least one.

    Args:
        graph: Tiles and operations.
        arch: The machine.
        ranges: First byte and size of the range of each space that tiles may use.
        other_ways: Whether to try other ways, too, in which NPUs share the work.

    Raises:
        InfeasibleError: The tiles of one operation do not fit together.
    """
    found: dict[Dealing, TileSchedule] = {}
    complaint: InfeasibleError | None = None
    for dealing, order in dealings(graph, len(arch.npus), other_ways=other_ways).items():
        try:
            found[dealing] = schedule_turns(graph, arch, ranges, order)
        except InfeasibleError as error:
            complaint = complaint or error
    if complaint is not None and not found:
        raise complaint
    return found


def schedule_turns(
    graph: TileGraph,
    arch: Architecture,
    ranges: Mapping[Space, tuple[int, int]],
    order: Sequence[Turn],
) -> TileSchedule:
    """Return the schedule of a tile graph whose operations are issued in a given order.

    Args:
        graph: Tiles and operations.
        arch: The machine.
        ranges: First byte and size of the range of each space that tiles may use.
        order: All operations, each with its NPU.

    Raises:
        InfeasibleError: The tiles of one operation do not fit together.
    """
    check_demand(graph, order, ranges)
    try:
        return _best_attempt(_Run(graph, arch, ranges, order))
    except InfeasibleError:
        for places in fixed_places(graph, order, ranges):
            run = _Run(graph, arch, places.ranges, order, places=places)
            with suppress(InfeasibleError):
                return _best_attempt(run)
        raise


def _best_attempt(first: "_Run") -> TileSchedule:
    """Return the best schedule of the attempts that begin with a run."""
    found = [first.schedule()]
    if hurried := first.hurried:
        second = first.again(hurried)
        found.append(second.schedule())
        if second.hurried:
            tiles = first.graph.tiles
            tensors = {tiles[number].tensor for number in hurried | second.hurried}
            patient = {number for number, tile in enumerate(tiles) if tile.tensor in tensors}
            found.append(first.again(patient).schedule())
    return best_of(found)


def best_of(schedules: Iterable[TileSchedule]) -> TileSchedule:
    """Return the schedule in which cycles and bytes together are least.

    Args:
        schedules: Of the same operators.
    """
    return min(schedules, key=rating_of)


def rating_of(schedule: TileSchedule) -> int:
    """Return what a schedule is compared by with others of the same tiles.

    Args:
        schedule: The schedule.
    """
    return rating(schedule.cycles, schedule.transferred_bytes)


def rating(cycles: int, moved: int) -> int:
    """Return what schedules of the same tiles are compared by: cycles and bytes count alike.

    Args:
        cycles: Of a schedule.
        moved: Bytes that it transfers; among those that transfer nothing, cycles decide.
    """
    return cycles * (moved + 1)


@dataclass
class _Run:
    """One scheduling run.

    Attributes:
        graph: Tiles and operations.
        arch: The machine.
        spaces: First byte and size of the range of each space that tiles may use.
        order: Operations as they are issued, each with its NPU.
        patient: Tiles that are not fetched for a channel that is idle.
        places: Addresses that are known beforehand.
        hurried: Tiles that have left before anything read them.
    """

    graph: TileGraph
    arch: Architecture
    spaces: Mapping[Space, tuple[int, int]]
    order: Sequence[Turn]
    patient: frozenset[int] = frozenset()
    places: FixedPlaces = NOWHERE
    hurried: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        self.time = Timeline(self.arch, self.graph)
        known = self.places.addresses, self.places.since
        self.memory = TileMemory(self.graph, self.time, self.spaces, self.order, *known)
        self.contents = RunContents(self.graph, self.memory, self.time)
        self.horizon = 0
        self.scout = 0
        self.written: dict[int, int] = {}
        self.read: dict[int, int] = {}
        self.cleared: set[tuple[int, tuple[Range, ...]]] = set()
        self.spilled: set[int] = set()

    def again(self, patient: Collection[int]) -> "_Run":
        """Return a run in which some tiles wait for their turn."""
        return _Run(self.graph, self.arch, self.spaces, self.order, frozenset(patient), self.places)

    def schedule(self) -> TileSchedule:
        """Return the schedule, timed."""
        self._execute()
        found = TileSchedule(
            graph=self.graph,
            events=tuple(self.time.events),
            placements=tuple(self.memory.placements),
            scheduler="static",
            cycles=0,  # the clock tells
        )
        return clocked(found, self.time.works, self.time.issued)

    def _execute(self) -> None:
        ahead = len(self.arch.npus)
        ready = 0
        for position, turn in enumerate(self.order):
            while ready <= position:
                self.horizon = ready
                self._fetch(self.order[ready], must=True)
                ready += 1
            while ready < min(position + 1 + ahead, len(self.order)):
                self.horizon = ready
                if not self._fetch(self.order[ready], must=False):
                    break
                ready += 1
            self.scout = max(self.scout, ready)
            for number in turn.ops:
                self._issue(number, turn.npu)
            self.memory.passed(position)
        self.memory.end_all()

    def _fetch(self, turn: Turn, *, must: bool) -> bool:
        """Bring the tiles of operations in and make space for their results."""
        for tile in turn.tiles:
            item = self.graph.tiles[tile]
            if item.is_resident or self.memory.is_here(tile, turn.npu):
                continue
            if item.role in (Role.O, Role.INNER) and self._is_complete(tile):
                continue
            if not self._bring(tile, turn.npu, must=must):
                return False
        return True

    def _is_complete(self, tile: int) -> bool:
        """Whether all operations that write a tile, or add to it, have been issued."""
        return self.written.get(tile, 0) == len(self.graph.writers[tile])

    def _run_ahead(self, npu: int) -> None:
        """Fetch what later operations read while a channel is idle before the array.

        This comes before the store of what the array is at, which would keep its channel waiting.
        """
        while self.scout < len(self.order):
            turn = self.order[self.scout]
            self.horizon = self.scout
            for tile in turn.tiles:
                item = self.graph.tiles[tile]
                if item.is_resident or item.role not in LOADED:
                    continue
                if self.memory.is_here(tile, turn.npu):
                    continue
                if tile in self.patient:
                    return
                busy = self.time.free_at(Unit.DMA, self.time.dma_channel())
                if busy >= self.time.free_at(Unit.MX, npu):
                    return
                if not self.memory.leaves_space(tile, turn.npu, self.horizon):
                    return
                if not self._bring(tile, turn.npu, must=False, spare=True):
                    return
            self.scout += 1

    def _bring(self, tile: int, npu: int, *, must: bool, spare: bool = False) -> bool:
        """Bring a tile in, or make space for it; return whether that was possible.

        Args:
            tile: The tile.
            npu: The NPU that needs it.
            must: Whether to complain where there is no space.
            spare: Whether tiles that are used again may not leave for it.
        """
        item = self.graph.tiles[tile]
        found = self.memory.find(tile, npu, self.horizon)
        if found is None:
            if must:
                raise self._shortage(tile, self.memory.memory(tile, npu))
            return False
        address, leaving = found
        if spare and any(occupant.next_use < NEVER for occupant in leaving):
            return False
        owner = self.memory.owned(tile, npu)[1]
        for occupant in leaving:
            self._leave(occupant.tile, owner)
        self.memory.enter(tile, npu, address)
        self.contents.place(tile, owner, address)
        if item.role in LOADED:
            self._transfer(EventKind.LOAD, tile, npu)
        elif tile in self.spilled:
            self._transfer(EventKind.RETRIEVE, tile, npu)
            self.spilled.discard(tile)
        return True

    def _leave(self, tile: int, npu: int) -> None:
        """End the placement of a tile; unfinished accumulators are written off first."""
        if self.graph.tiles[tile].role in LOADED and not self.memory.is_used(tile, npu):
            self.hurried.add(tile)
        is_sum = self.graph.tiles[tile].role is Role.PSUM
        if is_sum and self.written.get(tile, 0) > 0:
            self._transfer(EventKind.SPILL, tile, npu)
            self.spilled.add(tile)
        self.memory.end(tile, npu)

    def _transfer(self, kind: EventKind, tile: int, npu: int) -> None:
        """Move a tile between off-chip memory and where it is placed."""
        chip, outside = self.contents.placed(tile, npu), self.contents.off_chip(tile)
        reads, writes = (outside, (chip,)) if kind in INWARDS else ((chip,), outside)
        number = self.time.add(
            kind,
            tile,
            Unit.DMA,
            self.time.dma_channel(),
            reads=reads,
            writes=writes,
            npu=self.memory.owned(tile, npu)[1],
        )
        self.memory.touch(tile, npu, number)

    def _issue(self, number: int, npu: int) -> None:
        op = self.graph.ops[number]
        clear = op.accumulates and (op.out, op.sums) not in self.cleared
        if clear:
            self.cleared.add((op.out, op.sums))
        before = (op.out,) if op.accumulates and not clear else ()
        event = self.time.add(
            EventKind.COMPUTE,
            number,
            op.unit,
            npu,
            reads=[self.contents.met(op, tile, npu) for tile in (*op.reads, *before)],
            writes=(self.contents.met(op, op.out, npu),),
            clear=clear,
        )
        for tile in (*op.reads, op.out):
            self.memory.touch(tile, npu, event)
        self.written[op.out] = self.written.get(op.out, 0) + 1
        self._end_read(op, npu)
        if op.accumulates:
            self._run_ahead(npu)
            return
        if self.graph.finishes(op):
            self.memory.end(op.reads[0], npu)
        item = self.graph.tiles[op.out]
        if item.role is Role.O and self._is_complete(op.out) and not item.is_resident:
            self._transfer(EventKind.STORE, op.out, npu)
            if op.out not in self.graph.readers:
                self.memory.end(op.out, npu)

    def _end_read(self, op: TileOp, npu: int) -> None:
        """End the tiles of what was made here that nobody reads after an operation."""
        for tile in dict.fromkeys(op.reads):
            item = self.graph.tiles[tile]
            if item.role in FIXED and not item.is_resident:
                self.read[tile] = self.read.get(tile, 0) + 1
                if self.read[tile] == len(self.graph.readers[tile]):
                    self.memory.end(tile, npu)

    def _shortage(self, tile: int, memory: TileRange) -> InfeasibleError:
        item, *others = needed = [self.graph.tiles[number] for number in (tile, *memory.occupants)]
        free = memory.size - sum(other.occupied for other in others)
        if item.occupied > free:
            return too_many(self.graph, needed, memory.size)
        return InfeasibleError(
            f"a tile of %{self.graph.operators[0]} needs {item.occupied} byte of {item.space} in "
            f"one piece; {free} are free, in several",
            hint="give it a larger scratchpad, or another mapper",
        )

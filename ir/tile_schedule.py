"""When and where every tile operation and transfer happens, and the one verifier of it.

Events stand in program order: each queue executes its events in this order, and an event waits
for the earlier ones whose memory it touches. One event becomes one instruction.

The verifier knows nothing of schedulers. It replays the events and checks that operands are
complete where they are read, that no engine does two things at once, that placements do not
overlap in address x time, that accumulators are cleared, completed and finished once, and that
what is dropped unwritten is not read again. Where a schedule covers several operators, it also
checks that every element which one operator hands to another is there when it is read.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from .errors import VerifyError
from .isa import Space, Unit
from .regions import base_of, region_of
from .tile_contents import TensorContents
from .tiles import Role, Tile, TileGraph


class EventKind(StrEnum):
    """What an event does."""

    LOAD = "load"
    STORE = "store"
    SPILL = "spill"
    RETRIEVE = "retrieve"
    COMPUTE = "compute"
    FINISH = "finish"


TRANSFERS = frozenset({EventKind.LOAD, EventKind.STORE, EventKind.SPILL, EventKind.RETRIEVE})
"""Kinds that move a tile between off-chip memory and the chip."""

_INWARDS = frozenset({EventKind.LOAD, EventKind.RETRIEVE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that one engine does.

    ``load`` brings a tile in, ``store`` writes a finished output tile to its tensor, ``spill``
    and ``retrieve`` move an unfinished accumulator tile (at accumulator width) out and back.
    ``compute`` is a tile operation; ``finish`` turns an accumulator tile into its outputs.

    In a schedule of several operators, transfers of resident tiles are the whole tensors that the
    graph schedule moves between these operators.

    Attributes:
        kind: What it does.
        subject: Index of the tile (transfers) or of the operation (``compute``, ``finish``).
        unit: Kind of engine.
        index: DMA channel or NPU.
        start: First cycle, as predicted.
        end: Cycle after the last, as predicted.
        clear: For ``compute``: whether accumulation starts from zero.
    """

    kind: EventKind
    subject: int
    unit: Unit
    index: int
    start: int
    end: int
    clear: bool = False


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


@dataclass(frozen=True, kw_only=True)
class TileSchedule:
    """A schedule of one tile graph.

    Attributes:
        graph: What is scheduled.
        events: In program order.
        placements: Every stay of a tile on chip.
        scheduler: Who made it.
        cycles: Predicted makespan.
        cycles_lower_bound: No schedule of these operations is faster.
    """

    graph: TileGraph
    events: tuple[Event, ...]
    placements: tuple[Placement, ...]
    scheduler: str
    cycles: int
    cycles_lower_bound: int = 0

    @cached_property
    def stays(self) -> Mapping[int, tuple[Placement, ...]]:
        """Placements of each tile, by time."""
        found: dict[int, list[Placement]] = defaultdict(list)
        for item in self.placements:
            found[item.tile].append(item)
        return {
            tile: tuple(sorted(items, key=lambda item: item.first_event))
            for tile, items in found.items()
        }

    def placement(self, tile: int, event: int, npu: int = 0) -> Placement | None:
        """Return where a tile is during an event, as seen by an NPU."""
        shared = self.graph.tiles[tile].space.is_shared
        for item in self.stays.get(tile, ()):
            if item.first_event <= event <= item.last_event and (shared or item.npu == npu):
                return item
        return None

    @property
    def transferred_bytes(self) -> int:
        """Bytes between off-chip memory and the chip."""
        return sum(
            self.graph.tiles[event.subject].bytes
            for event in self.events
            if event.kind in TRANSFERS
        )

    def verify(self) -> None:
        """Replay the schedule.

        Raises:
            VerifyError: Names the event or placement that breaks a rule.
        """
        self.graph.verify()
        _verify_exclusive(self)
        _verify_no_overlap(self)
        _Replay(self).run()


def _verify_exclusive(schedule: TileSchedule) -> None:
    """No engine does two things at once; queues are in order."""
    free: dict[tuple[Unit, int], int] = defaultdict(int)
    for number, event in enumerate(schedule.events):
        queue = (event.unit, event.index)
        if event.end < event.start or event.start < free[queue]:
            raise VerifyError(
                f"event {number} ({event.kind}) runs {event.start}..{event.end} on "
                f"{event.unit}{event.index}, which is busy until {free[queue]}"
            )
        free[queue] = event.end


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """Addresses that a tile, or a resident tensor, holds from its first to its last touch."""

    start: int
    end: int
    low: int
    high: int
    tile: int


def _placed_span(
    schedule: TileSchedule, item: Placement, touching: Mapping[tuple[int, int], list[int]]
) -> _Span:
    """Return what a placement holds.

    Raises:
        VerifyError: No event touches it.
    """
    tile = schedule.graph.tiles[item.tile]
    npu = 0 if tile.space.is_shared else item.npu
    numbers = touching.get((item.tile, npu), [])
    first = bisect_left(numbers, item.first_event)
    last = bisect_right(numbers, item.last_event)
    events = [schedule.events[number] for number in numbers[first:last]]
    if not tile.space.is_shared and schedule.events[item.first_event].unit is Unit.DMA:
        events.append(schedule.events[item.first_event])
    if not events:
        raise VerifyError(f"placement of tile {item.tile} is touched by no event")
    return _Span(
        start=min(event.start for event in events),
        end=max(event.end for event in events),
        low=item.address,
        high=item.address + tile.bytes,
        tile=item.tile,
    )


def _touching(schedule: TileSchedule) -> Mapping[tuple[int, int], list[int]]:
    """Numbers of the events that touch each tile, ascending, by tile and NPU.

    The NPU of shared spaces is 0; transfers to private ones are left out.
    """
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, event in enumerate(schedule.events):
        for tile in _tiles_of(schedule.graph, event):
            if schedule.graph.tiles[tile].space.is_shared:
                found[(tile, 0)].append(number)
            elif event.unit is not Unit.DMA:
                found[(tile, event.index)].append(number)
    return found


def _tiles_of(graph: TileGraph, event: Event) -> frozenset[int]:
    if event.kind in TRANSFERS:
        return frozenset({event.subject})
    op = graph.ops[event.subject]
    acc: frozenset[int] = frozenset(() if op.acc is None else (op.acc,))
    if event.kind is EventKind.FINISH:
        return acc | {op.out} | _parameters(graph, op.reads)
    if op.acc is None:
        return frozenset((*op.reads, op.out))
    return (frozenset(op.reads) - _parameters(graph, op.reads)) | acc


def _parameters(graph: TileGraph, reads: tuple[int, ...]) -> frozenset[int]:
    return frozenset(tile for tile in reads if graph.tiles[tile].role is Role.PARAM)


def _resident_spans(
    schedule: TileSchedule, touching: Mapping[tuple[int, int], list[int]]
) -> list[_Span]:
    """Return what resident tensors hold; one that is brought in anew counts anew."""
    tiles = schedule.graph.tiles
    windows: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, tile in enumerate(tiles):
        if tile.is_resident:
            windows[(tile.tensor, base_of(tile))].append(number)
    spans: list[_Span] = []
    for (_, base), numbers in windows.items():
        end = max(region_of(tiles[number]).end for number in numbers)
        high = base + end * tiles[numbers[0]].element_bytes
        events = sorted({event for number in numbers for event in touching.get((number, 0), ())})
        for part in _residences(schedule, events):
            spans.append(
                _Span(
                    start=min(event.start for event in part),
                    end=max(event.end for event in part),
                    low=base,
                    high=high,
                    tile=numbers[0],
                )
            )
    return spans


def _residences(schedule: TileSchedule, numbers: list[int]) -> list[list[Event]]:
    """Split the events that touch a resident tensor where it is brought in."""
    parts: list[list[Event]] = []
    for number in numbers:
        event = schedule.events[number]
        if not parts or event.kind in _INWARDS:
            parts.append([])
        parts[-1].append(event)
    return parts


def _verify_no_overlap(schedule: TileSchedule) -> None:
    """No two placements or resident tensors share a byte at the same time."""
    by_space: dict[tuple[str, int], list[_Span]] = defaultdict(list)
    touching = _touching(schedule)
    for item in schedule.placements:
        space = schedule.graph.tiles[item.tile].space
        by_space[(space, item.npu)].append(_placed_span(schedule, item, touching))
    if len(schedule.graph.operators) > 1:  # the graph schedule answers for a single operator
        by_space[(Space.GB, 0)] += _resident_spans(schedule, touching)
    for spans in by_space.values():
        spans.sort(key=lambda span: span.start)
        active: list[_Span] = []
        for span in spans:
            active = [other for other in active if other.end > span.start]
            for other in active:
                if span.low < other.high and other.low < span.high:
                    raise VerifyError(
                        f"tiles {other.tile} and {span.tile} overlap at cycle {span.start}, "
                        f"address {max(span.low, other.low)}"
                    )
            active.append(span)


class _Replay:
    """Follows the content of every placement through the events."""

    def __init__(self, schedule: TileSchedule) -> None:
        self.schedule = schedule
        self.graph = schedule.graph
        self.ready: dict[Placement, int] = {}
        self.done: set[int] = set()
        self.added: dict[int, set[int]] = defaultdict(set)
        self.finished: dict[int, int] = defaultdict(int)
        self.finish_time: dict[int, int] = defaultdict(int)
        self.stored: set[int] = set()
        self.spilled: dict[int, int] = {}
        self.tensors = TensorContents(self.graph)

    def run(self) -> None:
        for number, event in enumerate(self.schedule.events):
            if event.kind is EventKind.COMPUTE:
                self.compute(number, event)
            elif event.kind is EventKind.FINISH:
                self.finish(number, event)
            else:
                self.transfer(number, event)
        self.all_done()

    def place(self, tile: int, number: int, npu: int) -> Placement:
        item = self.schedule.placement(tile, number, npu)
        if item is None:
            raise VerifyError(f"event {number} touches tile {tile}, which is not on chip")
        return item

    def await_content(self, tile: int, number: int, event: Event) -> None:
        if self.graph.tiles[tile].is_resident:
            if self.tensors.ready_on_chip(self.graph.tiles[tile]) > event.start:
                raise VerifyError(f"event {number} reads resident tile {tile} before it is there")
            return
        item = self.place(tile, number, event.index if event.unit is not Unit.DMA else 0)
        if self.ready.get(item, event.start + 1) > event.start:
            raise VerifyError(f"event {number} reads tile {tile} before it is there")

    def compute(self, number: int, event: Event) -> None:
        if event.subject in self.done:
            raise VerifyError(f"operation {event.subject} is executed twice")
        op = self.graph.ops[event.subject]
        for tile in op.reads:
            if self.graph.tiles[tile].role is not Role.PARAM or op.acc is None:
                self.await_content(tile, number, event)
        if op.acc is None:
            self.write_output(op.out, number, event)
        else:
            self.accumulate(op.acc, number, event)
        self.done.add(event.subject)

    def accumulate(self, acc: int, number: int, event: Event) -> None:
        item = self.place(acc, number, event.index)
        if event.clear == bool(self.added[acc]):
            state = "clears what holds sums" if event.clear else "adds to what was not cleared"
            raise VerifyError(f"event {number} {state}: tile {acc}")
        if not event.clear and self.ready.get(item, event.start + 1) > event.start:
            raise VerifyError(f"event {number} adds to tile {acc} while it is not there")
        self.added[acc].add(event.subject)
        self.ready[item] = event.end

    def finish(self, number: int, event: Event) -> None:
        op = self.graph.ops[event.subject]
        if op.acc is None:
            raise VerifyError(f"event {number} finishes an operation without accumulators")
        if self.added[op.acc] != set(self.graph.accumulating[op.acc]):
            raise VerifyError(f"event {number} finishes tile {op.acc} before all sums are in it")
        for tile in (op.acc, *_parameters(self.graph, op.reads)):
            self.await_content(tile, number, event)
        self.write_output(op.out, number, event)
        self.done |= {-1 - op.acc}

    def write_output(self, out: int, number: int, event: Event) -> None:
        self.finished[out] += 1
        self.finish_time[out] = max(self.finish_time[out], event.end)
        if not self.graph.tiles[out].is_resident:
            self.ready[self.place(out, number, event.index)] = self.finish_time[out]
        elif self.finished[out] == self.parts(out):
            self.note_on_chip(out, number, self.finish_time[out])

    def note_on_chip(self, tile: int, number: int, end: int) -> None:
        if not self.tensors.write_on_chip(self.graph.tiles[tile], end):
            raise VerifyError(f"event {number} writes resident tile {tile} a second time")

    def move(self, number: int, event: Event) -> None:
        """Follow a whole tensor between its address on chip and off-chip memory."""
        tile = self.graph.tiles[event.subject]
        if len(self.graph.operators) == 1:
            raise VerifyError(f"event {number} transfers resident tile {event.subject}")
        if event.kind in _INWARDS:
            self.check_off_chip(tile, number, event)
            self.tensors.forget(tile)
            self.note_on_chip(event.subject, number, event.end)
        else:
            self.await_content(event.subject, number, event)
            self.tensors.write_off_chip(tile, event.end)

    def check_off_chip(self, tile: Tile, number: int, event: Event) -> None:
        if self.tensors.ready_off_chip(tile) > event.start:
            raise VerifyError(f"event {number} loads tile {event.subject} before it is off chip")

    def transfer(self, number: int, event: Event) -> None:
        tile = self.graph.tiles[event.subject]
        if tile.is_resident:
            self.move(number, event)
            return
        if event.kind is EventKind.LOAD:
            self.check_off_chip(tile, number, event)
            self.arrive(number, event)
            if tile.role in (Role.O, Role.PSUM):
                raise VerifyError(f"event {number} loads an output tile")
        elif event.kind is EventKind.RETRIEVE:
            if self.spilled.get(event.subject, event.start + 1) > event.start:
                raise VerifyError(f"event {number} retrieves a tile that was not spilled")
            self.arrive(number, event)
        elif event.kind is EventKind.SPILL:
            self.leave(number, event, tile, Role.PSUM)
            self.spilled[event.subject] = event.end
        else:
            self.leave(number, event, tile, Role.O)
            if self.finished[event.subject] != self.parts(event.subject):
                raise VerifyError(f"event {number} stores tile {event.subject} unfinished")
            self.stored.add(event.subject)
            if not self.tensors.write_off_chip(tile, event.end):
                raise VerifyError(f"event {number} stores what was stored before")

    def arrive(self, number: int, event: Event) -> None:
        for item in self.schedule.stays.get(event.subject, ()):
            if item.first_event == number:
                self.ready[item] = event.end
                return
        raise VerifyError(f"event {number} loads tile {event.subject} to nowhere")

    def leave(self, number: int, event: Event, tile: Tile, role: Role) -> None:
        if tile.role is not role:
            raise VerifyError(f"event {number}: {event.kind} of a tile of role {tile.role}")
        for item in self.schedule.stays.get(event.subject, ()):
            if item.first_event <= number <= item.last_event:
                if self.ready.get(item, event.start + 1) > event.start:
                    raise VerifyError(f"event {number} writes tile {event.subject} off too early")
                return
        raise VerifyError(f"event {number}: tile {event.subject} is not on chip")

    def parts(self, out: int) -> int:
        """How many writes complete an output tile."""
        ops = [self.graph.ops[number] for number in self.graph.writers[out]]
        direct = sum(op.acc is None for op in ops)
        return direct + len({op.acc for op in ops if op.acc is not None})

    def all_done(self) -> None:
        missing = set(range(len(self.graph.ops))) - self.done
        if missing:
            raise VerifyError(f"{len(missing)} operations are not executed, e.g. {min(missing)}")
        for out in self.graph.writers:
            if self.finished[out] != self.parts(out):
                raise VerifyError(f"output tile {out} is not finished")
            if not self.graph.tiles[out].is_resident and out not in self.stored:
                raise VerifyError(f"output tile {out} is never stored")

"""Turn one event of a tile schedule into one instruction on the bytes of its tiles."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..ir.graph import Op
from ..ir.isa import Access, AnyInstruction, Copy, Space, Unit
from ..ir.regions import Region, region_of
from ..ir.schedule_hazards import Content
from ..ir.tile_events import Event, EventKind, Placement
from ..ir.tile_schedule import TileSchedule
from ..ir.tiles import Role, Tile, TileGraph
from ..ir.touches import Accesses
from .addressing import off_chip, on_chip, squeeze
from .footprint import read_regions, whole, written_regions
from .select import select_compute
from .select_mac import select_finish
from .site import Site
from .streams import Part, Streams

Regions: TypeAlias = Callable[[AnyInstruction, Tile], tuple[Region, ...] | None]
"""Tells what an instruction touches of a resident tensor."""


@dataclass(frozen=True, slots=True)
class EventLowering:
    """Turns one event into one instruction.

    Attributes:
        streams: Where the instruction goes.
        schedule: What the event belongs to.
        event: The event.
        here: Where every tile is, by tile and NPU; NPU 0 in shared spaces.
        steps: Step of the graph schedule of each operator.
    """

    streams: Streams
    schedule: TileSchedule
    event: Event
    here: Mapping[tuple[int, int], Placement]
    steps: Mapping[str, int]

    @property
    def graph(self) -> TileGraph:
        """Tiles and operations."""
        return self.schedule.graph

    def lower(self) -> None:
        """Append the event's instruction with its waits."""
        if self.event.kind in (EventKind.COMPUTE, EventKind.FINISH):
            self._operation()
        else:
            self._transfer()

    def _npu(self, tile: int) -> int:
        """Return whose space an event touches: its own NPU's, or a transferred tile's."""
        if self.graph.tiles[tile].space.is_shared:
            return 0
        if self.event.unit is not Unit.DMA:
            return self.event.index
        npus = range(len(self.streams.arch.npus))
        places = [self.here[tile, npu] for npu in npus if (tile, npu) in self.here]
        return max(places, key=lambda item: item.first_event).npu

    def _address(self, tile: int) -> int:
        item = self.graph.tiles[tile]
        if item.address is not None:
            return item.address
        return self.here[(tile, self._npu(tile))].address

    def _placed(self, tile: int) -> Part:
        """Return a placed tile."""
        return self.streams.placed[self.here[(tile, self._npu(tile))]], None

    def _resident(self, tile: int) -> Content:
        """Return the content of the resident tensor that a tile is."""
        step = self.steps[self._operator().name]
        place = self.streams.residence(self.graph.tiles[tile].tensor, step)
        return self.streams.resident(place)

    def _parts(self, tile: int, regions: Regions, instruction: AnyInstruction) -> Iterator[Part]:
        """Yield what an instruction touches of a tile, or of the tensor that it is."""
        item = self.graph.tiles[tile]
        if not item.is_resident:
            yield self._placed(tile)
            return
        content = self._resident(tile)
        found = regions(instruction, item)
        for region in (whole(content.elements),) if found is None else found:
            yield content, region

    def _operator(self) -> Op:
        name = self.graph.operators[0]
        if self.event.kind in (EventKind.COMPUTE, EventKind.FINISH):
            name = self.graph.ops[self.event.subject].operator
        return self.streams.graph.producer[name]

    def instruction(self) -> AnyInstruction:
        """Return the instruction, without waits."""
        if self.event.kind is EventKind.FINISH:
            return select_finish(self._site(), self._number)
        if self.event.kind is not EventKind.COMPUTE:
            return self._copy()
        return select_compute(self._site(), self._number, clear=self.event.clear)

    def _number(self, nest: int | None) -> int:
        return self.streams.nest(self.graph, nest)

    def _site(self) -> Site:
        step = self.graph.ops[self.event.subject]
        npu = self.event.index
        return Site(self.streams.graph, self._operator(), self.graph, step, npu, self._address)

    def _operation(self) -> None:
        step = self.graph.ops[self.event.subject]
        reads = [tile for tile in step.reads if not self._is_parameter(tile) or step.acc is None]
        if self.event.kind is EventKind.FINISH:
            assert step.acc is not None
            reads = [*(tile for tile in step.reads if self._is_parameter(tile)), step.acc]
            written = step.out
        else:
            written = step.out if step.acc is None else step.acc
            if step.acc is not None and not self.event.clear:
                reads.append(step.acc)
        instruction = self.instruction()
        self.streams.emit(
            (self.event.unit, self.event.index),
            instruction,
            [part for tile in reads for part in self._parts(tile, read_regions, instruction)],
            self._parts(written, written_regions, instruction),
            step.operator,
        )

    def _is_parameter(self, tile: int) -> bool:
        return self.graph.tiles[tile].role is Role.PARAM

    def _outside(self) -> str:
        """Return the symbol off chip of the tile that is transferred."""
        tile = self.graph.tiles[self.event.subject]
        if tile.role is Role.PSUM:
            return self.streams.spill_symbol(self.graph, self.event.subject)
        if tile.is_resident and self.event.kind is EventKind.STORE:
            return self.streams.store_symbol(tile.tensor).name
        return self.streams.symbol(tile.tensor).name

    def _is_inwards(self) -> bool:
        return self.event.kind in (EventKind.LOAD, EventKind.RETRIEVE)

    def _copy(self) -> Copy:
        tile = self.event.subject
        item = self.graph.tiles[tile]
        chip = on_chip(item, self._npu(tile), self._address(tile), item.box)
        base = self.streams.layout.symbols[self._outside()].address
        if item.role is Role.PSUM:
            outside = Access(Space.DRAM, 0, base, item.strides)
        else:
            outside = off_chip(item, base)
        dst, src = (chip, outside) if self._is_inwards() else (outside, chip)
        shape, (dst, src) = squeeze(item.shape, dst, src)
        return Copy(
            dst=dst,
            src=src,
            shape=shape,
            element_bytes=item.element_bytes,
            layout=self._number(item.layout),
        )

    def _transfer(self) -> None:
        copy = self._copy()
        tile = self.graph.tiles[self.event.subject]
        inside = self._placed(self.event.subject)
        region = None if tile.role is Role.PSUM else region_of(tile)
        outer = (self.streams.off_chip(self._outside()), region)
        into, from_ = (inside, outer) if self._is_inwards() else (outer, inside)
        author = self.event.kind.value if self._is_inwards() else self._operator().name
        self.streams.emit((self.event.unit, self.event.index), copy, (from_,), (into,), author)


@dataclass(frozen=True, slots=True)
class JointEvent(EventLowering):
    """Turns one event of a schedule of several operators into one instruction.

    Attributes:
        accesses: Tells where tiles are.
        number: Of the event.
    """

    accesses: Accesses
    number: int

    def _npu(self, tile: int) -> int:
        item = self.graph.tiles[tile]
        if item.is_resident or item.space.is_shared:
            return 0
        return self.accesses.stay(tile, self.number).npu

    def _address(self, tile: int) -> int:
        address = self.graph.tiles[tile].address
        return self.accesses.stay(tile, self.number).address if address is None else address

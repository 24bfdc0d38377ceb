"""Streams of instructions in the making: queues, what lies where, and who touched it last."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ..ir.arch import Architecture
from ..ir.errors import PassError
from ..ir.graph import Graph
from ..ir.graph_schedule import GraphSchedule, Residence
from ..ir.hazards import HazardTracker, Ticks, waits_for
from ..ir.isa import AnyInstruction, Halt, Space, Unit, Wait
from ..ir.mapping import LoopNest
from ..ir.program import Program, Queue, SpaceSize, Symbol, SymbolKind
from ..ir.regions import Region
from ..ir.schedule_hazards import Content
from ..ir.spaces import space_bytes
from ..ir.tile_events import Placement
from ..ir.tiles import TileGraph
from ..ir.types import DType, TensorType
from .layout import Layout, observed_name
from .waits import WaitFilter

Part: TypeAlias = tuple[Content, Region | None]
"""Elements of a tensor that an instruction touches; all of what is no tensor."""


@dataclass
class Streams:
    """The queues of one program; local to one lowering run.

    Attributes:
        arch: The machine.
        graph: The network.
        plan: What is resident when.
        layout: Where tensors lie off chip; grows.
        op_number: Step that instructions are appended for.
        placed: The tiles that are placed now.
    """

    arch: Architecture
    graph: Graph
    plan: GraphSchedule
    layout: Layout
    op_number: int = -1
    placed: dict[Placement, Content] = field(default_factory=dict[Placement, Content])
    _tracker: HazardTracker = field(default_factory=HazardTracker)
    _residents: dict[Residence, Content] = field(default_factory=dict[Residence, Content])
    _dram: dict[str, Content] = field(default_factory=dict[str, Content])
    _nests: dict[LoopNest, int] = field(default_factory=dict[LoopNest, int])
    _nest_numbers: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    def __post_init__(self) -> None:
        units = [(Unit.DMA, channel) for channel in range(self.arch.dma.channels)]
        units += [
            (unit, npu)
            for npu in range(len(self.arch.npus))
            for unit in (Unit.LD, Unit.MX, Unit.VX, Unit.ST)
        ]
        self._queue_of = {key: number for number, key in enumerate(units)}
        self._queues: list[list[AnyInstruction]] = [[] for _ in units]
        self._waits = WaitFilter(len(units))

    def queue(self, unit: Unit, index: int) -> int:
        """Return the number of an engine's queue."""
        return self._queue_of[unit, index]

    def length(self, queue: int) -> int:
        """Return how many instructions a queue has."""
        return len(self._queues[queue])

    def channel(self) -> int:
        """Return the DMA channel with the fewest instructions."""
        return min(
            range(self.arch.dma.channels),
            key=lambda channel: self.length(self.queue(Unit.DMA, channel)),
        )

    def emit(
        self,
        queue_key: tuple[Unit, int],
        instruction: AnyInstruction,
        reads: Iterable[Part],
        writes: Iterable[Part],
        author: str,
    ) -> None:
        """Append an instruction with the waits that what it touches asks for.

        A tensor is written before it is read; if it is written again (spilled twice), that waits
        for all who have read it.
        """
        queue = self._queue_of[queue_key]
        reads, writes = tuple(reads), tuple(writes)
        before: list[Ticks] = [content.before_read(region) for content, region in reads]
        for content, region in writes:
            before.append(content.before_write(region, author))
            if region is not None:
                before.append(content.block.readers)
        self.append(queue, instruction, before)
        tick = len(self._queues[queue])
        for content, _ in reads:
            self._tracker.note_read(content.block, queue, tick)
        for content, region in writes:
            content.note_write(region, queue, tick, author)

    def append(self, queue: int, instruction: AnyInstruction, before: Iterable[Ticks]) -> None:
        """Append an instruction that comes after others."""
        needed = self._waits.needed(queue, waits_for(before, queue))
        waits = tuple(Wait(other, tick) for other, tick in sorted(needed.items()))
        self._queues[queue].append(replace(instruction, waits=waits, op=self.op_number))

    def symbol(self, tensor: str) -> Symbol:
        """Return the room of a tensor off chip."""
        if tensor not in self.layout.symbols:
            self.layout.add(tensor, SymbolKind.ACTIVATION, self.graph.types[tensor])
        return self.layout.symbols[tensor]

    def store_symbol(self, tensor: str) -> Symbol:
        """Return the room that the store of a whole tensor fills.

        An output has its own; of other tensors, observers get a copy, so that what they look at
        does not change what the program reads.
        """
        if tensor in self.graph.outputs:
            return self.symbol(tensor)
        type = self.graph.types[tensor]
        return self.layout.add(observed_name(tensor), SymbolKind.ACTIVATION, type)

    def spill_symbol(self, graph: TileGraph, tile: int) -> str:
        """Return the name of the off-chip room of an accumulator tile."""
        item = graph.tiles[tile]
        name = f"{item.tensor}.psum{tile}"
        self.layout.add(name, SymbolKind.ACTIVATION, TensorType(DType.U8, (item.bytes,)))
        return name

    def nest(self, graph: TileGraph, number: int | None) -> int:
        """Return the program's index of a tile graph's nest, -1 for none."""
        if number is None:
            return -1
        key = id(graph), number
        if key not in self._nest_numbers:
            found = self._nests.setdefault(graph.nests[number], len(self._nests))
            self._nest_numbers[key] = found
        return self._nest_numbers[key]

    def place(self, graph: TileGraph, item: Placement) -> None:
        """Give a tile the addresses of its placement; what was there ends."""
        tile = graph.tiles[item.tile]
        block = self._tracker.claim(tile.space, item.npu, item.address, tile.occupied)
        self.placed[item] = Content(block)

    def off_chip(self, tensor: str) -> Content:
        """Return the content of a tensor's off-chip memory."""
        if tensor not in self._dram:
            symbol = self.layout.symbols[tensor]
            block = self._tracker.claim(Space.DRAM, 0, symbol.address, symbol.type.bytes)
            self._dram[tensor] = Content(block, symbol.type.elements)
        return self._dram[tensor]

    def residence(self, tensor: str, step: int) -> Residence:
        """Return where a tensor is resident during a step."""
        place = self.plan.resident(tensor, step)
        if place is None:
            raise PassError(f"%{tensor} is not resident at step {step}")
        return place

    def resident(self, place: Residence) -> Content:
        """Return the content of a resident tensor."""
        if place not in self._residents:
            block = self._tracker.claim(Space.GB, 0, place.address, place.bytes)
            elements = self.graph.types[place.tensor].elements
            self._residents[place] = Content(block, elements)
        return self._residents[place]

    def program(self) -> Program:
        """Return the streams, each with its end, as a program."""
        sizes = {**space_bytes(self.arch), Space.DRAM: self.layout.end}
        return Program(
            name=self.graph.name,
            arch=self.arch,
            spaces=tuple(SpaceSize(space, sizes[space]) for space in Space if space in sizes),
            symbols=tuple(self.layout.symbols.values()),
            operators=self.plan.order,
            nests=tuple(self._nests),
            queues=tuple(
                Queue(unit=unit, index=index, instructions=(*self._queues[number], Halt()))
                for (unit, index), number in self._queue_of.items()
            ),
        )

"""Streams of instructions in the making: queues, what lies where, and who touched it last."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..ir.arch import Architecture
from ..ir.errors import PassError
from ..ir.graph import Graph
from ..ir.graph_schedule import GraphSchedule, Residence
from ..ir.hazards import Block, HazardTracker, Ticks, waits_for
from ..ir.isa import AnyInstruction, Halt, Space, Unit, Wait
from ..ir.program import MacProfile, Program, Queue, SpaceSize, Symbol, SymbolKind
from ..ir.spaces import space_bytes
from ..ir.tile_schedule import Placement
from ..ir.tiles import TileGraph
from ..ir.types import DType, TensorType
from .layout import Layout
from .waits import WaitFilter


@dataclass
class Streams:
    """The queues of one program; local to one lowering run.

    Attributes:
        arch: The machine.
        graph: The network.
        plan: What is resident when.
        layout: Where tensors lie off chip; grows.
        op_number: Step that instructions are appended for.
        placed: Blocks of the tiles that are placed now.
    """

    arch: Architecture
    graph: Graph
    plan: GraphSchedule
    layout: Layout
    op_number: int = -1
    placed: dict[Placement, Block] = field(default_factory=dict[Placement, Block])
    _tracker: HazardTracker = field(default_factory=HazardTracker)
    _residents: dict[Residence, Block] = field(default_factory=dict[Residence, Block])
    _dram: dict[str, Block] = field(default_factory=dict[str, Block])
    _profiles: dict[MacProfile, int] = field(default_factory=dict[MacProfile, int])

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
        reads: Iterable[Block],
        writes: Iterable[Block],
        author: str,
    ) -> None:
        """Append an instruction with the waits that its blocks ask for."""
        queue = self._queue_of[queue_key]
        reads, writes = tuple(reads), tuple(writes)
        before: list[Ticks] = [self._tracker.before_read(block) for block in reads]
        before += [self._tracker.before_write(block, author) for block in writes]
        self.append(queue, instruction, before)
        tick = len(self._queues[queue])
        for block in reads:
            self._tracker.note_read(block, queue, tick)
        for block in writes:
            self._tracker.note_write(block, queue, tick, author)

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

    def spill_symbol(self, graph: TileGraph, tile: int) -> str:
        """Return the name of the off-chip room of an accumulator tile."""
        item = graph.tiles[tile]
        name = f"{item.tensor}.psum{tile}"
        self.layout.add(name, SymbolKind.ACTIVATION, TensorType(DType.U8, (item.bytes,)))
        return name

    def profile(self, graph: TileGraph, number: int) -> int:
        """Return the program's index of a tile graph's profile."""
        return self._profiles.setdefault(graph.profiles[number], len(self._profiles))

    def place(self, graph: TileGraph, item: Placement) -> None:
        """Give a tile the addresses of its placement; what was there ends."""
        tile = graph.tiles[item.tile]
        self.placed[item] = self._tracker.claim(tile.space, item.npu, item.address, tile.bytes)

    def dram_block(self, tensor: str) -> Block:
        """Return the block of a tensor in off-chip memory."""
        if tensor not in self._dram:
            symbol = self.layout.symbols[tensor]
            size = symbol.type.bytes
            self._dram[tensor] = self._tracker.claim(Space.DRAM, 0, symbol.address, size)
        return self._dram[tensor]

    def residence(self, tensor: str, step: int) -> Residence:
        """Return where a tensor is resident during a step."""
        place = self.plan.resident(tensor, step)
        if place is None:
            raise PassError(f"%{tensor} is not resident at step {step}")
        return place

    def resident_block(self, place: Residence) -> Block:
        """Return the block of a resident tensor."""
        if place not in self._residents:
            self._residents[place] = self._tracker.claim(Space.GB, 0, place.address, place.bytes)
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
            profiles=tuple(self._profiles),
            queues=tuple(
                Queue(unit=unit, index=index, instructions=(*self._queues[number], Halt()))
                for (unit, index), number in self._queue_of.items()
            ),
        )

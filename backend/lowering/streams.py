"""Streams of instructions in the making: queues, and where tensors lie off chip."""

from dataclasses import dataclass, field, replace

from ...ir.arch import Architecture
from ...ir.graph import Graph
from ...ir.isa.instructions import AnyInstruction, Halt, Space, Unit, Wait
from ...ir.isa.program import Program, Queue, SpaceSize, SymbolKind
from ...ir.isa.spaces import space_bytes
from ...ir.mapping import LoopNest
from ...ir.tiles.graph import TileGraph
from ...ir.tiles.hazards import Ticks, waits_for
from ...ir.types import DType, TensorType
from .layout import OffChipLayout, observed_name
from .waits import WaitFilter


@dataclass
class Streams:
    """The queues of one program; local to one lowering run.

    Attributes:
        arch: The machine.
        graph: The network.
        layout: Where tensors lie off chip; grows.
    """

    arch: Architecture
    graph: Graph
    layout: OffChipLayout
    _nests: dict[LoopNest, int] = field(default_factory=dict[LoopNest, int])

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

    def append(self, queue: int, instruction: AnyInstruction, before: Ticks, step: int) -> None:
        """Append an instruction that comes after others.

        Args:
            queue: Where to.
            instruction: The instruction, without waits.
            before: What it comes after.
            step: Position of the operator that it works for.
        """
        needed = self._waits.needed(queue, waits_for((before,), queue))
        waits = tuple(Wait(other, tick) for other, tick in sorted(needed.items()))
        self._queues[queue].append(replace(instruction, waits=waits, op=step))

    def store_symbol(self, tensor: str) -> str:
        """Return the name of the off-chip block that the store of a whole tensor fills.

        An output has its own; of other tensors, observers get a copy, so that what they look at
        does not change what the program reads.
        """
        if tensor in self.graph.outputs:
            return tensor
        name = observed_name(tensor)
        self.layout.add(name, SymbolKind.ACTIVATION, self.graph.types[tensor])
        return name

    def spill_symbol(self, graph: TileGraph, tile: int) -> str:
        """Return the name of the off-chip block of an accumulator tile."""
        item = graph.tiles[tile]
        name = f"{item.tensor}.psum{tile}"
        self.layout.add(name, SymbolKind.ACTIVATION, TensorType(DType.U8, (item.bytes,)))
        return name

    def nest(self, nest: LoopNest) -> int:
        """Return the program's index of a nest."""
        return self._nests.setdefault(nest, len(self._nests))

    def program(self, operators: tuple[str, ...]) -> Program:
        """Return the streams, each with its end, as a program of some operators."""
        sizes = {**space_bytes(self.arch), Space.DRAM: self.layout.end}
        return Program(
            name=self.graph.name,
            arch=self.arch,
            spaces=tuple(SpaceSize(space, sizes[space]) for space in Space if space in sizes),
            symbols=tuple(self.layout.symbols.values()),
            operators=operators,
            nests=tuple(self._nests),
            queues=tuple(
                Queue(unit=unit, index=index, instructions=(*self._queues[number], Halt()))
                for (unit, index), number in self._queue_of.items()
            ),
        )

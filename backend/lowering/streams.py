"""Streams of instructions in the making: queues, what they wait for, where tensors lie off chip."""

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

Clock = tuple[int, ...]
"""For each queue, how many of its instructions have retired at least."""


@dataclass
class WaitFilter:
    """Keeps only the waits that order something; local to one lowering run.

    ::

        mx0: compute, waits dma0>=3          mx0: compute, waits dma0>=3
        vx0: finish, waits mx0>=1 dma0>=2    vx0: finish, waits mx0>=1

    Every queue executes in order, so that an instruction that waits for another one also comes
    after all that this one waited for. Vector clocks of all instructions so far tell what that is.
    Dropping a wait that is left is therefore a race wherever both touch the same bytes.

    Attributes:
        queues: Number of queues.
    """

    queues: int
    _after: list[list[Clock]] = field(init=False)

    def __post_init__(self) -> None:
        self._after = [[(0,) * self.queues] for _ in range(self.queues)]

    def needed(self, queue: int, waits: Ticks) -> Ticks:
        """Note the next instruction of a queue; return those of its waits that are needed.

        Args:
            queue: Where the instruction stands.
            waits: What it must come after, without its own queue.
        """
        history = self._after[queue]
        known = history[-1]
        left = {other: tick for other, tick in waits.items() if known[other] < tick}
        clocks = {other: self._after[other][tick] for other, tick in left.items()}
        kept = {
            other: tick
            for other, tick in left.items()
            if not any(clock[other] >= tick for source, clock in clocks.items() if source != other)
        }
        clock = list(map(max, known, *clocks.values())) if clocks else list(known)
        clock[queue] = len(history)
        history.append(tuple(clock))
        return kept


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

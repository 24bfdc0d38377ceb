"""A compiled network: queues of instructions, the machine they run on, and where tensors lie."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from ..arch import Architecture
from ..errors import ArchitectureError, VerifyError
from ..mapping import LoopNest
from ..types import TensorType
from .instructions import UNITS, AnyInstruction, Halt, Space, Unit
from .program_checks import MachineChecks, verify_spaces


class SymbolKind(StrEnum):
    """What a tensor in off-chip memory is."""

    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    ACTIVATION = "activation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A tensor in off-chip memory.

    Attributes:
        name: Its name in the graph; a constant's data lies beside the program under it.
        kind: What it is.
        address: First byte in ``dram``.
        type: Element type and shape, densely packed in row-major order.
    """

    name: str
    kind: SymbolKind
    address: int
    type: TensorType


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Instructions of one engine, executed in order.

    Attributes:
        unit: Kind of engine.
        index: DMA channel, or the NPU it belongs to.
        instructions: Ends with ``Halt``.
    """

    unit: Unit
    index: int
    instructions: tuple[AnyInstruction, ...]

    @property
    def name(self) -> str:
        """Name in text, e.g. ``mx0``."""
        return f"{self.unit}{self.index}"


@dataclass(frozen=True, slots=True)
class SpaceSize:
    """Capacity of an address space; the same for every NPU [byte]."""

    space: Space
    bytes: int


@dataclass(frozen=True, kw_only=True)
class ProgramFrame:
    """What a program has beside its queues.

    Attributes:
        name: Name of the network.
        arch: The machine.
        spaces: Size of each address space.
        symbols: Tensors in off-chip memory, by address.
        operators: Names of the operators, for accounts per operator.
        nests: What the sequencers of the arrays are programmed with: loops, unrolling, and which
            memory keeps which operand. ``Mac`` and ``Copy`` refer to them by position.
    """

    name: str
    arch: Architecture
    spaces: tuple[SpaceSize, ...]
    symbols: tuple[Symbol, ...]
    operators: tuple[str, ...]
    nests: tuple[LoopNest, ...]


@dataclass(frozen=True, kw_only=True)
class Program(ProgramFrame):
    """All that a machine needs to run a network, but for the constants' data.

    Attributes:
        queues: The instruction streams; a wait refers to a queue by its position here.
    """

    queues: tuple[Queue, ...]

    @cached_property
    def sizes(self) -> Mapping[Space, int]:
        """Size of each address space [byte]."""
        return {item.space: item.bytes for item in self.spaces}

    @cached_property
    def symbol(self) -> Mapping[str, Symbol]:
        """Symbols by name."""
        return {item.name: item for item in self.symbols}

    def where(self, queue: int, position: int) -> str:
        """Return how messages name an instruction: queue, position and operator."""
        stream = self.queues[queue]
        op = stream.instructions[position].op
        operator = "" if op < 0 else f" ({self.operators[op]})"
        return f"{stream.name}[{position}]{operator}"

    def verify(self) -> None:
        """Check units, halts, waits and indices, and all that the machine is known to forbid.

        What instructions do to memory is the simulator's to judge.

        Raises:
            VerifyError: Names the queue and instruction.
        """
        try:
            self.arch.verify()
        except ArchitectureError as error:
            raise VerifyError(f"arch: {error.message}") from None
        verify_spaces(self.arch, self.sizes)
        checks = MachineChecks(self.arch, self.sizes, self.nests)
        names = [(queue.unit, queue.index) for queue in self.queues]
        for number, queue in enumerate(self.queues):
            if names.index((queue.unit, queue.index)) != number:
                raise VerifyError(f"there are two queues {queue.name}")
            _verify_queue(self, number, queue, checks)
        end = 0
        for item in sorted(self.symbols, key=lambda symbol: symbol.address):
            if item.address < end:
                raise VerifyError(f"%{item.name} overlaps its neighbour in dram")
            end = item.address + item.type.bytes
        if end > self.sizes.get(Space.DRAM, 0):
            raise VerifyError(f"symbols end at {end}, dram at {self.sizes.get(Space.DRAM, 0)}")


def _verify_queue(program: Program, number: int, queue: Queue, checks: MachineChecks) -> None:
    limit = program.arch.dma.channels if queue.unit is Unit.DMA else len(program.arch.npus)
    if not 0 <= queue.index < limit:
        raise VerifyError(f"queue {queue.name} does not exist on {program.arch.name}")
    if not queue.instructions or not isinstance(queue.instructions[-1], Halt):
        raise VerifyError(f"queue {queue.name} does not end with halt")
    lengths = [len(other.instructions) for other in program.queues]
    for position, instruction in enumerate(queue.instructions):
        where = f"{queue.name}[{position}]"
        if queue.unit not in UNITS[type(instruction)]:
            raise VerifyError(f"{where}: {type(instruction).__name__} cannot run on {queue.unit}")
        for wait in instruction.waits:
            if not 0 <= wait.queue < len(lengths) or wait.queue == number:
                raise VerifyError(f"{where} waits for queue {wait.queue}")
            if not 1 <= wait.count <= lengths[wait.queue]:
                raise VerifyError(f"{where} waits for {wait.count} of queue {wait.queue}")
        if not -1 <= instruction.op < len(program.operators):
            raise VerifyError(f"{where} works for operator {instruction.op}")
        try:
            checks.verify(queue.unit, queue.index, instruction)
        except VerifyError as error:
            raise VerifyError(f"{program.where(number, position)}: {error.message}") from None

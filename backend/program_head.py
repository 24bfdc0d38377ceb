"""All of a program but its instructions, as one value."""

from dataclasses import dataclass

from ..ir.arch import Architecture
from ..ir.isa import AnyInstruction, Unit
from ..ir.mapping import LoopNest
from ..ir.program import Program, Queue, SpaceSize, Symbol


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueHead:
    """A queue without its instructions.

    Attributes:
        unit: Kind of engine.
        index: DMA channel, or the NPU it belongs to.
        length: Number of instructions.
    """

    unit: Unit
    index: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramHead:
    """A program without its instructions; fields as in ``Program``."""

    name: str
    arch: Architecture
    spaces: tuple[SpaceSize, ...]
    symbols: tuple[Symbol, ...]
    operators: tuple[str, ...]
    nests: tuple[LoopNest, ...]
    queues: tuple[QueueHead, ...]


def head_of(program: Program) -> ProgramHead:
    """Return a program's head."""
    return ProgramHead(
        name=program.name,
        arch=program.arch,
        spaces=program.spaces,
        symbols=program.symbols,
        operators=program.operators,
        nests=program.nests,
        queues=tuple(
            QueueHead(unit=queue.unit, index=queue.index, length=len(queue.instructions))
            for queue in program.queues
        ),
    )


def join(head: ProgramHead, streams: list[tuple[AnyInstruction, ...]]) -> Program:
    """Return the program of a head and the instructions of its queues."""
    return Program(
        name=head.name,
        arch=head.arch,
        spaces=head.spaces,
        symbols=head.symbols,
        operators=head.operators,
        nests=head.nests,
        queues=tuple(
            Queue(unit=queue.unit, index=queue.index, instructions=stream)
            for queue, stream in zip(head.queues, streams, strict=True)
        ),
    )

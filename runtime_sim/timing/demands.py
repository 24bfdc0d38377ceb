"""What each instruction asks for: start-up, engine time, and bytes through the machine's ports.

==========================  ==========  =====================================  ==================
instruction                 lead        least                                  ports
==========================  ==========  =====================================  ==================
Sync, Halt                  0           1                                      none
Copy, Fill, dram on a side  dma.startup 0                                      of each side
Copy, Fill on chip          4           0                                      of each side
Mac                         0           the steps of its loops                 scratchpad; links
                                                                               and memories of
                                                                               the array
vector instructions         startup     ``ceil(elements * lane cycles /        scratchpad
                                        lanes)``
==========================  ==========  =====================================  ==================

Elements are those of the output, of the input for ``Reduce``. Bytes are those that the ledger
counts, so that no instruction moves more than its ports let through. What goes to or comes from a
memory of the array crosses the links above it as its layout says, and takes that memory's port as
long as the part of one instance does.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...ir.errors import SimulationError
from ...ir.isa.instructions import (
    Activate,
    AnyInstruction,
    Binary,
    Copy,
    Fill,
    Halt,
    Mac,
    Pool,
    Space,
    Sync,
    Unit,
)
from ...ir.isa.program import Program, Queue
from ...ir.operators.functions import FUNCTIONS, PAIRS
from ..accesses import ByteTouch, Way, touches
from ..array.arrays import Arrays
from ..array.counts import Side
from .ports import PortTable, scratchpad_owners, side

_ON_CHIP_STARTUP = 4
"""Cycles before the first byte of a copy that does not touch off-chip memory [cycle]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The time that an instruction needs, and the bytes that it moves through ports.

    Alone it takes ``fill + lead + max(least, bytes / bandwidth of every port) + drain`` cycles,
    the maximum rounded up. The middle part is its *data phase*: only there it loads ports.

    Attributes:
        lead: Start-up before the first byte moves; loads no port [cycle].
        least: What its own engine needs for the data phase [cycle].
        demands: Bytes that it moves through a port, as (port number, bytes) pairs, one per port.
        fill: Of a ``Mac``: from issue until operands stand at the array; hidden behind the
            instruction before it [cycle].
        drain: Of a ``Mac``: from the end of the data phase to retirement; hidden behind the
            instruction after it [cycle].
    """

    lead: int = 0
    least: int = 0
    demands: tuple[tuple[int, int], ...] = ()
    fill: int = 0
    drain: int = 0

    def alone(self, ports: PortTable) -> int:
        """Return how long it takes where nothing else runs [cycle]."""
        moved = (ports.cycles(port, size) for port, size in self.demands)
        return self.lead + self.fill + max((self.least, *moved)) + self.drain


class Demands:
    """The work of every instruction of a program's queues.

    Attributes:
        program: Whose instructions.
        ports: The ports that demands are for.
    """

    def __init__(self, program: Program, ports: PortTable, arrays: Arrays) -> None:
        self.program = program
        self._arch = program.arch
        self._arrays = arrays
        self.ports = ports
        self._array_work: dict[tuple[int, int, bool], Demand] = {}
        self._paths = [_paths(program, queue, ports) for queue in program.queues]

    def queue(self, number: int) -> list[Demand]:
        """Return what each instruction of a queue asks for.

        Raises:
            SimulationError: An access has no shape; says where.
        """
        found: list[Demand] = []
        for position, instruction in enumerate(self.program.queues[number].instructions):
            try:
                found.append(self.work(number, instruction))
            except SimulationError as error:
                where = self.program.where(number, position)
                raise SimulationError(f"{where}: {error.message}") from error
        return found

    def work(self, queue: int, instruction: AnyInstruction) -> Demand:
        """Return what an instruction of a queue asks for."""
        match instruction:
            case Sync() | Halt():
                return Demand(least=1)
            case Mac():
                return self._mac(queue, instruction)
            case Copy() | Fill():
                touched = touches(instruction)
                off_chip = any(touch.access.space is Space.DRAM for touch in touched)
                lead = self._arch.dma.startup if off_chip else _ON_CHIP_STARTUP
                inside = self._inside(queue, instruction)
                return Demand(lead=lead, demands=self._demands(queue, touched, inside))
            case _:
                vector = self._arch.vector
                busy = math.prod(instruction.shape) * lane_cycles(instruction)
                return Demand(
                    lead=vector.startup,
                    least=-(-busy // vector.lanes),
                    demands=self._demands(
                        queue, touches(instruction), self._inside(queue, instruction)
                    ),
                )

    def _mac(self, queue: int, mac: Mac) -> Demand:
        """Return the work of a ``Mac``, the same for all with its loops on this queue."""
        key = queue, mac.nest, mac.accumulate
        if key not in self._array_work:
            npu = self.program.queues[queue].index
            run = self._arrays.run(mac.nest, npu, accumulate=mac.accumulate)
            moved: dict[int, int] = {}
            for (place, side), amount in run.busiest.items():
                for port, part in self._array_ports(queue, npu, place, side, amount):
                    moved[port] = moved.get(port, 0) + part
            self._array_work[key] = Demand(
                least=run.steps,
                demands=tuple(sorted(moved.items())),
                fill=run.fill,
                drain=run.drain,
            )
        return self._array_work[key]

    def _array_ports(
        self, queue: int, npu: int, place: str, way: Side, amount: Fraction
    ) -> Iterator[tuple[int, int]]:
        """Yield the ports that bytes of the array take, and how many each."""
        if place == self._arch.scratchpad:
            ports = self._paths[queue].get((Space.GB, Way(way.value)), ())
            yield from ((port, math.ceil(amount / len(ports))) for port in ports)
            return
        port = self.ports.inside(self._arch, npu, place, way.value)
        if port is not None:
            yield port, math.ceil(amount)

    def _inside(self, queue: int, instruction: AnyInstruction) -> Mapping[int, int]:
        """Return what a copy, or finishing sums, loads of the links and memories of an array."""
        moved = self._arrays.moved(instruction)
        if moved is None:
            return {}
        across, at_memory = (Side.DOWN, Side.WRITE) if moved.inwards else (Side.UP, Side.READ)
        loads = [(moved.spread.level, at_memory, Fraction(moved.spread.part))]
        loads += [(link.fanout, across, link.busiest) for link in moved.spread.links]
        found: dict[int, int] = {}
        for place, way, amount in loads:
            found |= dict(self._array_ports(queue, moved.npu, place, way, amount))
        return found

    def _demands(
        self, queue: int, touched: Sequence[ByteTouch], inside: Mapping[int, int]
    ) -> tuple[tuple[int, int], ...]:
        paths = self._paths[queue]
        moved: Counter[int] = Counter(inside)
        for touch in touched:
            ports = paths.get((touch.access.space, touch.way), ())
            for port in ports:
                moved[port] += -(-touch.region.bytes // len(ports))
        return tuple(sorted(moved.items()))


def _paths(
    program: Program, queue: Queue, ports: PortTable
) -> dict[tuple[Space, Way], tuple[int, ...]]:
    """Return the ports over which a queue's bytes spread evenly, per space and direction.

    An NPU has its own ports of the scratchpad, or shares banks with all; a DMA engine spreads
    over all that there are.
    """
    arch = program.arch
    owners = scratchpad_owners(arch)
    if len(owners) > 1 and queue.unit is not Unit.DMA:
        owners = (owners[queue.index],)
    levels = ((Space.DRAM, arch.off_chip, ("",)), (Space.GB, arch.scratchpad_level, owners))
    return {
        (space, way): tuple(
            number
            for owner in names
            if (number := ports.number(owner + side(level, way))) is not None
        )
        for space, level, names in levels
        for way in Way
    }


def lane_cycles(instruction: AnyInstruction) -> int:
    """Return the lane cycles per element of a vector instruction [cycle].

    What its function costs as the instruction set says, the slower one where there are two; for a
    pool one per tap, and one for all else.
    """
    match instruction:
        case Activate(act=act):
            return FUNCTIONS[act].cycles
        case Binary(kind=kind, act=act):
            return max(PAIRS[kind].cycles, FUNCTIONS[act].cycles)
        case Pool(kernel=kernel):
            return math.prod(kernel)
        case _:
            return 1

"""What a simulation finds: outputs, time, traffic and energy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..ir.isa.instructions import Unit
from ..ir.isa.program import Program, Symbol, SymbolKind
from ..ir.mesh_report import MeshReport
from ..ir.workload import Operand
from .functional.machine import NUMPY_TYPES

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class LevelTraffic:
    """Bytes of one operand that a memory level was read and written."""

    level: str
    operand: Operand
    read: int
    written: int


@dataclass(frozen=True, slots=True)
class UnitBusy:
    """Cycles that queues of one kind worked, all queues together."""

    unit: Unit
    cycles: int


@dataclass(frozen=True, slots=True)
class OffChipTraffic:
    """Bytes moved from and to off-chip memory for one kind of tensor."""

    kind: SymbolKind
    read: int
    written: int


@dataclass(frozen=True, slots=True)
class PortStall:
    """Cycles that instructions took longer than alone because others used a port, too."""

    port: str
    cycles: int


@dataclass(frozen=True, slots=True)
class LevelEnergy:
    """Energy of the accesses to one memory level [pJ]."""

    level: str
    pj: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Where energy goes [pJ].

    Attributes:
        levels: Accesses to each memory level.
        compute: MACs, padded ones included.
        network: On-chip network.
        vector: Vector units.
    """

    levels: tuple[LevelEnergy, ...] = ()
    compute: float = 0.0
    network: float = 0.0
    vector: float = 0.0

    @property
    def total(self) -> float:
        """Sum of all [pJ]."""
        return sum(item.pj for item in self.levels) + self.compute + self.network + self.vector


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorAccount:
    """What one operator cost.

    Attributes:
        name: Name of the operator; empty for instructions that work for none.
        first_cycle: Start of its first instruction.
        last_cycle: Retirement of its last; 0 if it has none.
        instructions: How many it has.
        macs: Multiply-accumulates, without padding.
        busy: Cycles per kind of unit.
        off_chip: Bytes per kind of tensor.
        traffic: Bytes per memory level and operand, all NPUs together.
        energy: Energy.
        stalls: Cycles beyond those that each instruction takes alone, summed over instructions,
            by the port that they shared; by name.
    """

    name: str
    first_cycle: int
    last_cycle: int
    instructions: int
    macs: int
    busy: tuple[UnitBusy, ...]
    off_chip: tuple[OffChipTraffic, ...]
    traffic: tuple[LevelTraffic, ...]
    energy: Energy
    stalls: tuple[PortStall, ...] = ()

    @property
    def cycles(self) -> int:
        """From its first instruction's start to its last one's retirement."""
        return self.last_cycle - self.first_cycle

    @property
    def off_chip_bytes(self) -> int:
        """Bytes read from and written to off-chip memory."""
        return sum(item.read + item.written for item in self.off_chip)


@dataclass(frozen=True, slots=True)
class QueueTimeline:
    """When the instructions of one queue started and retired [cycle].

    On ``mx`` an instruction starts when it begins to compute, and may do so before the one before
    has retired.
    """

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    @property
    def shown_ends(self) -> npt.NDArray[np.int64]:
        """Where pictures let each instruction end: where the next one starts, or before [cycle]."""
        return np.minimum(self.ends, np.append(self.starts[1:], self.ends[-1:]))


@dataclass(frozen=True, kw_only=True)
class SimulationResult:
    """What a simulation finds.

    Attributes:
        program: What ran.
        outputs: Output tensors by name.
        cycles: From start to the last retirement.
        operators: One account for each of ``Program.operators``, in that order.
        overhead: Account of instructions that work for no operator.
        total: All accounts together.
        stored: Names of the tensors of which at least one byte was written off chip.
        timelines: One per queue, if a trace was asked for.
        dram: Off-chip memory after the run.
        mesh: What the mesh was used for, where transfers were timed over it.
    """

    program: Program = field(repr=False)
    outputs: Mapping[str, Array]
    cycles: int
    operators: tuple[OperatorAccount, ...]
    overhead: OperatorAccount
    total: OperatorAccount
    stored: frozenset[str]
    timelines: tuple[QueueTimeline, ...] | None
    dram: npt.NDArray[np.uint8] = field(repr=False)
    mesh: MeshReport | None = None

    @cached_property
    def energy_pj(self) -> float:
        """Energy of the run [pJ]."""
        return self.total.energy.total

    def tensor(self, name: str) -> Array:
        """Return what off-chip memory holds for a tensor after the run.

        Raises:
            KeyError: The program has no such symbol.
        """
        return read_symbol(self.dram, self.program.symbol[name])


def read_symbol(dram: npt.NDArray[np.uint8], symbol: Symbol) -> Array:
    """Return a copy of a tensor in off-chip memory."""
    content = dram[symbol.address : symbol.address + symbol.type.bytes]
    return content.copy().view(NUMPY_TYPES[symbol.type.dtype]).reshape(symbol.type.shape)

"""Why an operator costs what it costs, and what one changed number of the machine would save."""

from dataclasses import dataclass

from ...ir.proof import Scope
from ...passes.scheduling.fusion.borders import Border
from ..report.binding import Binding, BusyShare
from .alone import OperatorCost


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What the tiles of a loop nest take of one instance of a memory.

    Attributes:
        level: The memory.
        bytes: What they take; less than half of a double-buffered memory [byte].
        usable: What they may take [byte].
    """

    level: str
    bytes: int
    usable: int


@dataclass(frozen=True, slots=True)
class FanoutUse:
    """How many children of a fan-out a loop nest uses, of how many."""

    fanout: str
    used: int
    size: int


@dataclass(frozen=True, slots=True)
class PortWait:
    """How long instructions took longer since they shared a port, summed over them [cycle]."""

    port: str
    cycles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NestUse:
    """What bounds the loop nest of the member with most MACs, in the cost model.

    Attributes:
        operator: The member.
        slowest: The port that its steps wait for, as ``gb.read``; or ``compute``.
        memories: Use of every bounded memory beneath off-chip that keeps some of it.
        fanouts: Use of every fan-out.
        gap: See :class:`~accnn.ir.report.OperatorReport`.
        scope: The nests that the gap holds for.
    """

    operator: str
    slowest: str
    memories: tuple[MemoryUse, ...]
    fanouts: tuple[FanoutUse, ...]
    gap: float | None
    scope: Scope | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The same operator by itself on a machine with one number changed, compiled anew.

    Attributes:
        what: The number, as ``MEMORY.capacity``.
        before: Its value.
        after: Its value in the changed machine.
        cost: What the operator takes there; ``None`` where it cannot be compiled.
        reason: Why it cannot; empty where it can.
    """

    what: str
    before: float
    after: float
    cost: OperatorCost | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why an operator costs what it costs.

    Attributes:
        operator: The operator, or the group of operators that run together.
        kinds: Of its members, in order.
        nodes: ONNX nodes that they come from.
        folded: The ONNX node that was asked for, where it has no operator of its own; else empty.
        arch: Name of the machine.
        in_network: What it took in the run of the network; ``None`` where that did not run.
        alone: What it takes by itself, its operands off chip; the following are of that run.
        bound_by: The kind of engine that is busiest.
        busy: Part of the time that engines of each kind work.
        macs: Multiply-accumulates.
        macs_cycles: What they take at least, on all of the array [cycle].
        compulsory_bytes: Operands and result, each moved once [byte].
        compulsory_cycles: What these take at least [cycle]; 0 where nothing bounds it.
        nest: What bounds the loop nest; ``None`` without one.
        waits: For ports, the longest first.
        what_ifs: The operator on changed machines, the fastest first.
        borders: Why the step before it in the plan and the next one do not run with it as a group;
            empty where groups were not asked for.
    """

    operator: str
    kinds: tuple[str, ...]
    nodes: tuple[str, ...]
    folded: str
    arch: str
    in_network: OperatorCost | None
    alone: OperatorCost
    bound_by: Binding
    busy: tuple[BusyShare, ...]
    macs: int
    macs_cycles: int
    compulsory_bytes: int
    compulsory_cycles: int
    nest: NestUse | None
    waits: tuple[PortWait, ...]
    what_ifs: tuple[WhatIf, ...]
    borders: tuple[Border, ...]

    @property
    def cycles_lower_bound(self) -> int:
        """Roofline of the operator by itself [cycle]."""
        return max(self.macs_cycles, self.compulsory_cycles)

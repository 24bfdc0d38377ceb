"""What an order of loops is searched for, and its translation into arrays and back."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .....ir.arch import MemoryLevel
from .....ir.errors import InfeasibleError, Shortage
from .....ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from .....ir.workload import DIMS, OPERANDS, REDUCTION, RELEVANT, Dim, Operand
from ....analysis.zigzag import stored_input, zigzag_elements
from ...problem import Objective, OfProblem, Rules
from .coefficients import coefficients
from .kernel import records
from .kernel.records import Fields, MachineRecord, machine_of

_OBJECTIVES = {
    Objective.ENERGY: records.ENERGY,
    Objective.LATENCY: records.LATENCY,
    Objective.EDP: records.EDP,
}


@dataclass(frozen=True, kw_only=True)
class UnrolledProblem(OfProblem):
    """A problem with its spatial mapping: an order of loops is wanted.

    Attributes:
        spatial: The unrolled loops.
        extents: Extents of all dimensions with padding; those of the workload, rounded up to
            multiples of the unrolling, if ``None``.
        greedy: Whether memory is allocated by LOMA's rule instead of exactly.
    """

    spatial: tuple[SpatialLoop, ...]
    extents: Mapping[Dim, int] | None = None
    greedy: bool = False

    @cached_property
    def temporal(self) -> Mapping[Dim, int]:
        """Steps that are left to temporal loops, rounded up."""
        unrolled = self.unrolled([fanout.name for fanout in self.arch.fanouts])
        extents = self.workload.dims if self.extents is None else self.extents
        return {dim: math.ceil(extents[dim] / unrolled[dim]) for dim in DIMS}

    @cached_property
    def steps(self) -> int:
        """Steps of all temporal loops [cycle]."""
        return math.prod(self.temporal.values())

    def unrolled(self, fanouts: Sequence[str]) -> Mapping[Dim, int]:
        """Return the unrolled extents over some fan-outs."""
        found = dict.fromkeys(DIMS, 1)
        for loop in self.spatial:
            if loop.fanout in fanouts:
                found[loop.dim] *= loop.extent
        return found

    def beneath(self, level: MemoryLevel) -> Mapping[Dim, int]:
        """Return the unrolled extents between a memory and the MACs."""
        return self.unrolled([fanout.name for fanout in self.arch.fanouts_beneath(level.name)])

    def above(self, level: MemoryLevel) -> Mapping[Dim, int]:
        """Return the unrolled extents between the outermost memory and another."""
        return self.unrolled([fanout.name for fanout in self.arch.fanouts_above(level.name)])

    @cached_property
    def bounded(self) -> tuple[MemoryLevel, ...]:
        """On-chip memories, innermost first."""
        return tuple(reversed(self.arch.levels[1:]))

    @cached_property
    def chains(self) -> tuple[tuple[MemoryLevel, ...], ...]:
        """Memories of W, I and O, innermost first; the last is where the operand comes from."""
        return tuple(self.chain(operand)[::-1] for operand in OPERANDS)

    def nest(self, order: Sequence[Loop], starts: Sequence[Sequence[int]]) -> LoopNest:
        """Build the nest of an order and the starts of its tiles.

        Args:
            order: Temporal loops, outermost first.
            starts: Of W, I and O, along their chains; the source may be left out.
        """
        off_chip = self.arch.off_chip.name
        allocations: list[Allocation] = []
        for operand, chain, own in zip(OPERANDS, self.chains, starts, strict=True):
            allocations.append(Allocation(operand, off_chip, 0))
            inner = list(zip(chain[:-1], own, strict=False))
            allocations += [
                Allocation(operand, level.name, int(start)) for level, start in reversed(inner)
            ]
        return LoopNest(
            workload=self.workload,
            temporal=tuple(order),
            spatial=tuple(loop for loop in self.spatial if loop.extent > 1),
            allocations=tuple(allocations),
        )

    @cached_property
    def smallest(self) -> LoopNest:
        """The nest whose tiles hold no temporal loop: if it does not fit, nothing does.

        Loops of sums stand innermost, so that outputs can be finished beneath the scratchpad.
        """
        loops = [Loop(dim, self.temporal[dim]) for dim in DIMS if self.temporal[dim] > 1]
        loops.sort(key=lambda loop: loop.dim in REDUCTION)
        starts = [[len(loops)] * (len(chain) - 1) for chain in self.chains]
        if Operand.O in self.resident and starts[2]:
            starts[2][-1] = sum(loop.dim not in REDUCTION for loop in loops)
        return self.nest(loops, starts)

    def shortage(self) -> Shortage | None:
        """Return what one step of the unrolled loops lacks capacity for, ``None`` if it fits."""
        for level in self.bounded:
            terms = self.smallest.bytes_at(self.arch, level.name)
            demand, usable = sum(amount for _, amount in terms), level.usable
            if usable is not None and demand > usable:
                return Shortage(resource=level.name, demand=demand, capacity=usable, terms=terms)
        return None

    def check(self) -> None:
        """Check that an order can exist.

        Raises:
            InfeasibleError: The unrolled loops alone overflow a memory.
        """
        shortage = self.shortage()
        if shortage is not None:
            raise InfeasibleError(
                "one step of the unrolled loops does not fit",
                shortage=shortage,
                hint=f"unroll less beneath {shortage.resource}, or enlarge it",
            )

    @cached_property
    def machine(self) -> MachineRecord:
        """The record of the compiled search."""
        fields: Fields = {
            "objective": _OBJECTIVES[self.problem.objective],
            "policy": records.GREEDY if self.greedy else records.EXACT,
            "counting": records.ACCNN if self.problem.rules is Rules.ACCNN else records.ZIGZAG,
            "steps": float(self.steps),
        }
        timed = self.problem.objective is not Objective.ENERGY
        if timed or self.problem.rules is Rules.ACCNN:
            fields |= self._costs(timed)
        if self.problem.rules is not Rules.ACCNN:
            fields |= self._zigzag()
        return machine_of(fields | self._memories() | self._footprints())

    def _costs(self, timed: bool) -> Fields:
        depth = max(len(chain) for chain in self.chains)
        model = coefficients(self.smallest, self.arch, self.resident, depth, timed=timed)
        return {
            "fixed": model.fixed,
            "per_visit": model.per_visit,
            "per_tile": model.per_tile,
            "couple": model.couple,
            "ports": len(model.port_fixed),
            "port_fixed": model.port_fixed,
            "port_visit": model.port_visit,
            "port_tile": model.port_tile,
            "first_tile": model.first_tile,
            "place": self._table(lambda _x, _c, level: self._place(level), np.int64),
        }

    def _memories(self) -> Fields:
        member = self._members()
        shared = np.flatnonzero((member >= 0).sum(axis=1) > 1)
        joint = np.asarray((member[shared] >= 0).any(axis=0))
        with_joint = np.flatnonzero((member[:, joint] >= 0).any(axis=1))
        return {
            "even": self.problem.even,
            "chain": np.array([len(chain) for chain in self.chains]),
            "memories": len(member),
            "member": member,
            "usable": np.array([level.usable or 0 for level in self.bounded]),
            "joint": joint,
            "first": int(shared[0]) if len(shared) else len(member),
            "last": int(with_joint[-1]) if len(shared) else -1,
        }

    def _footprints(self) -> Fields:
        return {
            "loose": self.problem.rules is Rules.ZIGZAG,
            "must_finish": Operand.O in self.resident,
            "whole": np.array([self.temporal[dim] for dim in DIMS]),
            "beneath": self._beneath(),
            "relevant": np.array([[dim in RELEVANT[x] for dim in DIMS] for x in OPERANDS]),
            "bits": np.array([self.workload.bits(x) for x in OPERANDS]),
            "psum_bits": self.arch.accumulator_bits,
            "window": np.array([*self.workload.stride, *self.workload.dilation]),
            "stored": np.array(stored_input(self.workload)),
            "split_sum": self._table(lambda _x, _c, level: self._splits_sum(level), np.bool_),
        }

    def _zigzag(self) -> Fields:
        *at_macs, sums = (self._zigzag_at_macs(x) for x in OPERANDS)
        return {
            "fixed": self.workload.macs * self.arch.mac_energy + self.steps * sums,
            "couple": np.zeros((1, 1)),
            "at_macs": np.array(at_macs),
            "across": self._table(self._across, np.int64),
            "used": self._table(lambda _x, _c, level: self._used(level), np.int64),
            "word": self._table(lambda _x, _c, level: level.word_bits, np.int64),
            "read": self._table(lambda _x, _c, level: level.read_energy, np.float64),
            "write": self._table(lambda _x, _c, level: level.write_energy, np.float64),
        }

    def _zigzag_at_macs(self, operand: Operand) -> float:
        """Return what one change of the element at the MACs costs in ZigZag's counting [pJ]."""
        level = self.chains[OPERANDS.index(operand)][0]
        bits, each = self.workload.bits(operand), level.read_energy
        if operand is Operand.O:
            each = level.write_energy
            if self._splits_sum(level) or any(self.temporal[dim] > 1 for dim in REDUCTION):
                bits, each = self.arch.accumulator_bits, each + level.read_energy
        words = math.ceil(bits * self._across(operand, 0, level) / level.word_bits)
        return words * self._used(level) * each

    def _table(
        self, of: Callable[[Operand, int, MemoryLevel], float], kind: type[np.generic]
    ) -> np.ndarray:
        """Tabulate a figure over operands and the memories of their chains."""
        depth = max(len(chain) for chain in self.chains)
        found = np.zeros((len(OPERANDS), depth), kind)
        for x, (operand, chain) in enumerate(zip(OPERANDS, self.chains, strict=True)):
            for c, level in enumerate(chain):
                found[x, c] = of(operand, c, level)
        return found

    def _beneath(self) -> np.ndarray:
        depth = max(len(chain) for chain in self.chains)
        found = np.ones((len(OPERANDS), depth, len(DIMS)), np.int64)
        for x, chain in enumerate(self.chains):
            for c, level in enumerate(chain):
                found[x, c] = list(self.beneath(level).values())
        return found

    def _members(self) -> np.ndarray:
        found = np.full((len(self.bounded), len(OPERANDS)), -1, np.int64)
        for x, chain in enumerate(self.chains):
            for c, level in enumerate(chain[:-1]):
                found[self.bounded.index(level), x] = c
        return found

    def _place(self, level: MemoryLevel) -> int:
        return len(self.arch.levels) - 1 - self.arch.index(level.name)

    def _across(self, operand: Operand, c: int, level: MemoryLevel) -> int:
        inside = self.unrolled([fanout.name for fanout in self.arch.fanouts])
        if c > 0:
            inside = self.above(self.chains[OPERANDS.index(operand)][c - 1])
        stored = stored_input(self.workload)
        lower = zigzag_elements(self.workload, operand, inside, stored)
        return round(lower / zigzag_elements(self.workload, operand, self.above(level), stored))

    def _used(self, level: MemoryLevel) -> int:
        return math.prod(self.above(level).values())

    def _splits_sum(self, level: MemoryLevel) -> bool:
        return any(self.above(level)[dim] > 1 for dim in REDUCTION)

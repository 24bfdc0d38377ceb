"""Workload, spatial mapping and accelerator as the arrays that the compiled search reads."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....ir.arch import Architecture, MemoryLevel
from ....ir.errors import InfeasibleError, Shortage
from ....ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from ....ir.workload import DIMS, OPERANDS, REDUCTION, RELEVANT, Dim, Operand, Workload
from ...analysis.zigzag import stored_input, zigzag_elements
from .kernel import ACCNN, ZIGZAG, Machine


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One workload with its spatial mapping on one accelerator: what an order is searched for.

    Attributes:
        workload: What is computed.
        arch: The accelerator.
        spatial: The unrolled loops.
        even: Whether operands of one memory start at the same loop.
        zigzag: Whether energy is counted as ZigZag does.
    """

    workload: Workload
    arch: Architecture
    spatial: tuple[SpatialLoop, ...]
    even: bool = False
    zigzag: bool = False

    @cached_property
    def remainder(self) -> Mapping[Dim, int]:
        """Steps that are left to temporal loops, rounded up."""
        unrolled = self.unrolled(self.arch.fanouts and tuple(f.name for f in self.arch.fanouts))
        return {
            dim: math.ceil(extent / unrolled[dim]) for dim, extent in self.workload.dims.items()
        }

    def unrolled(self, fanouts: Sequence[str]) -> Mapping[Dim, int]:
        """Return the unrolled extents over some fan-outs."""
        found = dict.fromkeys(DIMS, 1)
        for loop in self.spatial:
            if loop.fanout in fanouts:
                found[loop.dim] *= loop.extent
        return found

    def beneath(self, level: str) -> Mapping[Dim, int]:
        """Return the unrolled extents between a memory and the MACs."""
        return self.unrolled([fanout.name for fanout in self.arch.fanouts_beneath(level)])

    def above(self, level: str) -> Mapping[Dim, int]:
        """Return the unrolled extents between the outermost memory and another."""
        return self.unrolled([fanout.name for fanout in self.arch.fanouts_above(level)])

    def chain(self, operand: Operand) -> tuple[MemoryLevel, ...]:
        """Return the memories of an operand, innermost first, the off-chip one last."""
        return tuple(level for level in reversed(self.arch.levels) if operand in level.holds)

    @cached_property
    def bounded(self) -> tuple[MemoryLevel, ...]:
        """On-chip memories, innermost first."""
        return tuple(reversed(self.arch.levels[1:]))

    def nest(self, order: Sequence[Loop], starts: Sequence[Sequence[int]]) -> LoopNest:
        """Build the nest of an order and the start of every tile.

        Args:
            order: Temporal loops, outermost first.
            starts: Per operand (W, I, O) along its chain.
        """
        allocations = tuple(
            Allocation(operand, level.name, int(start))
            for operand, own in zip(OPERANDS, starts, strict=True)
            for level, start in reversed(list(zip(self.chain(operand), own, strict=False)))
        )
        return LoopNest(
            workload=self.workload,
            temporal=tuple(order),
            spatial=tuple(loop for loop in self.spatial if loop.extent > 1),
            allocations=allocations,
        )

    def check(self) -> None:
        """Raise if the unrolled loops alone overflow a memory.

        Raises:
            InfeasibleError: Names the memory and what each operand asks for.
        """
        nothing_temporal = tuple(Loop(dim, extent) for dim, extent in self.remainder.items())
        starts = [[len(nothing_temporal)] * (len(self.chain(x)) - 1) + [0] for x in OPERANDS]
        nest = self.nest(nothing_temporal, starts)
        for level in self.bounded:
            terms = nest.bytes_at(self.arch, level.name)
            demand, usable = sum(amount for _, amount in terms), level.usable
            if usable is not None and demand > usable:
                raise InfeasibleError(
                    "one step of the unrolled loops does not fit",
                    shortage=Shortage(
                        resource=level.name, demand=demand, capacity=usable, terms=terms
                    ),
                    hint=f"unroll less beneath {level.name}, or enlarge it",
                )

    @cached_property
    def machine(self) -> Machine:
        """The arrays of the compiled search."""
        chains = [self.chain(operand) for operand in OPERANDS]
        deepest = max(len(chain) for chain in chains)

        def table(of: "_PerMemory", kind: type) -> np.ndarray:
            found = np.zeros((len(OPERANDS), deepest), kind)
            for x, (operand, chain) in enumerate(zip(OPERANDS, chains, strict=True)):
                for c, level in enumerate(chain):
                    found[x, c] = of(operand, chain[c - 1] if c else None, level)
            return found

        beneath = np.ones((len(OPERANDS), deepest, len(DIMS)), np.int64)
        member = np.full((len(self.bounded), len(OPERANDS)), -1, np.int64)
        for x, chain in enumerate(chains):
            for c, level in enumerate(chain):
                beneath[x, c] = list(self.beneath(level.name).values())
                if level in self.bounded:
                    member[self.bounded.index(level), x] = c
        return Machine(
            counting=ZIGZAG if self.zigzag else ACCNN,
            even=self.even,
            chain=np.array([len(chain) for chain in chains], np.int64),
            member=member,
            usable=np.array([level.usable for level in self.bounded], np.int64),
            beneath=beneath,
            across=table(self._across, np.int64),
            used=table(lambda _x, _l, level: self._used(level), np.int64),
            word=table(lambda _x, _l, level: level.word_bits, np.int64),
            read=table(lambda _x, _l, level: level.read_energy, np.float64),
            write=table(lambda _x, _l, level: level.write_energy, np.float64),
            split_sum=table(lambda _x, _l, level: self._splits_sum(level), np.bool_),
            relevant=np.array([[dim in RELEVANT[x] for dim in DIMS] for x in OPERANDS]),
            bits=np.array([self.workload.bits(x) for x in OPERANDS], np.int64),
            psum_bits=self.arch.accumulator_bits,
            window=np.array([*self.workload.stride, *self.workload.dilation], np.int64),
            stored=np.array(stored_input(self.workload), np.int64),
        )

    def _across(self, operand: Operand, lower: MemoryLevel | None, upper: MemoryLevel) -> int:
        inside = self.unrolled([f.name for f in self.arch.fanouts])
        if lower is not None:
            inside = self.above(lower.name)
        stored = stored_input(self.workload)
        outside = self.above(upper.name)
        return round(
            zigzag_elements(self.workload, operand, inside, stored)
            / zigzag_elements(self.workload, operand, outside, stored)
        )

    def _used(self, level: MemoryLevel) -> int:
        return math.prod(self.above(level.name).values())

    def _splits_sum(self, level: MemoryLevel) -> bool:
        return any(self.above(level.name)[dim] > 1 for dim in REDUCTION)

"""What a mapper is asked: one workload on one machine, and what counts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import overload

from ...ir.arch import Architecture, MemoryLevel
from ...ir.errors import VerifyError
from ...ir.mapping import LoopNest, SpatialLoop
from ...ir.workload import Operand, Workload
from ..analysis.batches.batch import BatchCost, evaluate_batch
from ..analysis.batches.nest_batch import Floats, batch_nests
from ..analysis.bounds import cycles_lower_bound, energy_lower_bound
from ..analysis.cost import CostReport, evaluate
from ..analysis.mesh_load import mesh_load, network_cycles


class Objective(StrEnum):
    """What a mapper minimises.

    ``latency-network`` is the latency over the mesh, in closed form
    (:func:`~accnn.passes.analysis.mesh_load.network_cycles`). Searches do not know it:
    :meth:`~accnn.passes.mapping.mapper.Mapper.map` has it choose between what they find for others.
    """

    LATENCY = "latency"
    ENERGY = "energy"
    EDP = "edp"
    NETWORK = "latency-network"

    @overload
    def of(self, cost: CostReport) -> float: ...

    @overload
    def of(self, cost: BatchCost) -> Floats: ...

    def of(self, cost: CostReport | BatchCost) -> float | Floats:
        """Return the figure of a nest, or of many, without a mesh: [cycle], [pJ], [pJ * cycle]."""
        match self:
            case Objective.LATENCY | Objective.NETWORK:
                return cost.cycles
            case Objective.ENERGY:
                return cost.energy_pj
            case Objective.EDP:
                return cost.edp


SEARCHED = (Objective.LATENCY, Objective.ENERGY, Objective.EDP)
"""What searches minimise."""


class Rules(StrEnum):
    """Whose rules count while searching, for mappers that know others than ours (SALSA, LOMA).

    ``zigzag`` is for comparison with ZigZag's figures: its energies, and its idea of capacity, by
    which outputs take the width at which they leave a memory, and padding takes none. Nests found
    so may fail :meth:`~accnn.ir.mapping.LoopNest.verify`. ``zigzag-sound`` has the energies, but
    the capacity that partial sums really need. Latency is ours under all rules.
    """

    ACCNN = "accnn"
    ZIGZAG = "zigzag"
    ZIGZAG_SOUND = "zigzag-sound"


@dataclass(frozen=True, kw_only=True)
class MappingProblem:
    """The question that every mapper answers.

    Attributes:
        workload: What is computed.
        arch: The machine that one NPU sees.
        workspace: Bytes of the scratchpad that tiles may take, both halves of the double buffer
            together; ``None`` leaves the architecture's own figure [byte].
        resident: Operands that lie whole in the scratchpad, outside of the workspace. Nests do not
            allocate them there.
        objective: What to minimise.
        kept_weights: Of what a stripe of a fused group makes of an operator: bytes of the weights'
            memory that its weights may take from stripe to stripe. ``None``: it is no such part.
        windows: Rows and columns of the windows of a pool that finishes tiles of the result; whole
            ones are best.
        even: Whether all operands of a level must start their tiles at the same loop.
        padding: Whether extents may be padded where that pays.
        rules: Whose rules count; mappers that know only ours disregard it.
        spatial: The unrolled loops, where these are given; mappers that choose them themselves
            disregard it.
        seed: Of mappers that draw at random.
        evaluations: Of searches: how many mappings to look at; ``None`` is the mapper's default.
    """

    workload: Workload
    arch: Architecture
    workspace: int | None = None
    resident: frozenset[Operand] = frozenset()
    objective: Objective = Objective.LATENCY
    kept_weights: int | None = None
    windows: tuple[int, int] = (1, 1)
    even: bool = False
    padding: bool = True
    rules: Rules = Rules.ACCNN
    spatial: tuple[SpatialLoop, ...] | None = None
    seed: int = 0
    evaluations: int | None = None

    @cached_property
    def machine(self) -> Architecture:
        """The machine with only the workspace of its scratchpad, used by halves."""
        if self.workspace is None:
            return self.arch
        level = replace(self.arch.scratchpad_level, capacity=self.workspace, double_buffered=True)
        levels = (level if item.name == level.name else item for item in self.arch.levels)
        return replace(self.arch, levels=tuple(levels))

    @cached_property
    def held(self) -> frozenset[Operand]:
        """The resident operands that nests do without in the scratchpad; others are streamed.

        Sums need a place until they are finished: where no memory beneath the scratchpad holds
        them, their tiles lie in the workspace, though the result lies elsewhere.
        """
        inner = self.arch.levels[self.arch.index(self.arch.scratchpad) + 1 :]
        are_inside = any(Operand.O in level.holds for level in inner)
        found = self.resident.intersection(self.arch.scratchpad_level.holds)
        return found if are_inside else found - {Operand.O}

    @cached_property
    def needs_workspace(self) -> bool:
        """Whether tiles of any operand lie in the workspace."""
        return not self.held.issuperset(self.arch.scratchpad_level.holds)

    @property
    def bypassed(self) -> frozenset[tuple[Operand, str]]:
        """The allocations that resident operands do without."""
        return frozenset((operand, self.arch.scratchpad) for operand in self.held)

    @cached_property
    def cycles_bound(self) -> float:
        """See :func:`~accnn.passes.analysis.bounds.cycles_lower_bound` [cycle]."""
        return cycles_lower_bound(self.workload, self.machine, self.held)

    @cached_property
    def energy_bound(self) -> float:
        """See :func:`~accnn.passes.analysis.bounds.energy_lower_bound` [pJ]."""
        return energy_lower_bound(self.workload, self.machine, self.held)

    @property
    def bound(self) -> float:
        """What no nest can beat, by simple counts: [cycle], [pJ] or [pJ * cycle]."""
        match self.objective:
            case Objective.LATENCY | Objective.NETWORK:
                return self.cycles_bound
            case Objective.ENERGY:
                return self.energy_bound
            case Objective.EDP:
                return self.cycles_bound * self.energy_bound

    def cost(self, nest: LoopNest) -> CostReport:
        """Return what a nest costs."""
        return evaluate(nest, self.machine, placement=self.held)

    def value(self, nest: LoopNest) -> float:
        """Return the objective of a nest in the cost model; see ``values``."""
        return self.values((nest,))[0]

    def values(self, nests: Sequence[LoopNest]) -> list[float]:
        """Return the objectives of nests in the cost model: [cycle], [pJ] or [pJ * cycle].

        Args:
            nests: Nests that keep operands in the same memories.

        Raises:
            ArchitectureError: Traffic over a mesh counts, and there is none.
        """
        if self.objective is Objective.NETWORK:
            loads = (mesh_load(nest, self.machine, self.held) for nest in nests)
            return list(map(network_cycles, map(self.cost, nests), loads))
        cost = evaluate_batch(batch_nests(nests), self.machine, placement=self.held)
        return self.objective.of(cost).tolist()

    def check(self, nest: LoopNest) -> None:
        """Check that a nest fits the machine and its resident operands.

        Raises:
            VerifyError: The nest does not compute its workload, or partial sums would come back to
                outputs that lie finished in the scratchpad.
            InfeasibleError: Something does not fit.
        """
        nest.verify(self.machine)
        if self.returns_sums(nest):
            raise VerifyError("partial sums return to outputs that lie in the scratchpad")

    def returns_sums(self, nest: LoopNest) -> bool:
        """Whether partial sums would come back to outputs that lie finished in the scratchpad."""
        if Operand.O not in self.held:
            return False
        inner = [item for item in nest.of(Operand.O) if self.arch.index(item.level) > 0]
        leaves = any(item.level != self.arch.scratchpad for item in inner)
        return leaves and nest.holds_psums(self.machine, self.arch.scratchpad)


@dataclass(frozen=True, kw_only=True)
class OfProblem:
    """What is made for one problem, and looks at its parts.

    Attributes:
        problem: What is mapped.
    """

    problem: MappingProblem

    @property
    def workload(self) -> Workload:
        """What is computed."""
        return self.problem.workload

    @property
    def arch(self) -> Architecture:
        """The machine, its scratchpad cut down to the workspace."""
        return self.problem.machine

    @property
    def resident(self) -> frozenset[Operand]:
        """Operands that lie whole in the scratchpad."""
        return self.problem.held

    def chain(self, operand: Operand) -> tuple[MemoryLevel, ...]:
        """Return the memories that keep an operand, the one it comes from first."""
        levels = self.arch.levels
        if operand in self.resident:
            levels = levels[self.arch.index(self.arch.scratchpad) :]
        return tuple(level for level in levels if operand in level.holds)

"""The mapper ``cosa-paper``: the published program, solved and evaluated as it is."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.mapping import LoopNest
from ....ir.workload import Operand, Workload
from ...mip.model import MipLimits, MipResult, MipStatus, Solver
from ..certificate.paper import PaperFormulation, PaperWeights
from ..mapper import Mapper, MappingResult, MappingStatus
from ..problem import MappingProblem
from ..search.even.space import EvenSpace, even_space

_SHARES = (1.0, 0.5, 0.25, 0.1, 0.02)


@dataclass(frozen=True, kw_only=True)
class CosaPaper(Mapper):
    """The published integer program.

    Attributes:
        name: Spelling on the command line.
        solver: Which solver.
        weights: Of eq. (12); see :func:`calibrated_weights`.
        gap: Relative gap at which the solver may stop; with 0 both solvers give the same nest where
            they prove it.
        nodes: Branch-and-bound nodes per solve.
        seconds: Wall-clock safety net per solve [s].
        moved: Tensors that the loops of the network's level make move again, eq. (9); all if
            ``None``, see :func:`~accnn.passes.mapping.certificate.paper.kept_at_network`.
    """

    name: str = "cosa-paper"
    solver: Solver = Solver.HIGHS
    weights: PaperWeights = PaperWeights()
    gap: float = 0.01
    nodes: int = 2_000
    seconds: float = 60.0
    moved: tuple[Operand, ...] | None = None

    def find(self, problem: MappingProblem) -> MappingResult:
        """Return the published program's nest.

        The result's bound is that of the program, which says nothing about latency or energy: it
        is left out, and the note carries the program's own objective and bound.
        """
        nest, result = self._solve(even_space(problem))
        proven = "proven" if result.status is MipStatus.OPTIMAL else "not proven"
        return MappingResult(
            nest=nest,
            mapper=self.name,
            status=MappingStatus.HEURISTIC,
            objective=problem.value(nest),
            note=f"eq. (12) = {result.objective:z.3f}, bound {result.bound:z.3f}, {proven}",
        )

    def _solve(self, space: EvenSpace) -> tuple[LoopNest, MipResult]:
        """Solve with less and less capacity for inputs until the real tiles fit."""
        limits = MipLimits(gap_rel=self.gap, nodes=self.nodes, seconds=self.seconds)
        last: InfeasibleError | None = None
        for share in _SHARES:
            program = PaperFormulation(space, self.weights, share, self.solver, self.moved)
            result = program.model.solve(limits)
            if not self.gap:
                result = program.model.same_optimum(result, limits)
            if not result.values:
                continue
            nest = program.decode(result.values)
            if space.problem.returns_sums(nest):
                last = InfeasibleError(
                    "the published program knows no outputs that lie in the scratchpad: its "
                    "partial sums return there",
                    hint="map with cosa, or let outputs be streamed",
                )
                continue
            try:
                space.problem.check(nest)
            except InfeasibleError as error:
                last = error
                continue
            return nest, result
        raise last or InfeasibleError("the published program has no solution within its limits")


def calibrated_weights(
    arch: Architecture,
    benchmarks: Sequence[Workload],
    options: Sequence[float] = (0.25, 1.0, 4.0),
    mapper: CosaPaper = CosaPaper(nodes=200, seconds=20.0, gap=0.05),
) -> PaperWeights:
    """Return the weights of eq. (12) that serve some small workloads best on a machine.

    The paper sets the weights "using a micro-benchmark"; here: all combinations of a few
    utilisation and traffic weights (compute has weight one), judged by the latency of the cost
    model, geometric mean over the workloads; ties go to the first.

    Args:
        arch: The machine.
        benchmarks: The workloads.
        options: Weights to combine.
        mapper: Solves each of them, with its matrix B and its limits.
    """
    best: tuple[float, PaperWeights] = (math.inf, PaperWeights())
    for utilization, traffic in itertools.product(options, options):
        weights = PaperWeights(utilization=utilization, traffic=traffic)
        tried = replace(mapper, weights=weights)
        cost = math.fsum(
            math.log(tried.map(MappingProblem(workload=work, arch=arch)).objective)
            for work in benchmarks
        )
        if cost < best[0]:
            best = (cost, weights)
    return best[1]

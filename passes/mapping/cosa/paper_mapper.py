"""The mapper ``cosa-paper``: the published program, solved and evaluated as it is."""

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.mapping import LoopNest
from ....ir.workload import Operand, Workload
from ...analysis.cost import evaluate
from ...mip.model import MipLimits, MipResult, MipStatus, Solver
from ..base import (
    NOTHING_RESIDENT,
    MapOptions,
    MappingResult,
    MappingStatus,
    check_nest,
    held_resident,
    returns_sums,
    with_workspace,
)
from ..even import EvenSpace, even_space
from .paper import PaperFormulation, PaperWeights

_ROOMS = (1.0, 0.5, 0.25, 0.1, 0.02)


@dataclass(frozen=True, slots=True, kw_only=True)
class CosaPaper:
    """The published integer program.

    Attributes:
        name: Spelling on the command line.
        solver: Which solver.
        weights: Of eq. (12); see :func:`calibrated_weights`.
        gap: Relative gap at which the solver may stop.
        nodes: Branch-and-bound nodes per solve.
        seconds: Wall-clock safety net per solve [s].
    """

    name: str = "cosa-paper"
    solver: Solver = Solver.HIGHS
    weights: PaperWeights = PaperWeights()
    gap: float = 0.01
    nodes: int = 2_000
    seconds: float = 60.0

    def map(
        self,
        workload: Workload,
        arch: Architecture,
        *,
        workspace: int | None = None,
        resident: frozenset[Operand] = NOTHING_RESIDENT,
        options: MapOptions = MapOptions(),  # noqa: B008 - frozen
    ) -> MappingResult:
        """Return the published program's nest; see :class:`~..base.Mapper`.

        The result's bound is that of the program, which says nothing about latency or energy: it
        is left out, and the note carries the program's own objective and bound.
        """
        wall, cpu = time.perf_counter(), time.process_time()
        machine = with_workspace(arch, workspace)
        space = even_space(workload, machine, held_resident(arch, resident))
        nest, result = self._solve(space)
        cost = evaluate(nest, machine, placement=space.resident)
        proven = "proven" if result.status is MipStatus.OPTIMAL else "not proven"
        return MappingResult(
            nest=nest,
            mapper=self.name,
            status=MappingStatus.HEURISTIC,
            objective=options.objective.of(cost),
            seconds=time.perf_counter() - wall,
            cpu_seconds=time.process_time() - cpu,
            note=f"eq. (12) = {result.objective:.3f}, bound {result.bound:.3f}, {proven}",
        )

    def _solve(self, space: EvenSpace) -> tuple[LoopNest, MipResult]:
        """Solve with less and less room for inputs until the real tiles fit."""
        limits = MipLimits(gap_rel=self.gap, nodes=self.nodes, seconds=self.seconds)
        last: InfeasibleError | None = None
        for room in _ROOMS:
            program = PaperFormulation(space, self.weights, room, self.solver)
            result = program.model.solve(limits)
            if not result.values:
                continue
            nest = program.decode(result.values)
            if returns_sums(nest, space.arch, space.resident):
                last = InfeasibleError(
                    "the published program knows no outputs that lie in the scratchpad: its "
                    "partial sums return there",
                    hint="map with cosa, or let outputs be streamed",
                )
                continue
            try:
                check_nest(nest, space.arch, space.resident)
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
    """
    best: tuple[float, PaperWeights] = (math.inf, PaperWeights())
    for utilization, traffic in itertools.product(options, options):
        weights = PaperWeights(utilization=utilization, traffic=traffic)
        tried = CosaPaper(
            weights=weights, nodes=mapper.nodes, seconds=mapper.seconds, gap=mapper.gap
        )
        cost = math.fsum(math.log(tried.map(work, arch).objective) for work in benchmarks)
        if cost < best[0]:
            best = (cost, weights)
    return best[1]

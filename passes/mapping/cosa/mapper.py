"""CoSA: map an operator by one integer program, then polish and certify.

1. The program of :mod:`.formulation` is solved to a small absolute gap, with few tangents; where
   that leaves the bound too far off, again with many, and to a smaller gap.
2. Its mapping is evaluated exactly with all orders of loops, and polished by local search.
3. Where the extents' prime factors cannot fill the array, padded extents are mapped, too.
4. Loops and tile starts of the nest are improved one by one, which may make it uneven.
5. The nest is verified against the machine; the bound of the program is the certificate.

Where the program finds nothing within its limits, SALSA steps in and the result says so.
"""

import logging
import math
import time
from dataclasses import dataclass

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.workload import Operand, Workload
from ...analysis.bounds import cycles_lower_bound
from ...analysis.cost import evaluate
from ...mip.model import MipLimits, MipStatus, Solver
from ..base import (
    NOTHING_RESIDENT,
    MapOptions,
    MappingResult,
    MappingStatus,
    Objective,
    check_nest,
    held_resident,
    with_workspace,
)
from ..even import EvenBatch, EvenSpace, even_space
from ..local_search import polish
from ..measures import measure_of, other_measure, smooth_measure
from ..output_stationary import OutputStationary
from ..salsa.mapper import Salsa
from ..uneven_search import improve_unevenly
from .formulation import COARSE, FINE, WEIGHTS, Formulation, Tangents
from .padding import candidates
from .unrolling import least_steps

_LOG = logging.getLogger(__name__)

_FEW_INTEGERS = 50
"""Programs so small are solved to a tenth of the gap; that costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The best mapping of one space.

    Attributes:
        batch: The mapping.
        value: Its objective in the cost model.
        bound: What no mapping of the space can beat, proven.
        proven: Whether the solver closed its gap.
    """

    batch: EvenBatch
    value: float
    bound: float
    proven: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosa:
    """The integer-programming mapper.

    Attributes:
        name: Spelling on the command line.
        solver: Which solver.
        gap: Gap at which the solver may stop, relative to the roofline.
        certify: Gap of the polished mapping above which the program is solved again.
        nodes: Branch-and-bound nodes per solve.
        seconds: Wall-clock safety net per solve [s].
        pad_above: Padding is tried where unrolling alone keeps latency so many times above the
            roofline.
        paddings: Padded extents to try.
    """

    name: str = "cosa"
    solver: Solver = Solver.HIGHS
    gap: float = 0.005
    certify: float = 0.0145
    nodes: int = 2_000
    seconds: float = 60.0
    pad_above: float = 1.05
    paddings: int = 3

    def map(
        self,
        workload: Workload,
        arch: Architecture,
        *,
        workspace: int | None = None,
        resident: frozenset[Operand] = NOTHING_RESIDENT,
        options: MapOptions = MapOptions(),  # noqa: B008 - frozen
    ) -> MappingResult:
        """Return a near-optimal nest with its certificate; see :class:`~..base.Mapper`."""
        wall, cpu = time.perf_counter(), time.process_time()
        machine = with_workspace(arch, workspace)
        held = held_resident(arch, resident)
        solution = self._solve(workload, machine, held, options)
        if solution is None:
            return self._fallback(workload, arch, workspace, resident, options)
        nest = solution.batch.nest(0)
        if not options.even:
            measure = measure_of(options.objective)
            nest = improve_unevenly(nest, machine, measure, placement=held)
        check_nest(nest, machine, held)
        value = options.objective.of(evaluate(nest, machine, placement=held))
        return MappingResult(
            nest=nest,
            mapper=self.name,
            status=MappingStatus.OPTIMAL if solution.proven else MappingStatus.BOUNDED,
            objective=value,
            bound=min(solution.bound, value),
            gap=max(0.0, value / solution.bound - 1.0),
            seconds=time.perf_counter() - wall,
            cpu_seconds=time.process_time() - cpu,
        )

    def _solve(
        self,
        workload: Workload,
        arch: Architecture,
        resident: frozenset[Operand],
        options: MapOptions,
    ) -> Solution | None:
        best = self.solve_space(even_space(workload, arch, resident), options, math.inf)
        if not options.padding or options.objective is Objective.ENERGY:
            return best
        limited = least_steps(workload, arch, workload.dims)
        if limited <= self.pad_above * cycles_lower_bound(workload, arch, resident):
            return best
        below = limited if best is None else self._cycles(best)
        for candidate in candidates(workload, arch, resident, below=below, count=self.paddings):
            if best is not None and candidate.cycles >= 0.995 * self._cycles(best):
                break
            space = even_space(workload, arch, resident, candidate.extents)
            found = self.solve_space(space, options, math.inf if best is None else best.value)
            best = _better(best, found)
        return best

    def _cycles(self, solution: Solution) -> float:
        return float(solution.batch.cost().cycles[0])

    def solve_space(self, space: EvenSpace, options: MapOptions, cutoff: float) -> Solution | None:
        """Return the best mapping of one space, ``None`` where none beats ``cutoff``.

        Args:
            space: What is mapped.
            options: Objective.
            cutoff: Value of the objective that a mapping must beat.
        """
        roofline = cycles_lower_bound(space.workload, space.arch, space.resident)
        worst = 30.0 * max(1.0, 1024 / space.arch.macs)
        if options.objective is Objective.LATENCY and cutoff < math.inf:
            worst = max(1.0 + 1e-6, cutoff / roofline)
        best: Solution | None = None
        for tangents, gap in ((COARSE, self.gap), (FINE, self.gap), (FINE, self.gap / 5.0)):
            best = _sharper(best, self._program(space, options, worst, tangents, gap))
            if best is None or best.value <= best.bound * (1.0 + self.certify):
                break
            if options.objective is Objective.LATENCY:
                worst = min(worst, max(1.0 + 1e-6, best.value / roofline))
        return best

    def _program(
        self, space: EvenSpace, options: MapOptions, worst: float, tangents: Tangents, gap: float
    ) -> Solution | None:
        """Solve the program once and polish what it finds."""
        formulation = Formulation(space, WEIGHTS[options.objective], worst, tangents, self.solver)
        if formulation.model.integers <= _FEW_INTEGERS:
            gap /= 10.0
        limits = MipLimits(
            gap_abs=gap,
            gap_rel=gap,
            nodes=self.nodes,
            seconds=self.seconds,
            seed=options.seed,
            restarts=False,
        )
        result = formulation.model.solve(limits)
        if not result.values:
            _LOG.debug("no solution: %s", result.status)
            return None
        batch, value = polish_fully(formulation.variables.decode(result.values), options)
        if math.isinf(value):
            return None
        return Solution(
            batch=batch,
            value=value,
            bound=min(value, objective_bound(formulation, result.bound, options.objective)),
            proven=result.status is MipStatus.OPTIMAL,
        )

    def _fallback(
        self,
        workload: Workload,
        arch: Architecture,
        workspace: int | None,
        resident: frozenset[Operand],
        options: MapOptions,
    ) -> MappingResult:
        result = _simpler(workload, arch, workspace, resident, options)
        return MappingResult(
            nest=result.nest,
            mapper=self.name,
            status=MappingStatus.FALLBACK,
            objective=result.objective,
            bound=0.0,
            gap=math.inf,
            seconds=result.seconds,
            cpu_seconds=result.cpu_seconds,
            note=f"no mapping within the solver's limits: {result.mapper}",
        )


def _simpler(
    workload: Workload,
    arch: Architecture,
    workspace: int | None,
    resident: frozenset[Operand],
    options: MapOptions,
) -> MappingResult:
    """Return what SALSA finds or, failing that, the greedy mapper.

    Raises:
        InfeasibleError: Neither finds anything; the cause is SALSA's.
    """
    try:
        return Salsa().map(workload, arch, workspace=workspace, resident=resident, options=options)
    except InfeasibleError as cause:
        try:
            return OutputStationary().map(
                workload, arch, workspace=workspace, resident=resident, options=options
            )
        except InfeasibleError:
            raise cause from None


def polish_fully(start: EvenBatch, options: MapOptions) -> tuple[EvenBatch, float]:
    """Return a mapping's local optimum: the objective first, then what does not cost any of it.

    The exact objective and a smooth one are descended in turn; a result is kept only if the exact
    objective is better.
    """
    exact = measure_of(options.objective)
    best = polish(start, exact)
    smooth = polish(best.batch, smooth_measure(options.objective))
    again = polish(smooth.batch, exact)
    if again.value < best.value:
        best = again
    if math.isinf(best.value) or options.objective is Objective.EDP:
        return best.batch, best.value
    limit = best.value * 1.0001
    saved = polish(best.batch, other_measure(options.objective, limit))
    value = float(exact(saved.batch.cost())[0])
    return saved.batch, value


def objective_bound(formulation: Formulation, bound: float, objective: Objective) -> float:
    """Return what the program's bound says about the objective in the cost model's units.

    For the energy-delay product, the program bounds ``T + E`` (both relative to their rooflines);
    with ``T >= 1`` and ``E >= 1``, their product is least at an end of that line.
    """
    cycles, energy = formulation.cycles_bound, formulation.energy_bound
    match objective:
        case Objective.LATENCY:
            return max(1.0, bound) * cycles
        case Objective.ENERGY:
            return max(1.0, bound) * energy
        case Objective.EDP:
            return max(1.0, bound - 1.0) * cycles * energy


def _sharper(first: Solution | None, second: Solution | None) -> Solution | None:
    """Return the better of two solutions of one space, with the larger of their bounds."""
    if first is None or second is None:
        return second if first is None else first
    chosen = second if second.value < first.value else first
    return Solution(
        batch=chosen.batch,
        value=chosen.value,
        bound=min(chosen.value, max(first.bound, second.bound)),
        proven=second.proven,
    )


def _better(best: Solution | None, found: Solution | None) -> Solution | None:
    """Return the better solution, with the smaller of both bounds."""
    if best is None or found is None:
        return best if found is None else found
    chosen = found if found.value < best.value else best
    return Solution(
        batch=chosen.batch,
        value=chosen.value,
        bound=min(best.bound, found.bound),
        proven=best.proven and found.proven,
    )

"""CoSA: map an operator by one integer program, then polish and certify.

1. A nest is searched on promising unrollings by SALSA's compiled kernel (:mod:`.uneven`); it need
   not be even.
2. The program of :mod:`.formulation` finds an even mapping that is better by the gap, or proves
   that there is none (:mod:`.certify`).
3. Where the extents' prime factors cannot fill the array, or are too large to tile, padded
   extents are mapped, too.
4. The nest is verified against the machine; what the program proved is the certificate: it bounds
   even mappings of the extents that were tried. An uneven nest may lie below it: the gap is
   negative then.

Where nothing is found within the limits, SALSA steps in and the result says so.
"""

import time
from dataclasses import dataclass, replace

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.proof import Scope
from ....ir.workload import Operand, Workload
from ...analysis.bounds import cycles_lower_bound
from ...analysis.cost import evaluate
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
from ..even import EvenSpace, even_space
from ..output_stationary import OutputStationary
from ..salsa.engine import prepare
from ..salsa.mapper import Salsa
from .certify import Effort, Solution, solve_space
from .padding import candidates
from .uneven import padding_may_pay, search_padded
from .unrolling import least_steps

_ROUNDING = 1e-6
"""Relative differences from the bound that are rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosa:
    """The integer-programming mapper.

    Attributes:
        name: Spelling on the command line.
        effort: Gaps and limits.
        pad_above: Latency that is at most so many times the roofline needs no padding.
        paddings: Padded extents to try.
    """

    name: str = "cosa"
    effort: Effort = Effort()
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
        """Return a near-optimal nest with its certificate; see :class:`~..base.Mapper`.

        Seconds do not include the compilation of SALSA's kernel, once per installation.
        """
        prepare()
        wall, cpu = time.perf_counter(), time.process_time()
        machine = with_workspace(arch, workspace)
        held = held_resident(arch, resident)
        solution = self._solve(workload, machine, held, options)
        if solution.nest is None:
            return self._fallback(workload, arch, workspace, resident, options)
        check_nest(solution.nest, machine, held)
        return MappingResult(
            nest=solution.nest,
            mapper=self.name,
            status=self._status(solution),
            objective=solution.value,
            bound=solution.bound,
            scope=Scope.EVEN_NESTS,
            seconds=time.perf_counter() - wall,
            cpu_seconds=time.process_time() - cpu,
        )

    def _status(self, solution: Solution) -> MappingStatus:
        """Return whether even mappings are left that are better by more than the gap.

        What lies below their bound is not one of them, but as good as the best.
        """
        is_close = solution.value * (1.0 - self.effort.gap) <= solution.bound * (1.0 + _ROUNDING)
        is_optimal = solution.proven and is_close
        return MappingStatus.OPTIMAL if is_optimal else MappingStatus.BOUNDED

    def _solve(
        self,
        workload: Workload,
        arch: Architecture,
        resident: frozenset[Operand],
        options: MapOptions,
    ) -> Solution:
        space = even_space(workload, arch, resident)
        best = solve_space(space, options, self.effort)
        enough = self.pad_above * cycles_lower_bound(workload, arch, resident)
        if not options.padding or (options.objective is Objective.LATENCY and best.value <= enough):
            return best
        if not options.even and padding_may_pay(space, options.objective):
            best = self._with_searched(space, options, best)
        below = least_steps(workload, arch, workload.dims, resident)
        if options.objective is Objective.ENERGY or below <= enough:
            return best
        if best.nest is not None:
            below = evaluate(best.nest, arch, placement=resident).cycles
        for candidate in candidates(workload, arch, resident, below=below, count=self.paddings):
            if best.nest is not None and dict(best.nest.extents) == dict(candidate.extents):
                continue
            space = even_space(workload, arch, resident, candidate.extents)
            best = _better(best, solve_space(space, options, self.effort, best.value))
        return best

    def _with_searched(self, space: EvenSpace, options: MapOptions, best: Solution) -> Solution:
        """Return the better of a solution and of what is searched and solved on padded extents."""
        found = search_padded(space, options)
        if found is None or found.value >= best.value * (1.0 - self.effort.gap):
            return best
        padded = even_space(space.workload, space.arch, space.resident, found.nest.extents)
        best = _better(best, solve_space(padded, options, self.effort, best.value))
        if best.value <= found.value:
            return best
        return replace(best, nest=found.nest, value=found.value)

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
            bound=result.bound,
            scope=result.scope,
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


def _better(best: Solution, found: Solution) -> Solution:
    """Return the better solution, with the smaller of both bounds."""
    chosen = found if found.value < best.value else best
    return Solution(
        nest=chosen.nest,
        value=chosen.value,
        bound=min(best.bound, found.bound),
        proven=best.proven and found.proven,
    )

"""CoSA: map an operator by one integer program, then polish and certify.

1. A nest is searched on promising unrollings by SALSA's compiled kernel
   (:mod:`..search.first_nests`); it need not be even.
2. The program of :mod:`..certificate.formulation` finds an even mapping that is better by the gap,
   or proves that there is none (:mod:`..certificate.certify`).
3. Where the extents' prime factors cannot fill the array, or are too large to tile, padded
   extents are mapped, too.
4. The nest is verified against the machine; what the program proved is the certificate: it bounds
   even mappings of the extents that were tried. An uneven nest may lie below it: the gap is
   negative then.

Where nothing is found within the limits, SALSA steps in and the result says so.
"""

from dataclasses import dataclass, replace

from ....ir.errors import InfeasibleError
from ....ir.proof import Scope
from ..certificate.certify import ProofEffort, SpaceOptimum, solve_space
from ..certificate.padding import candidates
from ..certificate.unrolling import least_steps
from ..mapper import Mapper, MappingResult, MappingStatus
from ..problem import MappingProblem, Objective
from ..search.even.space import EvenSpace, even_space
from ..search.first_nests import padding_may_pay, search_padded
from ..search.orders.engine import prepare
from .output_stationary import OutputStationary
from .salsa import Salsa

_ROUNDING = 1e-6
"""Relative differences from the bound that are rounding."""


@dataclass(frozen=True, kw_only=True)
class Cosa(Mapper):
    """The integer-programming mapper.

    Attributes:
        name: Spelling on the command line.
        effort: Gaps and limits.
        pad_above: Latency that is at most so many times the roofline needs no padding.
        paddings: Padded extents to try.
    """

    name: str = "cosa"
    effort: ProofEffort = ProofEffort()
    pad_above: float = 1.05
    paddings: int = 3

    @property
    def stand_in(self) -> Mapper:
        """The greedy mapper."""
        return OutputStationary()

    @property
    def without_proof(self) -> Mapper:
        """The mapper that does not ask the integer program."""
        return replace(self, effort=replace(self.effort, rounds=0))

    def prepare(self) -> None:
        """Load SALSA's compiled kernel, or compile it, once per installation."""
        prepare()

    def find(self, problem: MappingProblem) -> MappingResult:
        """Return a near-optimal nest with its certificate."""
        solution = self._solve(problem)
        if solution.nest is None:
            return self._fallback(problem)
        problem.check(solution.nest)
        return MappingResult(
            nest=solution.nest,
            mapper=self.name,
            status=self._status(solution),
            objective=solution.value,
            bound=solution.bound,
            scope=Scope.EVEN_NESTS,
        )

    def _status(self, solution: SpaceOptimum) -> MappingStatus:
        """Return whether even mappings are left that are better by more than the gap.

        What lies below their bound is not one of them, but as good as the best.
        """
        is_close = solution.value * (1.0 - self.effort.gap) <= solution.bound * (1.0 + _ROUNDING)
        is_optimal = solution.proven and is_close
        return MappingStatus.OPTIMAL if is_optimal else MappingStatus.BOUNDED

    def _solve(self, problem: MappingProblem) -> SpaceOptimum:
        space = even_space(problem)
        best = solve_space(space, self.effort)
        enough = self.pad_above * problem.cycles_bound
        is_fast = problem.objective is Objective.LATENCY and best.value <= enough
        if not problem.padding or is_fast:
            return best
        if not problem.even and padding_may_pay(space):
            best = self._with_searched(space, best)
        below = least_steps(problem, problem.workload.dims)
        if problem.objective is Objective.ENERGY or below <= enough:
            return best
        if best.nest is not None:
            below = problem.cost(best.nest).cycles
        for candidate in candidates(problem, below=below, count=self.paddings):
            if best.nest is not None and dict(best.nest.extents) == dict(candidate.extents):
                continue
            space = even_space(problem, candidate.extents)
            best = _better(best, solve_space(space, self.effort, best.value))
        return best

    def _with_searched(self, space: EvenSpace, best: SpaceOptimum) -> SpaceOptimum:
        """Return the better of a solution and of what is searched and solved on padded extents."""
        found = search_padded(space)
        if found is None or found.value >= best.value * (1.0 - self.effort.gap):
            return best
        padded = even_space(space.problem, found.nest.extents)
        best = _better(best, solve_space(padded, self.effort, best.value))
        if best.value <= found.value:
            return best
        return replace(best, nest=found.nest, value=found.value)

    def _fallback(self, problem: MappingProblem) -> MappingResult:
        """Return what SALSA finds or, failing that, the greedy mapper.

        Raises:
            InfeasibleError: Neither finds anything; the cause is SALSA's.
        """
        try:
            result = Salsa().map(problem)
        except InfeasibleError as cause:
            try:
                result = OutputStationary().map(problem)
            except InfeasibleError:
                raise cause from None
        note = f"no mapping within the solver's limits: {result.mapper}"
        return replace(result, mapper=self.name, status=MappingStatus.FALLBACK, note=note)


def _better(best: SpaceOptimum, found: SpaceOptimum) -> SpaceOptimum:
    """Return the better solution, with the smaller of both bounds."""
    chosen = found if found.value < best.value else best
    return SpaceOptimum(
        nest=chosen.nest,
        value=chosen.value,
        bound=min(best.bound, found.bound),
        proven=best.proven and found.proven,
    )

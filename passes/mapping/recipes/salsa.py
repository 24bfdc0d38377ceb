"""SALSA and LOMA as mappers: unrollings are tried in short, the most promising searched in full."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....ir.errors import InfeasibleError
from ....ir.mapping import LoopNest
from ....ir.proof import Scope
from ...analysis.zigzag import zigzag_cost
from ..mapper import Mapper, MappingResult, MappingStatus
from ..problem import MappingProblem, Objective, Rules
from ..search.merging import merge_loops
from ..search.orders.engine import OrderEngine, SearchOptions, expected_evaluations, prepare
from ..search.orders.machine import UnrolledProblem
from ..search.orders.selection import Rounds, search_best, with_smooth_steps
from ..search.orders.spatial import Unrolling, all_unrollings, dataflow_unrolling
from ..search.uneven import improve_unevenly


@dataclass(frozen=True, kw_only=True)
class Salsa(Mapper):
    """Order of loops by annealing or exhaustion, exact allocation, enumerated unrollings.

    Attributes:
        name: Spelling on the command line.
        search: Settings of the search of each unrolling that is searched in full.
        rounds: How many unrollings are searched how long before that.
        beam: Partial unrollings kept while enumerating; see :func:`.spatial.all_unrollings`.
        greedy: Whether memory is allocated by LOMA's rule instead of exactly.
    """

    name: str = "salsa"
    search: SearchOptions = SearchOptions()
    rounds: Rounds = Rounds()
    beam: int = 150
    greedy: bool = False

    def prepare(self) -> None:
        """Load the compiled kernel, or compile it, once per installation."""
        prepare()

    def find(self, problem: MappingProblem) -> MappingResult:
        """Return the best nest of all finalists."""
        found = search_best(self._unrolled(problem), self.rounds, self._settings(problem))
        nest = merge_loops(found.nest)
        is_ours = problem.rules is Rules.ACCNN
        if problem.objective is not Objective.ENERGY and not problem.even and is_ours:
            # Allocation is not exact where time counts.
            nest = improve_unevenly(nest, problem, problem.objective.of)
        unsound = _check(nest, problem)
        return MappingResult(
            nest=nest,
            mapper=self.name,
            status=MappingStatus.HEURISTIC,
            objective=_value(nest, problem),
            bound=problem.bound if is_ours else None,
            scope=Scope.ALL_NESTS if is_ours else None,
            note=f"{found.engine}: {found.evaluations} evaluations{unsound}",
        )

    def _settings(self, problem: MappingProblem) -> SearchOptions:
        """Return the settings of a full search, work scaled to what was asked for."""
        settings = replace(self.search, seed=problem.seed)
        if problem.evaluations is None:
            return settings
        each = expected_evaluations(14, settings)
        share = problem.evaluations / (self.rounds.finalists * each)
        return replace(
            settings,
            iterations=max(1, round(settings.iterations * min(1.0, share * settings.restarts))),
            restarts=max(1, round(settings.restarts * share)),
            descents=round(settings.descents * share),
        )

    def _unrolled(self, problem: MappingProblem) -> Iterator[UnrolledProblem]:
        for spatial in self._unrollings(problem):
            unrolled = UnrolledProblem(problem=problem, spatial=spatial, greedy=self.greedy)
            yield unrolled
            if problem.padding:
                yield from with_smooth_steps(unrolled)

    def _unrollings(self, problem: MappingProblem) -> tuple[Unrolling, ...]:
        if problem.spatial is not None:
            return (problem.spatial,)
        first = dataflow_unrolling(problem.workload, problem.machine)
        kinds = [
            all_unrollings(problem, padding=padding, beam=self.beam)
            for padding in ((False, True) if problem.padding else (False,))
        ]
        by_rank = itertools.chain.from_iterable(itertools.zip_longest(*kinds))
        return tuple(dict.fromkeys([first, *(item for item in by_rank if item is not None)]))


def loma(limit: int = 7) -> Salsa:
    """Return LOMA: all orders of at most ``limit`` loops, on the most promising unrollings."""
    return Salsa(name="loma", search=SearchOptions(engine=OrderEngine.EXHAUSTIVE, limit=limit))


def _check(nest: LoopNest, problem: MappingProblem) -> str:
    """Check the nest, and return what is to be said of it if it need not fit."""
    try:
        problem.check(nest)
    except InfeasibleError as error:
        if problem.rules is not Rules.ZIGZAG:
            raise
        return f"; fits by ZigZag's rules only: {error}"
    return ""


def _value(nest: LoopNest, problem: MappingProblem) -> float:
    """Return the objective by the rules that were searched by."""
    if problem.rules is Rules.ACCNN or problem.objective is Objective.LATENCY:
        return problem.value(nest)
    energy = zigzag_cost(nest, problem.machine).energy
    return energy * (problem.cost(nest).cycles if problem.objective is Objective.EDP else 1.0)

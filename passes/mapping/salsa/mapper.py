"""SALSA and LOMA as mappers: unrollings are tried in short, the most promising searched in full."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.mapping import LoopNest
from ....ir.proof import Scope
from ....ir.workload import Operand, Workload
from ...analysis.bounds import cycles_lower_bound, energy_lower_bound
from ...analysis.cost import evaluate
from ...analysis.zigzag import zigzag_cost
from ..base import (
    NOTHING_RESIDENT,
    MapOptions,
    MappingResult,
    MappingStatus,
    Objective,
    Rules,
    check_nest,
    held_resident,
    with_workspace,
)
from ..measures import measure_of
from ..merging import merge_loops
from ..uneven_search import improve_unevenly
from .engine import Engine, SearchOptions, expected_evaluations, prepare
from .machine import Problem
from .selection import Rounds, search_best, with_smooth_steps
from .spatial import Unrolling, all_unrollings, dataflow_unrolling


@dataclass(frozen=True, slots=True, kw_only=True)
class Salsa:
    """Order of loops by annealing or exhaustion, exact allocation, enumerated unrollings.

    Attributes:
        name: Spelling on the command line.
        search: Settings of the search of each unrolling that is searched in full.
        rounds: How many unrollings are searched how long before that.
        beam: Partial unrollings kept while enumerating; see :func:`.spatial.all_unrollings`.
        dataflow: Whether only the unrolling of the machine's dataflow is used.
        greedy: Whether memory is allocated by LOMA's rule instead of exactly.
    """

    name: str = "salsa"
    search: SearchOptions = SearchOptions()
    rounds: Rounds = Rounds()
    beam: int = 150
    dataflow: bool = False
    greedy: bool = False

    def map(
        self,
        workload: Workload,
        arch: Architecture,
        *,
        workspace: int | None = None,
        resident: frozenset[Operand] = NOTHING_RESIDENT,
        options: MapOptions = MapOptions(),  # noqa: B008 - frozen
    ) -> MappingResult:
        """Return the best nest of all finalists; see :class:`~..base.Mapper`.

        Seconds do not include the compilation of the kernel, once per installation.
        """
        prepare()
        wall, cpu = time.perf_counter(), time.process_time()
        machine = with_workspace(arch, workspace)
        held = held_resident(arch, resident)
        problems = self._problems(workload, machine, held, options)
        found = search_best(problems, self.rounds, self._settings(options))
        nest = merge_loops(found.nest)
        if options.objective is not Objective.ENERGY and not options.even:
            nest = _with_better_starts(nest, machine, held, options)
        unsound = _check(nest, machine, held, options.rules)
        value = _value(nest, machine, held, options)
        bound = _bound(workload, machine, held, options)
        return MappingResult(
            nest=nest,
            mapper=self.name,
            status=MappingStatus.HEURISTIC,
            objective=value,
            bound=bound,
            scope=None if bound is None else Scope.ALL_NESTS,
            seconds=time.perf_counter() - wall,
            cpu_seconds=time.process_time() - cpu,
            note=f"{found.engine}: {found.evaluations} evaluations{unsound}",
        )

    def _settings(self, options: MapOptions) -> SearchOptions:
        """Return the settings of a full search, work scaled to what was asked for."""
        settings = replace(self.search, seed=options.seed)
        if options.evaluations is None:
            return settings
        each = expected_evaluations(14, settings)
        share = options.evaluations / (self.rounds.finalists * each)
        return replace(
            settings,
            iterations=max(1, round(settings.iterations * min(1.0, share * settings.restarts))),
            restarts=max(1, round(settings.restarts * share)),
            descents=round(settings.descents * share),
        )

    def _problems(
        self,
        workload: Workload,
        arch: Architecture,
        resident: frozenset[Operand],
        options: MapOptions,
    ) -> Iterator[Problem]:
        for unrolling in self._unrollings(workload, arch, options):
            problem = Problem(
                workload=workload,
                arch=arch,
                spatial=unrolling,
                resident=resident,
                objective=options.objective,
                even=options.even,
                greedy=self.greedy,
                rules=options.rules,
            )
            yield problem
            if options.padding:
                yield from with_smooth_steps(problem)

    def _unrollings(
        self, workload: Workload, arch: Architecture, options: MapOptions
    ) -> tuple[Unrolling, ...]:
        if options.spatial is not None:
            return (options.spatial,)
        if self.dataflow:
            return (dataflow_unrolling(workload, arch),)
        kinds = [
            all_unrollings(
                workload, arch, objective=options.objective, padding=padding, beam=self.beam
            )
            for padding in ((False, True) if options.padding else (False,))
        ]
        by_rank = itertools.chain.from_iterable(itertools.zip_longest(*kinds))
        first = dataflow_unrolling(workload, arch)
        return tuple(dict.fromkeys([first, *(item for item in by_rank if item is not None)]))


def loma(limit: int = 7) -> Salsa:
    """Return LOMA: all orders of at most ``limit`` loops, on the most promising unrollings."""
    return Salsa(name="loma", search=SearchOptions(engine=Engine.EXHAUSTIVE, limit=limit))


def _with_better_starts(
    nest: LoopNest, arch: Architecture, resident: frozenset[Operand], options: MapOptions
) -> LoopNest:
    """Return a nest at least as good: allocation is not exact where time counts."""
    if options.rules is not Rules.ACCNN:
        return nest
    return improve_unevenly(nest, arch, measure_of(options.objective), placement=resident)


def _check(nest: LoopNest, arch: Architecture, resident: frozenset[Operand], rules: Rules) -> str:
    """Check the nest, and return what is to be said of it if it need not fit."""
    try:
        check_nest(nest, arch, resident)
    except InfeasibleError as error:
        if rules is not Rules.ZIGZAG:
            raise
        return f"; in ZigZag's room only: {error}"
    return ""


def _value(
    nest: LoopNest, arch: Architecture, resident: frozenset[Operand], options: MapOptions
) -> float:
    """Return the objective by the rules that were searched by."""
    report = evaluate(nest, arch, placement=resident)
    if options.rules is Rules.ACCNN or options.objective is Objective.LATENCY:
        return options.objective.of(report)
    energy = zigzag_cost(nest, arch).energy
    return energy * (report.cycles if options.objective is Objective.EDP else 1.0)


def _bound(
    workload: Workload, arch: Architecture, resident: frozenset[Operand], options: MapOptions
) -> float | None:
    """Return what no nest can beat, ``None`` where the rules are not ours."""
    if options.rules is not Rules.ACCNN:
        return None
    cycles = cycles_lower_bound(workload, arch, resident)
    energy = energy_lower_bound(workload, arch, resident)
    match options.objective:
        case Objective.LATENCY:
            return cycles
        case Objective.ENERGY:
            return energy
        case Objective.EDP:
            return cycles * energy

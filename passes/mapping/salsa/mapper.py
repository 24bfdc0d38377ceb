"""SALSA and LOMA as mappers: unrollings are tried in short, the most promising searched in full."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.mapping import LoopNest
from ....ir.workload import DIMS, Dim, Operand, Workload
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
from ..even import prime_factors
from ..measures import measure_of
from ..merging import merge_loops
from ..uneven_search import improve_unevenly
from .engine import Engine, Found, SearchOptions, expected_evaluations, search
from .machine import Problem
from .spatial import Unrolling, all_unrollings, dataflow_unrolling

_LARGEST_PRIME = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Salsa:
    """Order of loops by annealing or exhaustion, exact allocation, enumerated unrollings.

    Attributes:
        name: Spelling on the command line.
        search: Settings of the search of each unrolling that is searched in full.
        beam: Partial unrollings kept while enumerating; see :func:`.spatial.all_unrollings`.
        tried: Unrollings that are searched in short, by their lower bound.
        finalists: Unrollings that are searched in full.
        dataflow: Whether only the unrolling of the machine's dataflow is used.
        greedy: Whether memory is allocated by LOMA's rule instead of exactly.
    """

    name: str = "salsa"
    search: SearchOptions = SearchOptions()
    beam: int = 150
    tried: int = 96
    finalists: int = 4
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
        """Return the best nest of all finalists; see :class:`~..base.Mapper`."""
        wall, cpu = time.perf_counter(), time.process_time()
        machine = with_workspace(arch, workspace)
        held = held_resident(arch, resident)
        whole = self._settings(options)
        problems = list(self._problems(workload, machine, held, options))
        found = _best_of(problems, self.tried, self.finalists, whole)
        nest = merge_loops(found.nest)
        if options.objective is not Objective.ENERGY and not options.even:
            nest = improve_unevenly(nest, machine, measure_of(options.objective), placement=held)
        check_nest(nest, machine, held)
        return MappingResult(
            nest=nest,
            mapper=self.name,
            status=MappingStatus.HEURISTIC,
            objective=options.objective.of(evaluate(nest, machine, placement=held)),
            bound=0.0,
            gap=math.inf,
            seconds=time.perf_counter() - wall,
            cpu_seconds=time.process_time() - cpu,
            note=f"{found.engine}: {found.evaluations} of {found.orders} orders",
        )

    def _settings(self, options: MapOptions) -> SearchOptions:
        """Return the settings of a full search, work scaled to what was asked for."""
        settings = replace(self.search, seed=options.seed)
        if options.evaluations is None:
            return settings
        share = options.evaluations / (self.finalists * expected_evaluations(14, settings))
        return replace(
            settings,
            iterations=max(1, round(settings.iterations * min(1.0, share * settings.restarts))),
            restarts=max(1, round(settings.restarts * share)),
            descents=round(settings.descents * share),
        )

    def _enumerated(
        self, workload: Workload, arch: Architecture, options: MapOptions, *, padding: bool
    ) -> tuple[Unrolling, ...]:
        return all_unrollings(
            workload, arch, objective=options.objective, padding=padding, beam=self.beam
        )

    def _problems(
        self,
        workload: Workload,
        arch: Architecture,
        resident: frozenset[Operand],
        options: MapOptions,
    ) -> Iterator[Problem]:
        if self.dataflow:
            unrollings = (dataflow_unrolling(workload, arch),)
        else:
            unrollings = self._enumerated(workload, arch, options, padding=False)
            if options.padding:
                unrollings += self._enumerated(workload, arch, options, padding=True)
        for unrolling in dict.fromkeys(unrollings):
            problem = Problem(
                workload=workload,
                arch=arch,
                spatial=unrolling,
                resident=resident,
                objective=options.objective,
                even=options.even,
                greedy=self.greedy,
            )
            yield problem
            if options.padding:
                yield from _smoother(problem)


def loma(limit: int = 7) -> Salsa:
    """Return LOMA: all orders of at most ``limit`` loops, on the most promising unrollings."""
    return Salsa(name="loma", search=SearchOptions(engine=Engine.EXHAUSTIVE, limit=limit))


def polish(
    nest: LoopNest,
    arch: Architecture,
    *,
    resident: frozenset[Operand] = NOTHING_RESIDENT,
    options: MapOptions = MapOptions(),  # noqa: B008 - frozen
    settings: SearchOptions = SearchOptions(),  # noqa: B008 - frozen
) -> LoopNest:
    """Return a nest with the same unrolling whose order and tiles are at least as good.

    Args:
        nest: Where it comes from; returned itself where nothing better is found.
        arch: The machine, its scratchpad already cut down to the workspace.
        resident: Operands that lie whole in the scratchpad.
        options: Objective and seed.
        settings: Of the search.
    """
    problem = Problem(
        workload=nest.workload,
        arch=arch,
        spatial=nest.spatial,
        extents=nest.extents,
        resident=held_resident(arch, resident),
        objective=options.objective,
        even=options.even,
    )
    before = options.objective.of(evaluate(nest, arch, placement=problem.resident))
    try:
        found = search(problem, replace(settings, seed=options.seed))
    except InfeasibleError:
        return nest
    return merge_loops(found.nest) if found.value < before else nest


def _best_of(problems: list[Problem], tried: int, finalists: int, whole: SearchOptions) -> Found:
    """Search all problems in short and the best of them in full.

    Raises:
        InfeasibleError: None has a nest; the cause is what nothing unrolled lacks.
    """
    fitting = [problem for problem in problems if problem.shortage() is None]
    if not fitting:
        least = min(
            problems, key=lambda problem: math.prod(loop.extent for loop in problem.spatial)
        )
        without = replace(least, spatial=(), extents=None)
        without.check()
        fitting = [without]
    best: Found | None = None
    ranked = sorted(fitting, key=lower_bound)[:tried]
    for count, settings in ((finalists**2, _brief(whole, 1)), (finalists, _brief(whole, 6))):
        results = [
            (found.value, at)
            for at, problem in enumerate(ranked)
            if (found := _try(problem, settings, best)) is not None
        ]
        ranked = [ranked[at] for _, at in sorted(results)[:count]]
    for problem in ranked:
        best = _try(problem, whole, best) or best
    if best is None:
        raise InfeasibleError(f"no order of {fitting[0].workload} fits on any unrolling")
    return best


def _brief(whole: SearchOptions, descents: int) -> SearchOptions:
    return replace(whole, engine=Engine.ANNEALING, restarts=0, descents=descents)


def _try(problem: Problem, settings: SearchOptions, best: Found | None) -> Found | None:
    """Return what is found, ``None`` where that cannot be or is not better than ``best``."""
    if best is not None and lower_bound(problem) >= best.value:
        return None
    try:
        found = search(problem, settings)
    except InfeasibleError:
        return None
    return found if best is None or found.value < best.value else None


def lower_bound(problem: Problem) -> float:
    """Return what no order on an unrolling can beat: what is the same for all of them."""
    machine = problem.machine
    cycles = max([machine.steps, *machine.port_fixed.tolist()])
    match problem.objective:
        case Objective.LATENCY:
            return cycles
        case Objective.ENERGY:
            return machine.fixed
        case Objective.EDP:
            return machine.fixed * cycles


def _smoother(problem: Problem) -> Iterator[Problem]:
    """Yield the problem with large prime factors of steps padded away, where that costs little."""
    padded: dict[Dim, int] = {}
    for dim in DIMS:
        steps = problem.temporal[dim]
        if any(prime > _LARGEST_PRIME for prime, _ in prime_factors(steps)):
            padded[dim] = _next_smooth(steps)
    if not padded:
        return
    unrolled = problem.unrolled([fanout.name for fanout in problem.arch.fanouts])
    extents = {dim: padded.get(dim, problem.temporal[dim]) * unrolled[dim] for dim in DIMS}
    more = math.prod(steps / problem.temporal[dim] for dim, steps in padded.items())
    if more <= 1.25:
        yield replace(problem, extents=extents)


def _next_smooth(steps: int) -> int:
    """Return the next number without large prime factors."""
    while any(prime > _LARGEST_PRIME for prime, _ in prime_factors(steps)):
        steps += 1
    return steps

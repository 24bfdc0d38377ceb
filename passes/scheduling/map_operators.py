"""Pass: find a loop nest for every operator of the MAC array."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError
from ...ir.graph import Graph, Op
from ...ir.graph_schedule import GraphSchedule, Group
from ...ir.module import Mapping as OperatorMapping
from ...ir.module import Module, Stage
from ...ir.ops import workload
from ...ir.workload import Operand
from ..base import SECONDS_OF, Context, Pass, require_arch
from ..mapping.jobs import MapJob
from ..mapping.mapper import Mapper, MappingResult, MappingStatus
from ..mapping.problem import MappingProblem, Objective
from ..mapping.recipes.in_tiles import Shared, in_tiles
from ..mapping.registry import find_mapper
from ..tiling.residency import residency
from .known_schedules import KnownSchedules, Make
from .map_groups import GroupMapping, mapping_of, problem_on
from .schedule_tiles import schedule_operator


@dataclass(frozen=True)
class MapOperators(Pass):
    """Give every operator of the MAC array its loop nest.

    ::

        graph_schedule    ->    mappings: one nest per convolution or product

    Equal workloads under equal conditions are mapped once. Where cycles are minimised by a mapper
    that has a stand-in, that one competes: its nest is taken if its tiles are scheduled in fewer
    cycles.
    """

    name: ClassVar[str] = "map-operators"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.ARCH, Stage.GRAPH_SCHEDULE})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.MAPPINGS})
    is_slow: ClassVar[bool] = True

    mapper: str = "cosa"
    objective: Objective = Objective.LATENCY

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with a mapping of each operator of the MAC array."""
        arch, plan = require_arch(module), module.graph_schedule
        assert plan is not None
        problems = self.problems(module.graph, plan, arch, ctx.seed)
        first: dict[MappingProblem, str] = {}
        for name, problem in problems:
            first.setdefault(problem, name)
        results = self.solve(tuple(first.items()), arch, ctx)
        for problem, result in results.items():
            ctx.counters.add(f"{SECONDS_OF}{first[problem]}", result.seconds)
        ctx.counters.add("distinct workloads", len(results))
        rival = find_mapper(self.mapper).stand_in
        if rival.name != self.mapper and self.objective is Objective.LATENCY:
            results = self._compared(module, results, first, rival, ctx)
        mappings = [mapping_of(name, results[problem]) for name, problem in problems]
        for group in plan.groups:
            ctx.progress("nests of groups", len(mappings), len(module.graph.ops))
            mappings += self._of_group(module, group, ctx)
        return replace(module, mappings=tuple(mappings))

    def _of_group(self, module: Module, group: Group, ctx: Context) -> tuple[OperatorMapping, ...]:
        """Return the nests of a group: of the mapper or of its stand-in.

        Cycles and bytes count alike, for its plan stands on both.
        """
        arch = require_arch(module)
        own = find_mapper(self.mapper)
        found: list[tuple[int, tuple[OperatorMapping, ...]]] = []
        complaint: InfeasibleError | None = None
        guide = replace(self, mapper=own.stand_in.name)
        for mapper in dict.fromkeys((own.name, own.stand_in.name)):
            finder = replace(self, mapper=mapper)
            asked = GroupMapping(module, group, self.objective, ctx.seed, _schedules(ctx))
            try:
                nests, schedule = asked.best(
                    partial(finder.timed, arch, ctx), partial(guide.solve, arch=arch, ctx=ctx)
                )
                found.append((schedule.cycles * schedule.transferred_bytes, nests))
            except InfeasibleError as error:
                complaint = complaint or error
        if not found:
            assert complaint is not None
            raise complaint
        return min(found, key=lambda item: item[0])[1]

    def _compared(
        self,
        module: Module,
        results: Mapping[MappingProblem, MappingResult],
        names: Mapping[MappingProblem, str],
        rival: Mapper,
        ctx: Context,
    ) -> Mapping[MappingProblem, MappingResult]:
        """Return a rival's results where their tiles are scheduled in fewer cycles."""
        npus = len(require_arch(module).npus)
        jobs = [MapJob(problem, in_tiles(rival, npus)) for problem in results]
        answers = ctx.solve_jobs(jobs, lambda done, total: None)
        found = dict(results)
        for number, (problem, other) in enumerate(zip(results, answers, strict=True)):
            ctx.progress("nests compared", number, len(results))
            if isinstance(other, InfeasibleError):
                continue
            first = mapping_of(names[problem], results[problem])
            second = mapping_of(names[problem], other)
            best = winner(module, first, second, _schedules(ctx))
            if best is not first:
                taken = Shared(problem, npus).restated(results[problem], other.nest)
                if taken.status is MappingStatus.FALLBACK:
                    taken = replace(taken, status=other.status)
                found[problem] = replace(taken, mapper=other.mapper, note=best.note)
                ctx.counters.add("greedy nests")
        return found

    def timed(
        self, arch: Architecture, ctx: Context, problems: Sequence[tuple[MappingProblem, str]]
    ) -> Mapping[MappingProblem, MappingResult]:
        """Return the mapping of each problem, and note how long it took.

        Args:
            arch: The accelerator.
            ctx: Who solves, and who counts.
            problems: Problems, each with its operator.

        Raises:
            InfeasibleError: Nothing fits one of them; names the operator.
        """
        found = self.solve(tuple(problems), arch, ctx)
        for problem, name in problems:
            ctx.counters.add(f"{SECONDS_OF}{name}", found[problem].seconds)
        return found

    def solve(
        self, problems: Sequence[tuple[MappingProblem, str]], arch: Architecture, ctx: Context
    ) -> Mapping[MappingProblem, MappingResult]:
        """Return the mapping of each problem.

        Args:
            problems: Distinct problems, each with the operator to name where nothing fits.
            arch: The accelerator.
            ctx: Who solves.

        Raises:
            InfeasibleError: Nothing fits one of them; names the operator.
        """
        mapper = in_tiles(find_mapper(self.mapper), len(arch.npus))
        answers = ctx.solve_jobs(
            [MapJob(problem, mapper) for problem, _ in problems],
            lambda done, total: ctx.progress("operators mapped", done, total),
        )
        found: dict[MappingProblem, MappingResult] = {}
        for (problem, name), answer in zip(problems, answers, strict=True):
            if isinstance(answer, InfeasibleError):
                raise InfeasibleError(
                    f"%{name} ({problem.workload}): {answer.message}", hint=answer.hint
                ) from answer
            found[problem] = answer
        return found

    def problems(
        self, graph: Graph, plan: GraphSchedule, arch: Architecture, seed: int
    ) -> tuple[tuple[str, MappingProblem], ...]:
        """Return (operator, problem) for the operators of the MAC array that are in no group.

        Args:
            graph: The network.
            plan: Its schedule.
            arch: The accelerator.
            seed: Of the mapper.
        """
        found: list[tuple[str, MappingProblem]] = []
        for name in plan.order:
            op = graph.producer[name]
            base = workload(op, graph.types)
            if base is None or plan.group(name) is not None:
                continue
            place = residency(graph, plan, op)
            resident = _resident(op, place.addresses)
            problem = problem_on(arch, base, place.workspace_bytes, resident, self.objective, seed)
            found.append((name, problem))
        return tuple(found)


def _resident(op: Op, names: Collection[str]) -> frozenset[Operand]:
    found = {Operand.W: op.operands[1], Operand.I: op.operands[0], Operand.O: op.name}
    return frozenset(operand for operand, name in found.items() if name in names)


def _schedules(ctx: Context) -> Make:
    """Return what schedules operators by themselves, each once."""
    return partial(ctx.notes.of(KnownSchedules).of, make=schedule_operator)


def winner(
    module: Module,
    first: OperatorMapping,
    second: OperatorMapping,
    make: Make = schedule_operator,
) -> OperatorMapping:
    """Return the mapping whose tile schedule is shorter, the first one of equals.

    Args:
        module: With a graph schedule.
        first: A mapping of an operator.
        second: Another mapping of the same operator.
        make: Schedules the tiles.

    Raises:
        InfeasibleError: The tiles of neither can be scheduled.
    """
    if first.nest == second.nest:
        return first
    cycles, others = tile_cycles(module, first, make), tile_cycles(module, second, make)
    if others is None or (cycles is not None and cycles <= others):
        return first
    fate = "cannot be scheduled" if cycles is None else f"take {cycles} cycles"
    note = f"its tiles take {others} cycles, those of the nest by {first.mapper} {fate}"
    return replace(second, note=note)


def tile_cycles(
    module: Module, mapping: OperatorMapping, make: Make = schedule_operator
) -> int | None:
    """Return how long the tiles of a mapped operator take, ``None`` where they do not fit.

    Args:
        module: With a graph schedule.
        mapping: Of the operator.
        make: Schedules the tiles.
    """
    tried = replace(module, mappings=(mapping,))
    try:
        return make(tried, module.graph.producer[mapping.operator]).cycles
    except InfeasibleError:
        return None

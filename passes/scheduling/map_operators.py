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
from ...ir.tiles.events import INWARDS, TRANSFERS
from ...ir.tiles.schedule import TileSchedule
from ...ir.workload import Operand
from ..analysis.traffic import Direction, energy_of
from ..base import CUT_SHORT, SECONDS_OF, STOOD_IN, Context, Notes, Pass, require_arch
from ..mapping.jobs import MAPPER_DIED, MapJob, Progress, unobserved
from ..mapping.mapper import Mapper, MappingResult, MappingStatus
from ..mapping.problem import MappingProblem, Objective
from ..mapping.recipes.in_tiles import InTiles, Shared, in_haste, in_tiles
from ..mapping.registry import find_mapper
from ..tiling.residency import residency
from .across.schedule_across import promised
from .groups_ahead import find_ahead
from .map_groups import GroupMapping, mapping_of, problem_on
from .static.known_schedules import KnownSchedules, Make
from .static.schedule_tiles import schedule_in_turn, schedule_operator, tiles_in_turn
from .static.static import rating_of
from .timing.work import Works

_FIRST_TILE = 0.3
"""Which part of bringing one tile of weights counts in each stripe of nests with small ones. With
0.2 or 0.5, ResNet-50 takes 0.2 % more cycles on simba."""


@dataclass(frozen=True)
class MapOperators(Pass):
    """Give every operator of the MAC array its loop nest.

    ::

        graph_schedule    ->    mappings: one nest per convolution or product

    Equal workloads under equal conditions are mapped once. Where cycles are minimised by a mapper
    that has a stand-in, that one competes: its nest is taken if its tiles are better scheduled,
    cycles and bytes alike. Groups of stripes may get smaller tiles of weights, too, if the network
    is faster with them.
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
        steps = len(first) + len(plan.groups)
        results = self.solve(
            tuple(first.items()),
            arch,
            ctx,
            progress=lambda done, _, asked: ctx.progress(
                self._at(module.graph, None if asked is None else first.get(asked.problem)),
                done,
                steps,
            ),
        )
        for problem, result in results.items():
            ctx.counters.add(f"{SECONDS_OF}{first[problem]}", result.seconds)
        ctx.counters.add("distinct workloads", len(results))
        rival = find_mapper(self.mapper).stand_in
        is_compared = rival.name != self.mapper and self.objective is Objective.LATENCY
        if is_compared and not ctx.deadline.is_over:
            results = self._compared(module, results, first, ctx)
        usual = [mapping_of(name, results[problem]) for name, problem in problems]
        early = list(usual)
        # without lag, where nests are compared; not kept for the passes behind, as memory is short
        in_turn = KnownSchedules()
        began = partial(ctx.progress, f"{self.name}: groups", len(first), steps)
        find_ahead(self.of_group, module, in_turn, ctx, began)
        for number, group in enumerate(plan.groups, start=len(first)):
            ctx.progress(self._at(module.graph, *group.members), number, steps)
            nests, small = self.of_group(module, group, in_turn, ctx)
            usual += nests
            early += small
        if ctx.deadline.is_over:
            ctx.counters.add(CUT_SHORT)
        mapped = replace(module, mappings=tuple(usual))
        return faster(mapped, replace(module, mappings=tuple(early)), ctx.notes)

    def _at(self, graph: Graph, *names: str | None) -> str:
        """Return what the pass is at, for people: the first operator with MACs of these."""
        ops = [graph.producer[name] for name in names if name is not None]
        op = next((item for item in ops if workload(item, graph.types) is not None), None)
        return self.name if op is None else f"{self.name}: {op.loc or op.name}"

    def of_group(
        self, module: Module, group: Group, in_turn: KnownSchedules, ctx: Context
    ) -> tuple[tuple[OperatorMapping, ...], tuple[OperatorMapping, ...]]:
        """Return the nests of a group, and those with small tiles of weights if these are better.

        Args:
            module: The network with its plan.
            group: The group.
            in_turn: Knows schedules in which no chain lags.
            ctx: Who solves.

        Raises:
            InfeasibleError: No nests fit.
        """
        make = partial(in_turn.of, make=schedule_in_turn)
        asked = GroupMapping(module, group, self.objective, ctx.seed, make)
        nests = self._of_group(asked, ctx)
        return nests, self._early(asked, nests, ctx)

    def _of_group(self, asked: GroupMapping, ctx: Context) -> tuple[OperatorMapping, ...]:
        """Return the nests of a group: of the mapper, or of its stand-in, as they are or improved.

        Those are among them that the plan was made with. They are compared by schedules in which no
        chain lags: which ones should is looked for when tiles are scheduled, and hardly depends on
        the nests. For the latency cycles and bytes count alike, for its plan stands on both;
        otherwise the objective does. What a mapper could prove of its members' nests holds for a
        stripe in the cost model, and tells little of the group.
        """
        arch = require_arch(asked.module)
        own, npus = find_mapper(self.mapper).without_proof, len(arch.npus)
        rough = replace(self, mapper=own.stand_in.name)
        known: dict[MappingProblem, MappingResult] = {}

        def guide(
            problems: Sequence[tuple[MappingProblem, str]],
        ) -> Mapping[MappingProblem, MappingResult]:
            new = [item for item in problems if item[0] not in known]
            known.update(rough.solve(new, arch, ctx))
            return known

        found: list[tuple[float, tuple[OperatorMapping, ...]]] = []
        complaint: InfeasibleError | None = None
        for mapper in dict.fromkeys((in_tiles(own, npus), *stand_ins(own, npus))):
            try:
                nests, schedule = asked.best(partial(self.timed, arch, ctx, mapper), guide)
                found.append((price_of(schedule, arch, self.objective), nests))
            except InfeasibleError as error:
                complaint = complaint or error
            if found and ctx.deadline.is_over:
                break
        if not found:
            assert complaint is not None
            raise complaint
        return min(found, key=lambda item: item[0])[1]

    def _early(
        self, asked: GroupMapping, nests: tuple[OperatorMapping, ...], ctx: Context
    ) -> tuple[OperatorMapping, ...]:
        """Return nests of a group with small tiles of weights, if its own tiles are better so.

        Small ones come while what runs before still needs a part of their memory, and the first
        stripe begins before all of them are there.

        Args:
            asked: About the group, with schedules in which no chain lags.
            nests: Those that it has otherwise, and that are returned if they are better.
            ctx: Who solves.
        """
        arch, mapper = require_arch(asked.module), find_mapper(self.mapper).stand_in
        if not asked.group.rows or self.objective is not Objective.LATENCY or ctx.deadline.is_over:
            return nests
        small = InTiles(mapper=mapper, npus=len(arch.npus), first_tile=_FIRST_TILE)
        try:
            found, schedule = asked.best(partial(self.timed, arch, ctx, small))
        except InfeasibleError:
            return nests
        if rating_of(schedule) >= rating_of(asked.schedule(nests)):
            return nests
        full = replace(asked, make=_schedules(ctx))
        return found if rating_of(full.schedule(found)) < rating_of(full.schedule(nests)) else nests

    def _compared(
        self,
        module: Module,
        results: Mapping[MappingProblem, MappingResult],
        names: Mapping[MappingProblem, str],
        ctx: Context,
    ) -> Mapping[MappingProblem, MappingResult]:
        """Return the stand-in's results where their tiles are better."""
        npus = len(require_arch(module).npus)
        rivals = stand_ins(find_mapper(self.mapper), npus)
        jobs = [_job(item, mapper, ctx) for item in results for mapper in rivals]
        answers = ctx.solve_jobs(jobs, unobserved)
        found = dict(results)
        for number, (job, other) in enumerate(zip(jobs, answers, strict=True)):
            ctx.progress(f"{self.name}: nests compared", number, len(jobs))
            if isinstance(other, InfeasibleError):
                continue
            if ctx.deadline.is_over:
                break
            problem = job.problem
            first = mapping_of(names[problem], found[problem])
            second = mapping_of(names[problem], other)
            best = winner(module, first, second, _schedules(ctx))
            if best is not first:
                taken = Shared(problem, npus).restated(results[problem], other.nest)
                if taken.status is MappingStatus.FALLBACK:
                    taken = replace(taken, status=other.status)
                found[problem] = replace(taken, mapper=other.mapper, note=best.note)
        ctx.counters.add("greedy nests", sum(found[item] is not results[item] for item in found))
        return found

    def timed(
        self,
        arch: Architecture,
        ctx: Context,
        mapper: Mapper,
        problems: Sequence[tuple[MappingProblem, str]],
    ) -> Mapping[MappingProblem, MappingResult]:
        """Return the mapping of each problem, and note how long it took.

        Args:
            arch: The accelerator.
            ctx: Who solves, and who counts.
            mapper: Who is asked.
            problems: Problems, each with its operator.

        Raises:
            InfeasibleError: Nothing fits one of them; names the operator.
        """
        found = self.solve(tuple(problems), arch, ctx, mapper)
        for problem, name in problems:
            ctx.counters.add(f"{SECONDS_OF}{name}", found[problem].seconds)
        return found

    def solve(
        self,
        problems: Sequence[tuple[MappingProblem, str]],
        arch: Architecture,
        ctx: Context,
        mapper: Mapper | None = None,
        progress: Progress = unobserved,
    ) -> Mapping[MappingProblem, MappingResult]:
        """Return the mapping of each problem.

        Args:
            problems: Distinct problems, each with the operator to name where nothing fits.
            arch: The accelerator.
            ctx: Who solves.
            mapper: Who is asked; the pass's own mapper by default.
            progress: Called while problems are solved.

        Raises:
            InfeasibleError: Nothing fits one of them; names the operator.
        """
        asked = mapper or in_tiles(find_mapper(self.mapper), len(arch.npus))
        answers = ctx.solve_jobs([_job(problem, asked, ctx) for problem, _ in problems], progress)
        found: dict[MappingProblem, MappingResult] = {}
        for (problem, name), answer in zip(problems, answers, strict=True):
            if isinstance(answer, InfeasibleError):
                raise InfeasibleError(
                    f"%{name} ({problem.workload}): {answer.message}", hint=answer.hint
                ) from answer
            found[problem] = answer
        died = sum(answer.note == MAPPER_DIED for answer in found.values())
        if died:
            ctx.counters.add(STOOD_IN, died)
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


def stand_ins(mapper: Mapper, npus: int) -> tuple[Mapper, ...]:
    """Return who stands in for a mapper in whole networks: nests as they are, and improved.

    What improved ones promise is an estimate, so all are there to be scheduled: also what becomes
    of the mapper's own unrolling, where one of another promises more. The plan was made with the
    better of the first and the last.

    Args:
        mapper: The mapper.
        npus: Among how many NPUs the work is shared.
    """
    rival = mapper.stand_in
    improved = InTiles(mapper=rival, npus=npus)
    return in_tiles(rival, npus), replace(improved, promising=0), improved


def faster(module: Module, other: Module, notes: Notes) -> Module:
    """Return the other module if its tiles promise to be faster both in turn and across operators.

    Which nests are better depends on what runs before and behind them, and how fast tiles are that
    cross operators is only promised before they are timed; so both have to agree.

    Args:
        module: With a graph schedule and mappings.
        other: The same with other mappings.
        notes: What passes that schedule tiles know, and will know.
    """
    if module.mappings == other.mappings:
        return module
    turn, other_turn = (tiles_in_turn(item, notes) for item in (module, other))
    if other_turn.cycles >= turn.cycles:
        return module
    in_turn = (replace(module, tile_schedule=turn), replace(other, tile_schedule=other_turn))
    across, other_across = (promised(item, notes) for item in in_turn)
    return other if other_across < across else module


def _job(problem: MappingProblem, mapper: Mapper, ctx: Context) -> MapJob:
    return MapJob(problem, mapper, in_haste(mapper), ctx.deadline)


def _resident(op: Op, names: Collection[str]) -> frozenset[Operand]:
    found = {Operand.W: op.operands[1], Operand.I: op.operands[0], Operand.O: op.name}
    return frozenset(operand for operand, name in found.items() if name in names)


def _schedules(ctx: Context) -> Make:
    """Return what schedules operators by themselves, each once."""
    return partial(ctx.notes.of(KnownSchedules).of, make=schedule_operator)


def price_of(schedule: TileSchedule, arch: Architecture, objective: Objective) -> float:
    """Return what nests of a group are compared by.

    Args:
        schedule: Of the group by itself.
        arch: The machine.
        objective: What nests are chosen for.
    """
    match objective:
        case Objective.LATENCY | Objective.NETWORK:
            return rating_of(schedule)
        case Objective.EDP:
            return schedule.cycles * scheduled_energy(schedule, arch)
        case Objective.ENERGY:
            return scheduled_energy(schedule, arch)


def scheduled_energy(schedule: TileSchedule, arch: Architecture) -> float:
    """Return what transfers take off chip, and operations of the MAC array [pJ].

    What is left out, vector operations and the other ends of transfers, depends little on nests.

    Args:
        schedule: Of tiles.
        arch: The machine.
    """
    works, spent = Works(schedule.graph, arch), 0.0
    read, write = (
        energy_of(arch, arch.off_chip.name, way) for way in (Direction.READ, Direction.WRITE)
    )
    for event in schedule.events:
        if event.kind in TRANSFERS:
            word_bits, each = read if event.kind in INWARDS else write
            spent += 8 * schedule.graph.tiles[event.subject].bytes / word_bits * each
        elif (op := schedule.graph.ops[event.subject]).accumulates:
            spent += works.cost(op, event.index, clear=event.clear).energy_pj
    return spent


def winner(
    module: Module,
    first: OperatorMapping,
    second: OperatorMapping,
    make: Make = schedule_operator,
) -> OperatorMapping:
    """Return the mapping whose tile schedule is better, the first one of equals.

    Cycles and bytes count alike, as in the plan: it stands on what the better of such nests move.

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
    one, other = scheduled_tiles(module, first, make), scheduled_tiles(module, second, make)
    if other is None or (one is not None and rating_of(one) <= rating_of(other)):
        return first
    fate = "cannot be scheduled" if one is None else _account(one)
    note = f"its tiles {_account(other)}, those of the nest by {first.mapper} {fate}"
    return replace(second, note=note)


def _account(schedule: TileSchedule) -> str:
    return f"take {schedule.cycles} cycles and move {schedule.transferred_bytes} bytes"


def scheduled_tiles(
    module: Module, mapping: OperatorMapping, make: Make = schedule_operator
) -> TileSchedule | None:
    """Return the tiles of a mapped operator, ``None`` where they do not fit.

    Args:
        module: With a graph schedule.
        mapping: Of the operator.
        make: Schedules the tiles.
    """
    tried = replace(module, mappings=(mapping,))
    try:
        return make(tried, module.graph.producer[mapping.operator])
    except InfeasibleError:
        return None

"""Pass: find a loop nest for every operator of the MAC array."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError
from ...ir.graph import Graph, Op
from ...ir.graph_schedule import GraphSchedule
from ...ir.module import Mapping as OperatorMapping
from ...ir.module import Module, Stage
from ...ir.ops import workload
from ...ir.workload import Operand, Workload
from ..base import Context, Pass, require_arch
from ..tiling.residency import residency
from .base import (
    MapOptions,
    Mapper,
    MappingResult,
    MappingStatus,
    Objective,
    held_resident,
    with_workspace,
)
from .contest import winner
from .cosa.mapper import Cosa
from .in_tiles import InTiles, Shares, share_of
from .jobs import MapJob
from .output_stationary import OutputStationary
from .registry import find_mapper


@dataclass(frozen=True, slots=True)
class MapTask:
    """One distinct question to a mapper.

    Attributes:
        workload: What is computed.
        workspace: Bytes of the scratchpad for its tiles, both halves together [byte].
        resident: Operands that lie whole in the scratchpad.
    """

    workload: Workload
    workspace: int
    resident: frozenset[Operand]


@dataclass(frozen=True)
class MapOperators(Pass):
    """Give every operator of the MAC array its loop nest.

    ::

        graph_schedule    ->    mappings: one nest per convolution or product

    Equal workloads under equal conditions are mapped once. Where CoSA minimises cycles, the greedy
    mapper competes: its nest is taken if its tiles are scheduled in fewer cycles.
    """

    name: ClassVar[str] = "map-operators"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.ARCH, Stage.GRAPH_SCHEDULE})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.MAPPINGS})

    mapper: str = "cosa"
    objective: Objective = Objective.LATENCY

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with a mapping of each operator of the MAC array."""
        arch, plan = require_arch(module), module.graph_schedule
        assert plan is not None
        tasks = map_tasks(module.graph, plan, arch)
        first: dict[MapTask, str] = {}
        for name, task in tasks:
            first.setdefault(task, name)
        results = self.solve(tuple(first.items()), arch, ctx)
        for task, result in results.items():
            ctx.counters.add(f"seconds of {first[task]}", result.seconds)
        ctx.counters.add("distinct workloads", len(results))
        if self.mapper == Cosa().name and self.objective is Objective.LATENCY:
            results = self._contest(module, results, first, ctx)
        return replace(
            module,
            mappings=tuple(mapping_of(name, results[task]) for name, task in tasks),
        )

    def _contest(
        self,
        module: Module,
        results: Mapping[MapTask, MappingResult],
        names: Mapping[MapTask, str],
        ctx: Context,
    ) -> Mapping[MapTask, MappingResult]:
        """Return the greedy mapper's results where their tiles are scheduled in fewer cycles."""
        arch = require_arch(module)
        greedy = MapOperators(mapper=OutputStationary().name)
        jobs = [greedy.job(task, arch, ctx.seed) for task in results]
        answers = ctx.solve_jobs(jobs, lambda done, total: None)
        found = dict(results)
        for number, (task, other) in enumerate(zip(results, answers, strict=True)):
            ctx.progress("nests compared", number, len(results))
            if isinstance(other, InfeasibleError):
                continue
            first = mapping_of(names[task], results[task])
            best = winner(module, first, mapping_of(names[task], other))
            if best is not first:
                taken = self._shares(task, arch).restated(results[task], other.nest)
                if taken.status is MappingStatus.FALLBACK:
                    taken = replace(taken, status=other.status)
                found[task] = replace(taken, mapper=other.mapper, note=best.note)
                ctx.counters.add("greedy nests")
        return found

    def _shares(self, task: MapTask, arch: Architecture) -> Shares:
        machine = share_of(arch.for_npu(arch.npus[0]), len(arch.npus))
        return Shares(
            with_workspace(machine, task.workspace),
            held_resident(machine, task.resident),
            len(arch.npus),
            self.objective,
        )

    def solve(
        self, tasks: Sequence[tuple[MapTask, str]], arch: Architecture, ctx: Context
    ) -> Mapping[MapTask, MappingResult]:
        """Return the mapping of each task.

        Args:
            tasks: Distinct tasks, each with the operator to name where nothing fits.
            arch: The accelerator.
            ctx: Who solves, and the seed.

        Raises:
            InfeasibleError: Nothing fits one of them; names the operator.
        """
        jobs = [self.job(task, arch, ctx.seed) for task, _ in tasks]
        answers = ctx.solve_jobs(
            jobs, lambda done, total: ctx.progress("operators mapped", done, total)
        )
        found: dict[MapTask, MappingResult] = {}
        for (task, name), answer in zip(tasks, answers, strict=True):
            if isinstance(answer, InfeasibleError):
                raise InfeasibleError(
                    f"%{name} ({task.workload}): {answer.message}", hint=answer.hint
                ) from answer
            found[task] = answer
        return found

    def job(self, task: MapTask, arch: Architecture, seed: int) -> MapJob:
        """Return the question that a task puts to the mapper."""
        return MapJob(
            workload=task.workload,
            arch=arch.for_npu(arch.npus[0]),
            mapper=in_tiles(find_mapper(self.mapper), len(arch.npus)),
            workspace=task.workspace,
            resident=task.resident,
            options=MapOptions(objective=self.objective, seed=seed),
        )


def in_tiles(mapper: Mapper, npus: int) -> Mapper:
    """Return the mapper for whole networks; the greedy one makes large tiles by itself."""
    if isinstance(mapper, OutputStationary):
        return mapper
    return InTiles(mapper=mapper, npus=npus)


def map_tasks(
    graph: Graph, plan: GraphSchedule, arch: Architecture
) -> tuple[tuple[str, MapTask], ...]:
    """Return (operator, task) for every operator of the MAC array, in execution order.

    NPUs work side by side, so each may fill its share of the workspace.
    """
    tasks: list[tuple[str, MapTask]] = []
    for name in plan.order:
        op = graph.producer[name]
        base = workload(op, graph.types)
        if base is None:
            continue
        place = residency(graph, plan, op)
        tasks.append(
            (
                name,
                MapTask(
                    workload=replace(base, psum_bits=arch.accumulator_bits),
                    workspace=place.workspace_bytes // len(arch.npus),
                    resident=_resident(op, place.addresses),
                ),
            )
        )
    return tuple(tasks)


def _resident(op: Op, names: Collection[str]) -> frozenset[Operand]:
    found = {Operand.W: op.operands[1], Operand.I: op.operands[0], Operand.O: op.name}
    return frozenset(operand for operand, name in found.items() if name in names)


def mapping_of(name: str, result: MappingResult) -> OperatorMapping:
    """Return what a module keeps of a mapper's result."""
    return OperatorMapping(
        operator=name,
        nest=result.nest,
        mapper=result.mapper,
        status=result.status.value,
        objective=result.objective,
        bound=result.bound,
        scope=result.scope,
        estimate=result.estimate,
        note=result.note,
    )

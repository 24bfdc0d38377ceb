"""Fused groups that helpers find nests for, before these are asked for.

::

    asked ahead    groups A B C    ->    one helper A.. C...., another one B.....
    asked          A, then B, C    ->    their nests and schedules are known

What is chosen does not depend on it: the same is asked afterwards, and what no helper has found is
worked out then.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ...ir.graph_schedule import Group
from ...ir.module import Module
from ...ir.tiles.schedule import TileSchedule
from ..base import Context, Notes
from ..deadline import Deadline
from ..helpers import Helped
from ..mapping.jobs import KnownNests, MapJob
from ..mapping.mapper import MappingResult
from ..tiling.residency import unit_of
from .static.known_schedules import KnownSchedules, Nests

Find: TypeAlias = Callable[[Module, Group, KnownSchedules, Context], object]
"""Chooses the nests of a group; can be pickled. It is given the schedules without lag."""


def find_ahead(find: Find, module: Module, in_turn: KnownSchedules, ctx: Context) -> None:
    """Let helpers choose the nests of the groups of a network, and note what they have found.

    Groups that are alike are one question.

    Args:
        find: Who chooses.
        module: The network with its plan.
        in_turn: Takes the schedules without lag.
        ctx: Who helps, and where nests and schedules are noted.
    """
    plan, known, nests = (
        module.graph_schedule,
        ctx.notes.of(KnownSchedules),
        ctx.notes.of(KnownNests),
    )
    assert plan is not None
    bare, distinct = Module(graph=module.graph, arch=module.arch, graph_schedule=plan), {}
    for group in plan.groups:
        alike = known.conditions(module, unit_of(module.graph, plan, group.name))
        distinct.setdefault(
            alike, _Question(find, bare, group, nests.by_job, ctx.seed, ctx.deadline)
        )
    questions = tuple(distinct.values())
    if len(questions) < 2:
        return
    for question, answer in zip(questions, ctx.helpers(questions), strict=True):
        if answer is not None:
            nests.by_job.update(answer.found.nests)
            unit = unit_of(module.graph, plan, question.group.name)
            in_turn.note(module, unit, answer.found.in_turn)
            known.note(module, unit, answer.found.schedules)


@dataclass(frozen=True)
class _Answer:
    """What a helper has found for a group.

    Attributes:
        nests: Answers of mappers that were not known before.
        in_turn: Schedules without lag, by nests.
        schedules: The best schedules, by nests.
    """

    nests: Mapping[MapJob, MappingResult]
    in_turn: Mapping[Nests, TileSchedule]
    schedules: Mapping[Nests, TileSchedule]


@dataclass(frozen=True)
class _Question:
    """What a helper is asked about a group.

    Attributes:
        find: Who chooses its nests.
        module: The network with its plan, and no more.
        group: The group.
        nests: Answers of mappers that are known.
        seed: Of mappers.
        deadline: When it is not answered any more.
    """

    find: Find
    module: Module
    group: Group
    nests: Mapping[MapJob, MappingResult]
    seed: int
    deadline: Deadline

    def answer(self) -> Helped[_Answer] | None:
        """Return what there is to know of the group once its nests are chosen."""
        if self.deadline.is_over:
            return None
        notes, in_turn, plan = Notes(), KnownSchedules(), self.module.graph_schedule
        assert plan is not None
        known = notes.of(KnownNests)
        known.by_job.update(self.nests)
        context = Context(
            seed=self.seed, solve_jobs=known.solve, notes=notes, deadline=self.deadline
        )
        self.find(self.module, self.group, in_turn, context)
        unit = unit_of(self.module.graph, plan, self.group.name)
        return Helped(
            _Answer(
                {job: found for job, found in known.by_job.items() if job not in self.nests},
                in_turn.made(self.module, unit),
                notes.of(KnownSchedules).made(self.module, unit),
            )
        )

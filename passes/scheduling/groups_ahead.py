"""Fused groups that helpers find nests for, before these are asked for.

::

    asked ahead    groups A B C    ->    one helper A.. C...., another one B.....
    asked          A, then B, C    ->    their nests and schedules are known

What is chosen does not depend on it: the same is asked afterwards, and what no helper has found is
worked out then.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ...ir.errors import InfeasibleError
from ...ir.graph_schedule import Group
from ...ir.module import Mapping as OperatorMapping
from ...ir.module import Module
from ..base import Context, Notes
from ..deadline import Deadline
from ..helpers import Helped
from ..mapping.jobs import KnownNests, MapJob
from ..mapping.mapper import MappingResult
from ..tiling.groups.stripes import stripe_count
from ..tiling.residency import unit_of
from .static.known_schedules import KnownSchedules, Made, Nests
from .static.schedule_tiles import schedule_operator

_WORTH_HELPERS = 300
"""Parts of stripes, one of each member, from which on helpers are asked: those of fewer are
scheduled before a process has started."""

Find: TypeAlias = Callable[
    [Module, Group, KnownSchedules, Context], Sequence[tuple[OperatorMapping, ...]]
]
"""Returns nests of a group that the network may get, and can be pickled. It is given what knows
schedules in which no chain lags."""


def find_ahead(
    find: Find,
    module: Module,
    in_turn: KnownSchedules,
    ctx: Context,
    began: Callable[[], None] = lambda: None,
) -> None:
    """Let helpers choose the nests of the groups of a network, and note what they have found.

    Groups that are alike are one question.

    Args:
        find: Who chooses.
        module: The network with its plan.
        in_turn: Takes the schedules in which no chain lags.
        ctx: Who helps, and where nests and schedules are noted.
        began: Called where helpers are asked, before they are.
    """
    plan, known, nests = (
        module.graph_schedule,
        ctx.notes.of(KnownSchedules),
        ctx.notes.of(KnownNests),
    )
    assert plan is not None
    bare = Module(graph=module.graph, arch=module.arch, graph_schedule=plan)
    distinct: dict[Hashable, _Question] = {}
    for group in plan.groups:
        alike = known.conditions(module, unit_of(module.graph, plan, group.name))
        question = _Question(find, bare, group, nests.by_job, ctx.seed, ctx.deadline)
        distinct.setdefault(alike, question)
    questions = tuple(distinct.values())
    if len(questions) < 2 or sum(item.parts for item in questions) < _WORTH_HELPERS:
        return
    began()
    for question, answer in zip(questions, ctx.helpers(questions), strict=True):
        if answer is not None:
            unit = unit_of(module.graph, plan, question.group.name)
            nests.by_job.update(answer.found.nests)
            in_turn.note(module, unit, answer.found.in_turn)
            known.note(module, unit, answer.found.schedules)


@dataclass(frozen=True)
class _Answer:
    """What a helper has found for a group.

    Attributes:
        nests: Answers of mappers that were not known before.
        in_turn: Schedules in which no chain lags, by their nests.
        schedules: The best schedules, by their nests.
    """

    nests: Mapping[MapJob, MappingResult]
    in_turn: Mapping[Nests, Made]
    schedules: Mapping[Nests, Made]


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

    @property
    def parts(self) -> int:
        """How many parts the stripes of the group have, one of each member."""
        graph, members = self.module.graph, self.group.members
        return len(members) * stripe_count(graph, members, self.group.rows)

    def answer(self) -> Helped[_Answer] | None:
        """Return all that choosing the nests of the group has found.

        The passes behind will ask for the schedule of one of these. That no nests fit is left to
        be found again, by who can tell of it.
        """
        notes, in_turn, plan = Notes(), KnownSchedules(), self.module.graph_schedule
        nests, known = notes.of(KnownNests), notes.of(KnownSchedules)
        nests.by_job.update(self.nests)
        context = Context(
            seed=self.seed, solve_jobs=nests.solve, notes=notes, deadline=self.deadline
        )
        assert plan is not None
        unit = unit_of(self.module.graph, plan, self.group.name)
        if self.deadline.is_over:
            return None
        try:
            for mappings in self.find(self.module, self.group, in_turn, context):
                known.of(replace(self.module, mappings=mappings), unit, schedule_operator)
        except InfeasibleError:
            return None
        in_turn_made, made = (item.made(self.module, unit) for item in (in_turn, known))
        return Helped(_Answer(nests.since(len(self.nests)), in_turn_made, made))

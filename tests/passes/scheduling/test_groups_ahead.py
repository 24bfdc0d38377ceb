"""Helpers find what groups will be asked; who finds it changes nothing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Group
from accnn.ir.module import Module
from accnn.passes.base import Context
from accnn.passes.deadline import Deadline
from accnn.passes.helpers import Helped, HelperQuestion
from accnn.passes.mapping.jobs import Answer, KnownNests, MapJob, Progress
from accnn.passes.scheduling import groups_ahead
from accnn.passes.scheduling.map_operators import MapOperators
from accnn.passes.scheduling.static import schedule_tiles
from accnn.passes.scheduling.static.known_schedules import KnownSchedules
from accnn.passes.scheduling.static.schedule_tiles import ScheduleTiles
from accnn.passes.tiling.residency import unit_of
from tests.elsewhere import Elsewhere
from tests.networks import NetworkBuilder
from tests.passes.tiling.groups.fused import planned

GREEDY = MapOperators(mapper="output-stationary")


def blocks(channels: Sequence[int]) -> Graph:
    """Pairs of filters, one behind the other."""
    net = NetworkBuilder()
    x = net.input("x", (1, 16, 8, 16), 1)
    for number, count in enumerate(channels):
        x = net.conv(net.conv(x, f"a{number}", count, 1), f"b{number}", 16, 3)
    return net.build(x)


def fused(channels: Sequence[int] = (8, 24, 8), budget: int | None = None) -> Module:
    """Each pair is a group of its own; those of equal channels are alike."""
    groups = [Group(members=(f"a{n}", f"b{n}"), rows=2) for n in range(len(channels))]
    return planned(blocks(channels), "simba-8x8", groups, budget)


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups_ahead, "_WORTH_HELPERS", 0)


def only_known(context: Callable[[], Context]) -> Callable[..., tuple[Answer, ...]]:
    """Return a solver that refuses what is not known."""

    def solve(jobs: Sequence[MapJob], progress: Progress) -> tuple[Answer, ...]:
        known = context().notes.of(KnownNests)
        assert known.by_job.keys() >= set(jobs)
        return known.solve(jobs, progress)

    return solve


@cache
def without_helpers() -> Module:
    """Return the groups with nests and tiles that nobody helped to find."""
    alone = Context()
    return ScheduleTiles().run(GREEDY.run(fused(), alone), alone)


@pytest.mark.parametrize("left", [(), (0,), (1,)])
def test_who_chooses_changes_no_nest_and_no_schedule(left: tuple[int, ...]):
    module = fused()
    said: list[tuple[str, int, int]] = []
    helpers = Elsewhere(left)
    helped = Context(helpers=helpers, progress=lambda *at: said.append(at))

    nests = GREEDY.run(module, helped)

    assert nests.mappings == without_helpers().mappings
    assert helpers.asked == 2
    assert said[1] == ("map-operators: groups", 0, 3)
    assert ScheduleTiles().run(nests, helped).tile_schedule == without_helpers().tile_schedule


def test_what_helpers_have_found_is_not_found_again(monkeypatch: pytest.MonkeyPatch):
    """No mapper is asked after them, and no group is scheduled, in turn or otherwise."""
    module = fused((8, 24))
    context = Context(helpers=Elsewhere(), solve_jobs=only_known(lambda: context))
    in_turn = KnownSchedules()
    groups_ahead.find_ahead(GREEDY.of_group, module, in_turn, context)
    monkeypatch.setattr(schedule_tiles, "GroupSchedules", None)

    nests = [
        item
        for group in module.graph_schedule.groups
        for item in GREEDY.of_group(module, group, in_turn, context)[0]
    ]

    assert {item.operator for item in nests} == {"a0", "b0", "a1", "b1"}
    mapped = replace(module, mappings=tuple(nests))
    assert ScheduleTiles().run(mapped, context).tile_schedule is not None


def test_helpers_are_not_asked_about_a_single_group():
    helpers = Elsewhere()

    GREEDY.run(fused((8, 8)), Context(helpers=helpers))  # these are alike

    assert helpers.asked == 0


def test_helpers_are_not_asked_about_little(monkeypatch: pytest.MonkeyPatch):
    """Three groups of two members have four stripes each."""
    monkeypatch.setattr(groups_ahead, "_WORTH_HELPERS", 2 * 2 * 4 + 1)
    helpers = Elsewhere()

    GREEDY.run(fused(), Context(helpers=helpers))

    assert helpers.asked == 0


def answers_of(module: Module, context: Context) -> list[Helped[Any] | None]:
    """Return what helpers say about the groups of a network."""
    found: list[Helped[Any] | None] = []

    def noting(questions: Sequence[HelperQuestion[Any]]) -> tuple[Helped[Any] | None, ...]:
        found.extend(item.answer() for item in questions)
        return tuple(found)

    asking = Context(helpers=noting, deadline=context.deadline)
    groups_ahead.find_ahead(GREEDY.of_group, module, KnownSchedules(), asking)
    return found


def test_helpers_begin_nothing_once_the_deadline_is_over():
    over = Deadline.after(0.0)

    assert answers_of(fused(), Context(deadline=over)) == [None, None]


def test_helpers_leave_groups_that_do_not_fit_to_who_can_tell_of_it():
    groups = fused().graph_schedule.groups
    small = planned(blocks((8, 24, 8)), "simba-8x8", groups, 2000)

    first, second = answers_of(small, Context())

    assert first is not None
    assert second is None
    with pytest.raises(InfeasibleError, match="b1"):
        GREEDY.run(small, Context(helpers=Elsewhere()))


def test_alike_groups_take_what_was_found_for_one_of_them():
    module, known = fused(), KnownSchedules()
    context = Context(helpers=Elsewhere())

    groups_ahead.find_ahead(GREEDY.of_group, module, known, context)

    a, b, c = (
        known.made(module, unit_of(module.graph, module.graph_schedule, group.name))
        for group in module.graph_schedule.groups
    )
    assert a and b
    assert not c  # its tensors have other names

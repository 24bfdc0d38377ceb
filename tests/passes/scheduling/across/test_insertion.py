"""Parts of an operator go to the NPUs that are idle first, and may keep their order."""

from collections import deque
from collections.abc import Collection
from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.isa.instructions import Unit
from accnn.ir.tiles.events import INWARDS, EventKind
from accnn.ir.tiles.schedule import TileSchedule
from accnn.passes.scheduling.across.insertion import InsertionPolicy, InTurn, dealt, insert
from accnn.passes.scheduling.engine.engines import Engines
from accnn.passes.scheduling.timing.work_bound import are_alike
from tests.passes.scheduling.across.joint import both, branches
from tests.tiles import tiles_of

FOUR = load_architecture("flexer-arch5")


def busy_until(*ends: int) -> Engines:
    engines = Engines(FOUR)
    for npu, end in enumerate(ends):
        engines.work(Unit.MX, npu, end, 0)
    engines.of(Unit.DMA, 0).occupy(0, 1000)
    return engines


def are_ordered(inserted: TileSchedule, given: InTurn, units: Collection[Unit]) -> bool:
    """Whether engines begin what they do for an operator in the order in which they did in turn."""
    starts: dict[tuple[int, EventKind, int], deque[int]] = {}
    for event in sorted(inserted.events, key=lambda event: event.start):
        starts.setdefault((event.step, event.kind, event.subject), deque()).append(event.start)
    last: dict[tuple[int, Unit, int, bool], int] = {}
    for event in given.schedule.events:
        start = starts[event.step, event.kind, event.subject].popleft()
        queue = event.step, event.unit, event.index, event.kind in INWARDS
        if event.unit in units and start < last.get(queue, 0):
            return False
        last[queue] = start
    return True


@pytest.mark.parametrize(("arch", "budget"), [("flexer-arch5", 5000), ("edge-1m", 9000)])
def test_events_keep_their_order_on_engines_that_are_ordered(arch: str, budget: int):
    made = both(branches(), arch, budget=budget)
    plan = made.in_turn.graph_schedule
    assert plan is not None
    given = InTurn(tiles_of(made.in_turn), plan, load_architecture(arch))
    for units in (frozenset(Unit) - {Unit.DMA}, frozenset({Unit.DMA}), frozenset(Unit)):
        assert are_ordered(insert(given, InsertionPolicy(ordered=units)), given, units)
        assert not are_ordered(insert(given, InsertionPolicy()), given, units)


def test_most_work_goes_to_the_npu_that_is_idle_first():
    assert dealt((100, 50, 0, 0), busy_until(90, 70, 20, 30)) == (2, 3, 1, 0)


def test_without_need_nothing_changes():
    assert dealt((10, 10, 10), Engines(FOUR)) == (0, 1, 2)


def test_npus_with_other_arrays_are_not_alike():
    slow = replace(FOUR.npus[0], sizes=(("column", 8),))

    assert are_alike(FOUR)
    assert not are_alike(replace(FOUR, npus=(slow, *FOUR.npus[1:])))

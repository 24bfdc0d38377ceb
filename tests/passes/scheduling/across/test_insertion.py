"""Parts of an operator go to the NPUs that are idle first, and may keep their order."""

from collections import deque
from collections.abc import Collection
from dataclasses import replace
from functools import partial

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.module import Module
from accnn.ir.tiles.events import INWARDS, EventKind
from accnn.ir.tiles.schedule import TileSchedule
from accnn.passes.scheduling.across.insertion import InsertionPolicy, dealt, insert
from accnn.passes.scheduling.across.tables import InTurn
from accnn.passes.scheduling.timing.work_bound import are_alike
from tests.networks import residual_network
from tests.passes.scheduling.across.joint import both, both_of, branches, chain
from tests.passes.scheduling.across.plain.insertion import PlainInTurn, insert_plainly
from tests.passes.tiling.groups.fused import bottleneck, rolling, windows
from tests.tiles import tiles_of

FOUR = load_architecture("flexer-arch5")
NETWORKS = {"chain": chain, "branches": branches, "residual": partial(residual_network, 10)}
ROLLING = {"windows": windows, "bottleneck": bottleneck}


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
        assert are_ordered(insert(given, InsertionPolicy(ordered=units)).schedule, given, units)
        assert not are_ordered(insert(given, InsertionPolicy()).schedule, given, units)


def test_most_work_goes_to_the_npu_that_is_idle_first():
    assert dealt((100, 50, 0, 0), (90, 70, 20, 30)) == (2, 3, 1, 0)


def test_without_need_nothing_changes():
    assert dealt((10, 10, 10), (0, 0, 0)) == (0, 1, 2)


def test_npus_with_other_arrays_are_not_alike():
    slow = replace(FOUR.npus[0], sizes=(("column", 8),))

    assert are_alike(FOUR)
    assert not are_alike(replace(FOUR, npus=(slow, *FOUR.npus[1:])))


def _made(arch: str, budget: int | None, network: str) -> Module:
    """Return a network whose operators run in turn, or a group whose lines roll."""
    if network in ROLLING:
        return rolling(ROLLING[network], arch, behind=(1,))
    return both_of(NETWORKS[network], arch, budget=budget, all_off_chip=False).in_turn


@pytest.mark.parametrize("moving", [frozenset[Space](), frozenset(Space)], ids=["beside", "apart"])
@pytest.mark.parametrize(
    ("arch", "budget", "network"),
    [
        ("flexer-arch5", 5000, "branches"),
        ("flexer-arch5", None, "chain"),
        ("flexer-arch1", 9000, "residual"),
        ("edge-1m", 9000, "branches"),
        ("simba", 5000, "residual"),
        ("simba", None, "windows"),
        ("flexer-arch5", None, "bottleneck"),
    ],
)
def test_events_go_where_looking_at_one_after_the_other_puts_them(
    moving: frozenset[Space], arch: str, budget: int | None, network: str
):
    module = _made(arch, budget, network)
    plan, machine = module.graph_schedule, module.arch
    assert plan is not None and machine is not None
    given = tiles_of(module), plan, machine
    ours, theirs = InTurn(*given), PlainInTurn(*given)
    for ordered in (frozenset[Unit](), frozenset(Unit) - {Unit.DMA}, frozenset({Unit.DMA})):
        for deal in (False, True) if are_alike(machine) else (False,):
            policy = InsertionPolicy(moving=moving, ordered=ordered, deal=deal)

            found, expected = insert(ours, policy), insert_plainly(theirs, policy)

            assert found.cycles == expected.cycles
            assert found.schedule.events == expected.events
            assert found.schedule.placements == expected.placements

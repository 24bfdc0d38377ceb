"""Tiles are where the graph schedule has their tensors, or it is told."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.module import Module
from accnn.ir.tiles.events import EventKind
from accnn.ir.tiles.places import verify_places
from tests.flow import compile_graph
from tests.networks import NetworkBuilder

BUDGET = 12_000


def module() -> Module:
    """Return two convolutions; what the first makes is streamed, what the second makes stays."""
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 28, 28))
    a = net.conv(x, "a", 16, 3)
    graph = net.build(net.conv(a, "b", 4, 1))
    return compile_graph(graph, net.data, "edge-1m", budget=BUDGET, all_off_chip=False).module


def with_plan(**changes: object) -> Module:
    old = module()
    assert old.graph_schedule is not None
    return replace(old, graph_schedule=replace(old.graph_schedule, **changes))


def moved_resident() -> Module:
    plan = module().graph_schedule
    assert plan is not None
    (place,) = plan.residences
    moved = replace(place, address=place.address - 8)
    return with_plan(residences=(moved,), workspaces=plan.workspaces[:1])


def without_streams(*steps: int) -> Module:
    plan = module().graph_schedule
    assert plan is not None
    return with_plan(streams=tuple(item for item in plan.streams if item.step not in steps))


def test_what_the_compiler_makes_is_right():
    found = module()

    plan = found.graph_schedule
    assert plan is not None
    assert plan.streamed("a", 0) and plan.streamed("a", 1) and plan.resident("b", 1) is not None
    found.verify()


DAMAGE: dict[str, tuple[Callable[[], Module], str]] = {
    "a tensor that is resident elsewhere": (moved_resident, "takes %b to be resident at"),
    "a tensor that is not resident": (lambda: with_plan(residences=()), "%b takes %b to be"),
    "a result that is not streamed": (
        lambda: without_streams(0),
        "%a stores tiles of %a, which is not streamed",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_named(what: str):
    damaged, message = DAMAGE[what]

    with pytest.raises(VerifyError, match=message):
        damaged().verify()


def test_operators_in_another_order_are_told():
    found = module()
    plan, schedule = found.graph_schedule, found.tile_schedule
    assert plan is not None and schedule is not None

    with pytest.raises(VerifyError, match="does not have the operators of the graph schedule"):
        verify_places(replace(plan, order=("b", "a")), schedule)


def test_a_network_finds_nothing_on_chip():
    found = module()
    schedule = found.tile_schedule
    assert schedule is not None
    given = replace(schedule, graph=replace(schedule.graph, preloaded=("x",)))

    with pytest.raises(VerifyError, match="nothing brings %x on chip"):
        replace(found, tile_schedule=given).verify()


def test_a_move_at_another_step_is_told():
    found = module()
    schedule = found.tile_schedule
    assert schedule is not None
    events = [
        replace(event, step=0)
        if event.kind is EventKind.STORE and schedule.graph.tiles[event.subject].is_resident
        else event
        for event in schedule.events
    ]

    with pytest.raises(VerifyError, match="moves %b at step 0 .store., the graph schedule does"):
        replace(found, tile_schedule=replace(schedule, events=tuple(events))).verify()


def test_a_resident_result_that_leaves_a_cycle_before_it_is_there_is_told():
    found = module().tile_schedule
    assert found is not None
    made, leaves = found.events[-2:]
    assert leaves.kind is EventKind.STORE and leaves.start == made.end

    early = replace(leaves, start=made.end - 1)
    with pytest.raises(VerifyError, match="reads resident tile .* before it is there"):
        replace(found, events=(*found.events[:-1], early)).verify()

"""The static tile scheduler: valid on everything, and its prediction holds on the machine."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph_schedule import Group
from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.tiles.events import EventKind
from accnn.ir.tiles.graph import Range, Role
from accnn.passes.scheduling.static.static import schedule_static
from accnn.passes.scheduling.timing.retime import issued_events, queue_numbers, timed
from accnn.passes.scheduling.timing.work import Works
from tests.flow import compile_graph
from tests.networks import NetworkBuilder
from tests.passes.scheduling.static.products import box_of, product, ranges
from tests.passes.scheduling.timing.issued import waits_of
from tests.passes.tiling.groups.fused import compile_fused
from tests.thinned import examples
from tests.tiles import tiles_of
from tests.timed import program_cycles

EDGE = load_architecture("edge-1m")
FOUR = load_architecture("flexer-arch5")


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(200, 3000),
    st.sampled_from([EDGE, FOUR]),
    st.sampled_from([Space.AB, Space.GB]),
)
def test_schedules_are_valid_where_tiles_fit(
    outputs: int, depth: int, size: int, arch: Architecture, acc: Space
):
    graph = product(outputs, depth, acc=acc)
    try:
        schedule = schedule_static(graph, arch, ranges(size))
    except InfeasibleError as error:
        assert "gb" in error.message
        assert (error.shortage is None) == ("in several" in error.message)
        assert size < 2500
        return

    schedule.verify()
    assert schedule.cycles == max(event.end for event in schedule.events)
    computes = [event for event in schedule.events if event.kind is EventKind.COMPUTE]
    assert len(computes) == len(graph.ops)
    busy = sum(event.end - event.start for event in schedule.events if event.unit is Unit.MX)
    assert busy >= 50 * outputs * depth
    for item in schedule.placements:
        base, extent = ranges(size)[graph.tiles[item.tile].space]
        assert base <= item.address
        assert item.address + graph.tiles[item.tile].bytes <= base + extent


def test_tiles_are_loaded_once_where_everything_fits():
    schedule = schedule_static(product(4, 3), EDGE, ranges(1 << 16))

    loads = [event.subject for event in schedule.events if event.kind is EventKind.LOAD]
    assert len(loads) == len(set(loads))
    assert schedule.transferred_bytes == 64 * (12 + 3 + 4)


def test_unfinished_sums_are_spilled_and_retrieved_where_space_is_short():
    graph = product(2, 3, acc=Space.GB)
    shuffled = replace(graph, ops=tuple(graph.ops[number] for number in (0, 3, 1, 4, 2, 5, 6, 7)))

    schedule = schedule_static(shuffled, EDGE, ranges(4 * 64 + 256))

    schedule.verify()
    kinds = [event.kind for event in schedule.events]
    assert kinds.count(EventKind.SPILL) == kinds.count(EventKind.RETRIEVE) > 0


@pytest.mark.parametrize("distance", [0, 256])
def test_results_wait_for_the_resident_operand_whose_place_they_take(distance: int):
    """The first one takes the place of all of the operand, which the array of NPU 0 has read."""
    graph = product(4, 1)
    resident = {
        number: replace(item, address=4096 + item.box[-1].start + distance * (item.role is Role.O))
        for number, item in enumerate(graph.tiles)
        if item.role in (Role.I, Role.O)
    }
    placed = tuple(resident.get(number, item) for number, item in enumerate(graph.tiles))

    schedule = schedule_static(
        replace(graph, tiles=placed, preloaded=("I",)), FOUR, ranges(1 << 16)
    )

    issued = issued_events(schedule, Works(schedule.graph, FOUR))
    reader = queue_numbers(schedule.events)[Unit.MX, 0]
    others = [
        waits
        for event, waits in zip(schedule.events, waits_of(issued), strict=True)
        if event.unit is Unit.VX and event.index > 0
    ]
    assert timed(schedule, FOUR) == schedule
    assert [reader in waits for waits in others] == [distance == 0] * 3


def test_every_part_of_the_sums_starts_from_zero():
    graph = product(1, 4)
    left, right = Range(0, 32), Range(32, 64)
    *products, finish = graph.ops
    ops = tuple(
        replace(op, box=box_of(part))
        for op, part in zip(products, (left, right, left, right), strict=True)
    )
    ops = (*ops, finish)

    schedule = schedule_static(replace(graph, ops=ops), EDGE, ranges(1 << 16))

    schedule.verify()
    computes = [event for event in schedule.events if event.unit is Unit.MX]
    assert [event.clear for event in computes] == [True, True, False, False]


def test_transfers_run_ahead_of_the_array():
    schedule = schedule_static(product(6, 1), EDGE, ranges(1 << 16))

    computes = [event for event in schedule.events if event.kind is EventKind.COMPUTE]
    loads = [event for event in schedule.events if event.kind is EventKind.LOAD]
    assert any(
        load.start < compute.end and compute.start < load.end
        for load in loads
        for compute in computes
    )


def test_what_does_not_fit_is_told_with_its_terms():
    with pytest.raises(InfeasibleError, match="do not fit together: gb: needs 192 byte") as caught:
        schedule_static(product(1, 1), EDGE, ranges(150))

    assert caught.value.shortage is not None
    assert ("I of %I", 64) in caught.value.shortage.terms


@settings(max_examples=examples(25), deadline=None)
@given(
    st.integers(1, 24),
    st.integers(1, 24),
    st.integers(3, 12),
    st.sampled_from([1, 3]),
    st.integers(1, 2),
    st.sampled_from([("simba", 3000), ("edge-1m", 2500), ("flexer-arch5", 6000)]),
)
def test_the_prediction_of_one_operator_follows_from_its_program(
    channels: int, outputs: int, size: int, kernel: int, stride: int, machine: tuple[str, int]
):
    net = NetworkBuilder()
    net.conv(net.input("x", (1, channels, size, size)), "y", outputs, kernel, stride=stride)
    arch, budget = machine
    compiled = compile_graph(net.build("y"), net.data, arch, budget=budget, all_off_chip=False)
    schedule = tiles_of(compiled.module)
    plan = compiled.module.graph_schedule
    assert plan is not None
    cycles = program_cycles(compiled.program)

    moved_whole = (*plan.loads, *plan.stores)
    assert cycles >= schedule.cycles
    if not moved_whole:
        assert cycles == schedule.cycles


def test_rows_that_are_fetched_ahead_do_not_come_for_nothing():
    """Half of the scratchpad is full of lines: what is fetched too early has to leave again."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 8, 32, 32)), "a", 32, 3)
    graph = net.build(net.conv(a, "b", 16, 3))

    group = Group(members=("a", "b"), rows=1)
    compiled = compile_fused(graph, net.data, "simba", (group,), budget=10000)

    schedule = tiles_of(compiled.module)
    waiting: set[int] = set()
    in_vain = 0
    for event in schedule.events:
        if event.kind is EventKind.LOAD:
            in_vain += event.subject in waiting
            waiting.add(event.subject)
        elif event.kind is EventKind.COMPUTE:
            waiting -= set(schedule.graph.ops[event.subject].reads)
    assert in_vain == 0
    assert compiled.wrong(compiled.run(detect_races=True)) == []

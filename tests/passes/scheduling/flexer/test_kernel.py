"""Every schedule verifies; its times are the simulator's; its results are exact."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.lowering.lower import lower
from accnn.ir.isa.instructions import Unit
from accnn.ir.tiles.events import EventKind
from accnn.ir.tiles.schedule import TileSchedule
from accnn.passes.scheduling.flexer.decode import decode
from accnn.passes.scheduling.flexer.kernel.arrays import APART, DONE, FURTHEST, GROUPS
from accnn.passes.scheduling.flexer.kernel.drive import (
    result_of,
    schedule_freely,
    schedule_in_order,
)
from accnn.passes.scheduling.flexer.latency import TileTimer
from accnn.passes.scheduling.flexer.options import FlexerOptions, Priority, SpaceRule
from accnn.passes.scheduling.flexer.problem import TimedTiling, dataflows, timed, unrolled
from accnn.passes.scheduling.flexer.search.viable import viable_tilings
from accnn.runtime_sim.reference.run import run as run_reference
from accnn.runtime_sim.simulate import simulate
from tests.flow import random_inputs
from tests.networks import NetworkBuilder
from tests.passes.scheduling.flexer.sites import alone, convolution, machine, site
from tests.thinned import examples

ENDLESS = FlexerOptions().goal(math.inf)


def schedules(timing: TimedTiling, options: FlexerOptions) -> list[TileSchedule]:
    """One schedule of each kind for a tiling."""
    found: list[TileSchedule] = []
    for flow in dataflows(timing.tiling):
        problem, order = timing.in_order(flow)
        wanted, group = unrolled(problem.reads, problem.latency.shape[1])
        for memory in range(2 * APART):
            status, state = schedule_in_order(problem, wanted, group, memory, ENDLESS, True)
            assert status == DONE
            found.append(decode(timing, order, state, "static", 0))
        status, free = schedule_freely(problem, options.choices[0], ENDLESS)
        assert status == DONE
        group = free.group[: free.scalar[GROUPS]]
        status, state = schedule_in_order(
            problem, free.order, group, options.choices[0].memory, ENDLESS, True
        )
        assert status == DONE
        assert result_of(state) == result_of(free)
        found.append(decode(timing, order, state, "flexer", 0))
    return found


def judge(net: NetworkBuilder, capacity: int, npus: int, schedule: TileSchedule) -> None:
    """Verify, lower, simulate; compare times event by event, and values."""
    schedule.verify()
    module = replace(alone(net, machine(capacity, npus)), tile_schedule=schedule)
    lowered = lower(module)
    lowered.program.verify()
    inputs = random_inputs(module.graph, 0)
    constants = module.constants.with_arrays(lowered.derived)
    result = simulate(lowered.program, constants, inputs, detect_races=True, trace=True)
    assert result.timelines is not None
    for queue, line in zip(lowered.program.queues, result.timelines, strict=True):
        events = [
            event
            for event in schedule.events
            if (event.unit, event.index) == (queue.unit, queue.index)
        ]
        assert [event.begin for event in events] == line.starts[:-1].tolist()
        assert [event.end for event in events] == line.ends[:-1].tolist()
    expected = run_reference(module.graph, module.constants, inputs)
    np.testing.assert_array_equal(result.outputs["y"], expected["y"])
    assert schedule.transferred_bytes == result.total.off_chip_bytes


@settings(max_examples=examples(12), deadline=None, derandomize=True)
@given(data=st.data())
def test_predicted_times_are_the_simulators_and_results_are_exact(data: st.DataObject):
    kernel, stride = data.draw(st.sampled_from([(1, 1), (3, 1), (3, 2)]))
    net = convolution(
        data.draw(st.integers(3, 9)),
        data.draw(st.sampled_from([3, 32, 40])),
        data.draw(st.sampled_from([5, 64, 70])),
        kernel,
        stride=stride,
    )
    capacity, npus = data.draw(st.integers(2500, 20000)), data.draw(st.integers(1, 4))
    where = site(net, machine(capacity, npus))
    tilings = viable_tilings(where, max_ops=48, ratio=1.5, reach=1)
    if not tilings:
        return
    tiling = data.draw(st.sampled_from(tilings))
    options = FlexerOptions(
        priority=data.draw(st.sampled_from(Priority)), memory=data.draw(st.sampled_from(SpaceRule))
    )
    found = schedules(timed(tiling, TileTimer(where.arch)), options)
    for schedule in data.draw(st.permutations(found))[:3]:
        judge(net, capacity, npus, schedule)
    for schedule in found:
        schedule.verify()


@pytest.mark.parametrize("groups", [1, 32])
def test_partial_sums_that_leave_are_retrieved(groups: int):
    net = convolution(6, 64 if groups == 1 else 32, 64, 3, groups=groups)
    capacity = 14000
    where = site(net, machine(capacity, 2))
    timer = TileTimer(where.arch)
    every = [
        schedule
        for tiling in viable_tilings(where, max_ops=16, ratio=2.0, reach=1)
        for schedule in schedules(timed(tiling, timer), FlexerOptions())
    ]
    spilling = [
        item for item in every if any(event.kind is EventKind.SPILL for event in item.events)
    ]
    for schedule in every[:: 30 // examples(2)]:  # one in 15, or in 30
        judge(net, capacity, 2, schedule)
    for schedule in spilling[: examples(2)]:
        judge(net, capacity, 2, schedule)
    assert bool(spilling) == (groups == 1)


def test_parameters_that_do_not_fit_pass_in_parts():
    net = convolution(4, 8, 320, 1)
    arch = machine(4096, 2)
    arch = replace(arch, vector=replace(arch.vector, parameter_bytes=1024))
    where = site(net, arch)
    tiling = min(
        (item for item in viable_tilings(where, max_ops=64, reach=1) if item.sizes.K == 32),
        key=lambda item: item.op_count,
    )
    for schedule in schedules(timed(tiling, TileTimer(arch)), FlexerOptions()):
        schedule.verify()
        loads = [event for event in schedule.events if event.kind is EventKind.LOAD]
        assert {event.unit for event in loads} == {Unit.DMA}


@pytest.mark.parametrize("capacity", [1500, 3000, 5000])
def test_an_operation_that_just_fits_is_never_stuck(capacity: int):
    where = site(convolution(4, 64, 64, 1), machine(capacity, 1))
    timer = TileTimer(where.arch)
    tilings = viable_tilings(where, max_ops=100, reach=1)
    largest = max(int(tiling.tile_bytes.max()) for tiling in tilings)
    tight = [tiling for tiling in tilings if int(tiling.tile_bytes.max()) == largest]
    for tiling in tight[: examples(2)]:
        for schedule in schedules(timed(tiling, timer), FlexerOptions()):
            schedule.verify()


@pytest.mark.parametrize("memory", [FURTHEST, APART + FURTHEST])
def test_accumulators_lie_apart_from_other_tiles_only_if_told(memory: int):
    where = site(convolution(8, 64, 64, 3), machine(60000, 2))
    tiling = next(
        item for item in viable_tilings(where, max_ops=64, ratio=2.0) if item.op_count == 8
    )
    timing = timed(tiling, TileTimer(where.arch))
    problem, order = timing.in_order(next(iter(dataflows(tiling))))
    wanted, group = unrolled(problem.reads, 2)
    status, state = schedule_in_order(problem, wanted, group, memory, ENDLESS, True)
    schedule = decode(timing, order, state, "static", 0)
    schedule.verify()
    end = where.place.workspace_bytes
    first = problem.first_acc
    sums = [
        placement.address + int(problem.size[placement.tile])
        for placement in schedule.placements
        if first <= placement.tile < first + len(problem.finish)
    ]

    assert status == DONE
    assert (max(sums) == end) == (memory >= APART)

"""The search: bounds hold, the oracle is never beaten, the result is never worse than static."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.errors import OptionError
from accnn.ir.isa.instructions import Unit
from accnn.ir.tiles.events import EventKind
from accnn.passes.scheduling.flexer.bounds import site_bound, tiling_bound, timed_bound
from accnn.passes.scheduling.flexer.candidate import SearchOutcome, schedule_of
from accnn.passes.scheduling.flexer.kernel.arrays import DONE
from accnn.passes.scheduling.flexer.kernel.drive import (
    result_of,
    schedule_freely,
    schedule_in_order,
)
from accnn.passes.scheduling.flexer.kernel.goal import metric
from accnn.passes.scheduling.flexer.latency import TileTimer
from accnn.passes.scheduling.flexer.layer import ConvLayer, layer_of, layer_rows, layer_site
from accnn.passes.scheduling.flexer.options import FlexerOptions, Metric
from accnn.passes.scheduling.flexer.problem import dataflows, timed, unrolled
from accnn.passes.scheduling.flexer.search.block_orders import best_in_blocks
from accnn.passes.scheduling.flexer.search.search import Search
from accnn.passes.scheduling.flexer.search.static_orders import best_static
from accnn.passes.scheduling.flexer.search.trials import STATIC_MEMORIES, Trials
from accnn.passes.scheduling.flexer.search.viable import tile_sizes, viable_tilings
from tests.passes.scheduling.flexer.exhaustive import compositions, exhaustive_metric
from tests.passes.scheduling.flexer.sites import convolution, machine, site

ENDLESS = FlexerOptions().goal(math.inf)


def small_tilings(capacity: int, npus: int, most: int):
    where = site(convolution(6, 64, 64, 3), machine(capacity, npus))
    timer = TileTimer(where.arch)
    for tiling in viable_tilings(where, max_ops=most, ratio=1.5):
        if 2 <= tiling.op_count <= most:
            yield timed(tiling, timer)


@pytest.mark.parametrize("capacity", [22000, 30000, 60000])
def test_the_list_scheduler_is_close_to_the_best_order(capacity: int):
    for timing in list(small_tilings(capacity, 2, 4))[:6]:
        best = exhaustive_metric(timing, ENDLESS)
        heuristic = math.inf
        for flow in dataflows(timing.tiling):
            problem, _ = timing.in_order(flow)
            for choice in FlexerOptions().choices:
                status, state = schedule_freely(problem, choice, ENDLESS)
                assert status == DONE
                value = metric(ENDLESS, *result_of(state))
                assert value >= best
                heuristic = min(heuristic, value)
        assert heuristic <= 1.5 * best


@pytest.mark.slow
def test_the_list_scheduler_is_close_to_the_best_order_of_six():
    for timing in [item for item in small_tilings(24000, 2, 6) if item.tiling.op_count == 6][:3]:
        best = exhaustive_metric(timing, ENDLESS)
        problem, _ = timing.in_order(next(iter(dataflows(timing.tiling))))
        values = [
            metric(ENDLESS, *result_of(schedule_freely(problem, choice, ENDLESS)[1]))
            for choice in FlexerOptions().choices
        ]
        assert best <= min(values) <= 1.5 * best


def test_the_oracle_declines_many_operations():
    timing = next(item for item in small_tilings(20000, 2, 40) if item.tiling.op_count > 8)

    with pytest.raises(ValueError, match="at most 8"):
        exhaustive_metric(timing, ENDLESS)


def test_compositions_of_three():
    assert list(compositions(3, 2)) == [(1, 1, 1), (1, 2), (2, 1)]


@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    capacity=st.integers(3000, 60000),
    size=st.integers(4, 12),
    channels=st.sampled_from([32, 64]),
    kernel=st.sampled_from([1, 3]),
    npus=st.integers(1, 4),
)
def test_no_schedule_beats_a_bound(capacity: int, size: int, channels: int, kernel: int, npus: int):
    where = site(convolution(size, channels, 64, kernel), machine(capacity, npus))
    timer = TileTimer(where.arch)
    least = site_bound(where)
    for tiling in viable_tilings(where, max_ops=40, ratio=2.0, reach=1)[::3]:
        timing = timed(tiling, timer)
        bounds = (least, tiling_bound(tiling), timed_bound(timing))
        for flow in dataflows(tiling):
            problem, _ = timing.in_order(flow)
            order, group = unrolled(problem.reads, npus)
            for memory in STATIC_MEMORIES:
                status, state = schedule_in_order(problem, order, group, memory, ENDLESS, False)
                assert status == DONE
                cycles, moved = result_of(state)
                assert all(cycles >= bound.cycles for bound in bounds)
                assert all(moved >= bound.bytes for bound in bounds)


@pytest.mark.parametrize("metric", list(Metric))
def test_the_result_is_never_worse_than_the_best_static_order(metric: Metric):
    where = site(convolution(8, 64, 64, 3), machine(24000, 3))
    found = Search(where, FlexerOptions(metric=metric, steps=1000), TileTimer(where.arch)).run()

    assert found.best.value <= found.static.value
    assert found.best.cycles <= found.static.cycles
    assert found.best.bytes <= found.static.bytes
    for candidate in (found.best, found.static):
        schedule = schedule_of(candidate, found.bound)
        schedule.verify()
        assert schedule.cycles == candidate.cycles >= found.bound.cycles
        assert schedule.transferred_bytes == candidate.bytes >= found.bound.bytes


def test_cycles_are_traded_for_bytes_only_on_demand():
    where = site(convolution(8, 96, 96, 3), machine(24000, 4))
    timer = TileTimer(where.arch)
    strict, trading = (
        Search(where, FlexerOptions(steps=2000, trade=trade), timer).run()
        for trade in (False, True)
    )

    assert strict.static.value == trading.static.value
    assert trading.best.value <= strict.best.value < strict.static.value
    assert strict.best.cycles <= strict.static.cycles
    assert strict.best.bytes <= strict.static.bytes


def test_giving_up_early_does_not_change_the_best_static_order():
    where = site(convolution(8, 64, 64, 3), machine(20000, 2))
    timer = TileTimer(where.arch)
    options = FlexerOptions(steps=0)
    found = Search(where, options, timer).run()
    best = math.inf
    for tiling in viable_tilings(where, max_ops=options.max_ops, ratio=options.ratio):
        timing = timed(tiling, timer)
        for flow in dataflows(tiling):
            problem, _ = timing.in_order(flow)
            order, group = unrolled(problem.reads, 2)
            for memory in STATIC_MEMORIES:
                _, state = schedule_in_order(problem, order, group, memory, ENDLESS, False)
                best = min(best, metric(ENDLESS, *result_of(state)))

    static = found.static
    problem, _ = static.timing.in_order(static.dataflow)
    _, state = schedule_in_order(problem, static.order, static.group, static.memory, ENDLESS, False)
    assert metric(ENDLESS, *result_of(state)) == best


def test_orders_known_beforehand_are_tried_within_a_number_of_operations():
    where = site(convolution(14, 96, 96, 3), machine(24000, 4))
    timer = TileTimer(where.arch)
    few, many = (
        Search(where, FlexerOptions(steps=500, steps_in_order=most), timer).run()
        for most in (1000, 10**9)
    )

    assert few.effort.skipped > 0 == many.effort.skipped
    assert few.effort.ordered < 20_000 < many.effort.ordered / 10
    assert few.static.value >= many.static.value
    assert few.best.value <= few.static.value
    schedule_of(few.best, few.bound).verify()


@pytest.mark.parametrize(("most", "blocks"), [(0, 0), (2000, 60), (10**9, 1000)])
def test_blocks_are_tried_within_as_many_operations_of_their_own(most: int, blocks: int):
    where = site(convolution(10, 96, 96, 3), machine(24000, 4))
    trials = Trials(where, FlexerOptions(), TileTimer(where.arch))
    tilings = viable_tilings(where, max_ops=1100, ratio=1.5)
    rows = [(0.0, number, tiling) for number, tiling in enumerate(tilings)]
    static = best_static(trials, rows, None)
    assert static is not None
    before = trials.effort.ordered

    trials.options = FlexerOptions(steps_in_order=most)
    best_in_blocks(trials, rows, static.value)

    assert trials.effort.ordered - before <= most + 4 * 1100
    assert blocks / 4 <= trials.effort.blocks <= blocks


def test_more_operations_are_allowed_where_the_bounds_are_far():
    where = site(convolution(8, 64, 64, 3), machine(20000, 2))
    timer = TileTimer(where.arch)
    tilings = viable_tilings(where, max_ops=64, reach=1)
    few = min(tiling.op_count for tiling in tilings)
    near, wide = (
        Search(
            where, FlexerOptions(max_ops=few, more_ops=20 * few, far=far, steps=500), timer
        ).run()
        for far in (1000.0, 1.0)
    )

    assert near.effort.tilings < wide.effort.tilings
    assert wide.static.value <= near.static.value
    assert wide.best.cycles <= wide.static.cycles
    assert wide.best.bytes <= wide.static.bytes


def test_more_space_never_forces_spills():
    where = site(convolution(6, 64, 64, 3), machine(200000, 2))
    options = FlexerOptions(steps=500, metric=Metric.TRANSFERS)
    found = Search(where, options, TileTimer(where.arch)).run()
    kinds = {event.kind for event in schedule_of(found.best, found.bound).events}

    assert EventKind.SPILL not in kinds
    assert found.best.bytes == found.bound.bytes + 2 * 4 * 64 * (_npus_used(found) - 1)


def _npus_used(found: SearchOutcome) -> int:
    events = schedule_of(found.best, found.bound).events
    return len({event.index for event in events if event.unit is Unit.VX})


def test_sizes_of_cuts():
    assert tile_sizes(10, ratio=1.5) == (10, 5, 3, 2, 1)
    assert tile_sizes(96, 32, 1.25) == (96, 64, 32)
    assert tile_sizes(3, 32) == (3,)


def test_rows_of_a_layer():
    arch = machine(65536, 2)
    where = layer_site(ConvLayer(name="l", height=8, width=8, C=32, K=32, R=3, S=3), arch)
    rows = layer_rows("l", where.workload, arch, ("flexer", "static"), FlexerOptions(steps=500))

    assert layer_of("l", where.workload).height == 8
    assert [row.scheduler for row in rows] == ["flexer", "static"]
    assert all(row.cycles >= row.cycles_lower_bound > 0 for row in rows)


def test_rows_of_unknown_schedulers_and_machines_are_refused():
    arch = machine(65536, 2)
    where = layer_site(ConvLayer(name="l", height=4, width=4, C=8, K=8), arch)

    with pytest.raises(OptionError, match="no tile scheduler named 'magic'"):
        layer_rows("l", where.workload, arch, ("magic",), FlexerOptions(steps=10))
    with pytest.raises(OptionError, match="simba keeps weights out of its scratchpad"):
        layer_rows("l", where.workload, load_architecture("simba"), ("static",))

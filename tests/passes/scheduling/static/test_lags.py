"""Chains lag where that takes less time and fits; all sets of them judge those that are chosen."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations

import pytest

from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Group
from accnn.ir.groups import group_op
from accnn.ir.isa.instructions import Unit
from accnn.ir.tiles.events import EventKind
from accnn.ir.tiles.graph import TileOp
from accnn.passes.scheduling.static.group_schedules import GroupSchedules, StripeOrder
from accnn.passes.scheduling.static.issue_order import issue_order
from accnn.passes.scheduling.static.lags import Lags, MixedStripes
from accnn.passes.scheduling.static.static import rating, schedule_turns
from accnn.passes.scheduling.static.tables import GraphTables
from tests.inputs import Array
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import bottleneck, inverted, mapped
from tests.thinned import thinned

from .plain_order import plain_order


def pooled(size: int = 24) -> tuple[Graph, Mapping[str, Array]]:
    """A filter, a pool that takes the vector unit long, and a filter of what that makes."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 4, size, size)), "a", 32, 3)
    window = {"kernel": (3, 3), "stride": (2, 2), "pads": (1, 1, 1, 1)}
    return net.build(net.conv(net.op("max_pool", (a,), "p", window), "y", 32, 1)), net.data


def added(size: int = 16) -> tuple[Graph, Mapping[str, Array]]:
    """A wide sum between two filters: the second one waits for the vector unit."""
    net = NetworkBuilder()
    x = net.input("x", (1, 64, size, size))
    s = net.op("add", (net.conv(x, "a", 64, 1), x), "s", quant=per_tensor(0.1, 1))
    return net.build(net.conv(s, "y", 64, 1)), net.data


NETWORKS = {"pooled": pooled, "added": added, "bottleneck": bottleneck, "inverted": inverted}


@cache
def schedules(
    network: str,
    rows: int,
    budget: int | None = None,
    arch: str = "simba",
    *,
    compared: bool = False,
) -> GroupSchedules:
    graph, data = NETWORKS[network]()
    group = Group(members=tuple(op.name for op in graph.ops), rows=rows)
    module = mapped(graph, data, arch, (group,), budget, compared=compared)
    return GroupSchedules(module, group_op(graph, group))


def every(found: GroupSchedules) -> Mapping[Lags, int]:
    """Return the rating of all lags that fit."""
    tiles, ratings = found._tiles, dict[Lags, int]()
    for count in range(len(tiles.may_lag) + 1):
        for behind in combinations(tiles.may_lag, count):
            try:
                schedule = found.with_order(StripeOrder(behind))
            except InfeasibleError:
                continue
            ratings[behind] = rating(schedule.cycles, schedule.transferred_bytes)
    return ratings


@pytest.mark.parametrize(("network", "rows"), [*thinned([*NETWORKS], [1, 2])])
def test_what_is_chosen_is_near_the_best_of_all_lags(network: str, rows: int):
    found = schedules(network, rows)
    ratings = every(found)

    best = found.best

    chosen = rating(best.cycles, best.transferred_bytes)
    assert chosen <= ratings[()]
    assert chosen <= 1.1 * min(ratings.values())


@pytest.mark.parametrize("network", ["pooled", "added"])
def test_a_chain_lags_where_the_array_would_wait_for_the_vector_unit(network: str):
    found = schedules(network, 1)

    assert found.best.cycles < 0.9 * found.in_turn.cycles


def test_where_space_is_short_no_chain_lags():
    ample, short = schedules("pooled", 1), schedules("pooled", 1, budget=3700)

    assert len(ample.by_order) > 1
    assert {order.behind for order in short.by_order} == {()}


def test_one_stripe_has_nothing_to_lag_behind():
    found = schedules("added", 16)

    assert {replace(order, is_apart=False) for order in found.by_order} == {StripeOrder()}


def test_members_of_a_group_are_verified_whatever_lags():
    found = schedules("pooled", 2)

    for attempt in found.by_order.values():
        schedule = attempt.schedule
        schedule.verify()


def test_nothing_lags_where_the_busiest_engine_hardly_waits():
    """Filters that keep the array busy: no order of stripes is much faster, and none is tried."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 64, 16, 16)), "a", 64, 3)
    graph, group = net.build(net.conv(a, "y", 64, 3)), Group(members=("a", "y"), rows=4)
    module = mapped(graph, net.data, "edge-1m", (group,), None)
    found = GroupSchedules(module, group_op(graph, group))
    assert found._tiles.may_lag

    assert found._promising(StripeOrder()) == ()
    computed = (event for event in found.in_turn.events if event.kind is EventKind.COMPUTE)
    ops = found.in_turn.graph.ops
    work = sum(item.done - item.begin for item in computed if ops[item.subject].unit is Unit.MX)
    assert work > 0.9 * found.in_turn.cycles
    ratings = every(found)
    assert min(ratings.values()) > 0.97 * ratings[()]


def some_lags(found: GroupSchedules) -> list[Lags]:
    """Return some sets of chains of a group that lag."""
    chains = found._tiles.may_lag
    return [(), *((chain,) for chain in chains), chains[:2]]


def plain_makespan(
    found: GroupSchedules, order: StripeOrder, stripes: int, cycles: Mapping[TileOp, int]
) -> int:
    """Return when operations end that wait for their engine and for what they read alone."""
    tiles = found._tiles_of(order)
    graph = tiles.in_order(order.behind, stripes)
    free, there = dict[object, int](), dict[int, int]()
    for npu, numbers in plain_order(graph, len(tiles.arch.npus), order.dealing):
        for op in map(graph.ops.__getitem__, numbers):
            read = (*op.reads, op.out) if op.accumulates else op.reads
            start = max(free.get((op.unit, npu), 0), *(there.get(tile, 0) for tile in read))
            end = free[op.unit, npu] = start + cycles[op]
            there[op.out] = max(end, there.get(op.out, 0))
    return max(free.values())


@pytest.mark.parametrize(
    ("network", "arch", "stripes"),
    [*thinned([*NETWORKS], ["simba", "flexer-arch5"], [2, 4, 8], one_in=3)],
)
def test_what_lags_are_expected_to_take_is_what_plain_python_says(
    network: str, arch: str, stripes: int
):
    found = schedules(network, 1, arch=arch)

    for first, attempt in found._in_turn.items():
        ops = attempt.graph.ops
        cycles = {ops[number]: taken for number, taken in attempt.computed}
        mixed = MixedStripes(attempt, first.dealing, found._tiles_of(first).numbers)
        for behind in some_lags(found):
            order = replace(first, behind=behind)
            expected = plain_makespan(found, order, stripes, cycles)
            assert mixed.makespan(behind, stripes) == expected


@pytest.mark.parametrize(
    ("network", "arch"), [*thinned([*NETWORKS], ["simba", "flexer-arch1", "flexer-arch5"])]
)
def test_tables_of_the_order_without_lag_make_the_schedules_that_own_ones_make(
    network: str, arch: str
):
    """Operations are numbered as the schedule names them, to the last event and placement."""
    found = schedules(network, 1, arch=arch)
    scheduled = 0
    for order in (
        replace(order, behind=lags) for order in found._in_turn for lags in some_lags(found)
    ):
        if not order.behind:
            continue
        graph = found._tiles_of(order).in_order(order.behind)
        own = GraphTables(graph, found._tiles.arch)
        turns = issue_order(own.tiles, order.dealing)
        try:
            expected = schedule_turns(own, found._ranges, turns).schedule
        except InfeasibleError:
            with pytest.raises(InfeasibleError):
                found.with_order(order)
            continue
        assert found.with_order(order) == expected
        scheduled += 1
    assert scheduled

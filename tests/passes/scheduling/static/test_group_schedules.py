"""Groups share the work in several ways, of which none hides what another one is good for."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Group
from accnn.ir.groups import group_op
from accnn.ir.isa.instructions import Unit
from accnn.passes.scheduling.network.join import join
from accnn.passes.scheduling.static.group_schedules import GroupSchedules, StripeOrder
from accnn.passes.scheduling.static.issue_order import Dealing
from accnn.passes.scheduling.static.schedule_tiles import schedule_operator
from accnn.passes.scheduling.static.static import best_of
from tests.inputs import Array
from tests.networks import NetworkBuilder
from tests.passes.tiling.groups.fused import lowered_with, mapped
from tests.thinned import thinned

from .test_lags import NETWORKS, schedules


@pytest.mark.parametrize(("network", "saved"), [("pooled", 0.3), ("added", 0.04)])
def test_stripes_that_do_not_fill_all_npus_are_dealt_on(network: str, saved: float):
    found = schedules(network, 1, arch="flexer-arch5")
    plain = replace(found, other_ways=False)

    dealt = [item for order, item in found.by_order.items() if order.dealing is Dealing.ON]

    assert best_of(dealt).cycles < (1 - saved) * plain.best.cycles
    assert found.best.cycles <= best_of(dealt).cycles
    best_of(dealt).schedule.verify()


def lines_of_many_channels(channels: int = 128) -> tuple[Graph, Mapping[str, Array]]:
    """Two filters of which the second one reads wide lines, four rows of which are kept."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 8, 24, 24)), "a", channels, 1)
    return net.build(net.conv(a, "y", 8, 5)), net.data


def test_npus_share_the_copies_of_rows_where_one_would_keep_all_waiting():
    graph, data = lines_of_many_channels()
    group = Group(members=tuple(op.name for op in graph.ops), rows=2)
    module = mapped(graph, data, "flexer-arch5", (group,))
    found = GroupSchedules(module, group_op(graph, group))

    copying = {order: item for order, item in found.by_order.items() if not order.rolls}
    best = best_of(copying.values())

    assert next(order for order, item in copying.items() if item is best).shares_copies
    whole = [item.cycles for order, item in copying.items() if not order.shares_copies]
    assert best.cycles < 0.95 * min(whole)
    tiles = best.graph
    copied = [op.written_bytes for op in tiles.ops if op.unit is Unit.ST and tiles.keeps(op)]
    assert set(copied) == {128 * 4 * 24 // 4}
    changes_of_lines = 12 - 2  # the last of twelve stripes reads no row that is new
    assert len(copied) == 4 * changes_of_lines
    joined = replace(module, tile_schedule=join(module, [best.schedule], "static"))
    compiled = lowered_with(joined)
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_one_npu_shares_no_copies():
    found = schedules("bottleneck", 1)

    assert all(
        order
        == StripeOrder(
            order.behind, is_apart=order.is_apart, rolls=order.rolls, preference=order.preference
        )
        for order in found.by_order
    )


@pytest.mark.parametrize("arch", ["simba", "edge-1m"])
def test_lines_roll_where_copies_of_rows_take_long(arch: str):
    graph, data = lines_of_many_channels()
    group = Group(members=tuple(op.name for op in graph.ops), rows=1)
    module = mapped(graph, data, arch, (group,))
    found = GroupSchedules(module, group_op(graph, group))

    best = found.best

    assert found.best_order.rolls == {"a"}
    assert not any(best.graph.keeps(op) for op in best.graph.ops)
    copying = [*replace(found, other_ways=False).by_order.values()]
    assert best.cycles < min(item.cycles for item in copying)
    assert best.transferred_bytes == copying[0].transferred_bytes
    compiled = lowered_with(replace(module, tile_schedule=join(module, [best], "static")))
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_lines_do_not_roll_for_nothing():
    """Copies that nobody waits for may be made: nests must not be chosen for little."""
    found = schedules("pooled", 2, arch="flexer-arch5", compared=True)
    mixed = {order: item for order, item in found.by_order.items() if order.preference is None}
    best = min(mixed, key=lambda order: mixed[order].cycles)
    rolling = found._rolling(best)

    assert rolling.rolls == {"a"}
    assert found.with_order(rolling).cycles == mixed[best].cycles
    assert rolling not in mixed


@pytest.mark.parametrize(("budget", "rolling"), [(None, {"a", "b", "c"}), (13_000, {"b"})])
def test_lines_roll_as_far_as_they_fit(budget: int | None, rolling: set[str]):
    """They lie there all the time; where rows are copied, lines end when they have been read."""
    net = NetworkBuilder()
    last = net.input("x", (1, 4, 24, 24))
    for name in "abc":
        last = net.conv(last, name, 16, 3)
    graph = net.build(net.conv(last, "y", 4, 3))
    group = Group(members=("a", "b", "c", "y"), rows=4)
    module = mapped(graph, net.data, "simba", (group,), budget)
    found = GroupSchedules(module, group_op(graph, group))
    assert found._tiles.may_roll().keys() == {"a", "b", "c"}

    assert found._rolling(StripeOrder()).rolls == rolling


@pytest.mark.parametrize(("network", "rows"), [*thinned([*NETWORKS], [1, 4])])
def test_dealing_on_leaves_all_orders_that_there_are_without_it(network: str, rows: int):
    """What is faster without lag must not hide the lags of what is slower."""
    found = schedules(network, rows, arch="flexer-arch5")

    without = replace(found, other_ways=False).by_order

    assert {order: found.by_order[order].cycles for order in without} == {
        order: schedule.cycles for order, schedule in without.items()
    }


def finished_while_added_to(channels: int = 64) -> tuple[Graph, Mapping[str, Array]]:
    """Two filters of few channels: often sums are finished while the array adds to others."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, channels, 28, 28)), "a", 4 * channels, 1)
    return net.build(net.conv(a, "y", channels, 1)), net.data


@pytest.mark.parametrize("rows", [0, 7])
def test_first_additions_apart_leave_the_port_of_sums_to_the_vector_unit(rows: int):
    graph, data = finished_while_added_to()
    groups = (Group(members=("a", "y"), rows=rows),) if rows else ()
    module = mapped(graph, data, "edge-1m", groups)
    units = (group_op(graph, groups[0]),) if rows else graph.ops

    together = [schedule_operator(module, unit, other_ways=False) for unit in units]
    apart = [schedule_operator(module, unit) for unit in units]

    assert sum(item.cycles for item in apart) < 0.95 * sum(item.cycles for item in together)
    assert [item.transferred_bytes for item in apart] == [
        item.transferred_bytes for item in together
    ]
    joined = join(module, apart, "static")
    joined.verify()
    compiled = lowered_with(replace(module, tile_schedule=joined))
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_nothing_is_apart_where_the_port_of_sums_is_fast():
    graph, data = finished_while_added_to()
    module = mapped(graph, data, "edge-1m", ())
    assert module.arch is not None
    levels = (
        replace(level, read_bandwidth=64.0) if level.name == "ab" else level
        for level in module.arch.levels
    )
    fast = replace(module, arch=replace(module.arch, levels=tuple(levels)))

    for unit in graph.ops:
        whole = schedule_operator(fast, unit, other_ways=False)
        assert schedule_operator(fast, unit) == whole

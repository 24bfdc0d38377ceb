"""Lines that roll: rows that stripes keep lie where they are, and are not copied."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from accnn.ir.errors import InfeasibleError, VerifyError
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Group
from accnn.ir.groups import group_op
from accnn.ir.module import Module
from accnn.ir.tiles.events import EventKind
from accnn.ir.tiles.graph import Range, TileGraph
from accnn.ir.tiles.schedule import TileSchedule
from accnn.passes.scheduling.fusion.epilogues import is_group
from accnn.passes.scheduling.network.join import join
from accnn.passes.scheduling.static.group_schedules import GroupSchedules, StripeOrder
from accnn.passes.scheduling.static.lags import Lags
from tests.inputs import Array
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import (
    bottleneck,
    dense_block,
    fire,
    inverted,
    lowered_with,
    mapped,
    pooled,
    windows,
)
from tests.passes.tiling.groups.test_group import networks
from tests.thinned import examples, thinned


def filters(size: int = 13) -> tuple[Graph, Mapping[str, Array]]:
    """Three filters, of which the second one takes steps of two and dilates, and a shortcut."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (2, 5, size, size)), "a", 7, 3)
    b = net.conv(a, "b", 7, 3)
    s = net.op("add", (b, a), "s", quant=per_tensor(0.1, 1))
    return net.build(net.conv(s, "y", 6, 5, stride=2)), net.data


def unread(size: int = 16) -> tuple[Graph, Mapping[str, Array]]:
    """A filter whose steps are so long that it does not read the last row."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 4, size, size)), "a", 8, 1)
    return net.build(net.conv(net.conv(a, "b", 8, 5, stride=4), "y", 6, 3)), net.data


NETWORKS = {
    "unread": unread,
    "bottleneck": bottleneck,
    "inverted": inverted,
    "pooled": pooled,
    "fire": fire,
    "dense_block": dense_block,
    "filters": filters,
    "windows": windows,
}


def grouped(network: str, arch: str, rows: int, budget: int | None = None) -> GroupSchedules:
    graph, data = NETWORKS[network]()
    group = Group(members=tuple(op.name for op in graph.ops), rows=rows)
    module = mapped(graph, data, arch, (group,), budget)
    return GroupSchedules(module, group_op(graph, group))


def rolled(found: GroupSchedules, behind: Lags = ()) -> TileSchedule | None:
    """Return the schedule in which chains lag and all lines roll that can, if it fits."""
    names = found._tiles.may_roll()
    try:
        return found.with_order(StripeOrder(behind, rolls=frozenset(names))) if names else None
    except InfeasibleError:
        return None


def check_that_it_is_right(module: Module, schedule: TileSchedule) -> None:
    """Verify a schedule, lower it, run it and compare with the reference."""
    schedule.verify()
    compiled = lowered_with(replace(module, tile_schedule=join(module, [schedule], "static")))
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def kept(graph: TileGraph) -> set[str]:
    """Return the tensors of which rows are copied."""
    return {graph.tiles[op.out].tensor for op in graph.ops if graph.keeps(op)}


@pytest.mark.parametrize(
    ("network", "arch", "rows"),
    [
        *thinned(
            [*NETWORKS], ["simba", "edge-1m", "flexer-arch1", "flexer-arch5"], [1, 2, 5], one_in=5
        )
    ],
)
def test_lines_that_roll_give_what_the_reference_does(network: str, arch: str, rows: int):
    found = grouped(network, arch, rows)
    names = found._tiles.may_roll()

    schedule = rolled(found)

    if schedule is None:
        assert rows == 5 or not names
        return
    check_that_it_is_right(found.module, schedule)
    assert not kept(schedule.graph) & names.keys()
    tiles = [tile for tile in schedule.graph.tiles if tile.rolls]
    assert {tile.tensor: tile.rolls for tile in tiles} == names
    assert len(tiles) == len(names)


@settings(deadline=None, max_examples=examples(15))
@given(networks(), st.sampled_from(["simba", "flexer-arch5"]), st.integers(1, 3), st.data())
def test_lines_of_random_networks_roll(
    network: tuple[Graph, Mapping[str, Array]], arch: str, rows: int, data: st.DataObject
):
    graph, constants = network
    group = Group(members=tuple(op.name for op in graph.ops), rows=rows)
    if len(group.members) < 2 or not is_group(graph, group):
        return
    try:
        module = mapped(graph, constants, arch, (group,))
    except InfeasibleError:
        return
    found = GroupSchedules(module, group_op(graph, group))
    lagging = st.sets(st.sampled_from([0, *found._tiles.may_lag]), max_size=3)

    schedule = rolled(found, tuple(sorted(data.draw(lagging) - {0})))

    if schedule is not None:
        check_that_it_is_right(module, schedule)


def test_some_lines_roll_and_others_are_copied():
    found = grouped("filters", "simba", 2)
    names = tuple(found._tiles.may_roll())
    assert len(names) > 1

    for count in range(len(names)):
        for some in combinations(names, count):
            schedule = found.with_order(StripeOrder(rolls=frozenset(some)))
            check_that_it_is_right(found.module, schedule)
            assert kept(schedule.graph) >= set(names) - set(some)


@pytest.mark.parametrize(
    ("network", "arch", "rows"),
    [*thinned([*NETWORKS], ["simba", "edge-1m", "flexer-arch5"], [1, 2], one_in=5)],
)
def test_lines_that_chains_read_late_roll(network: str, arch: str, rows: int):
    found = grouped(network, arch, rows)
    numbers = found._tiles.may_lag

    for behind in (numbers[:1], numbers[-1:], numbers[:2]):
        schedule = rolled(found, behind)
        if schedule is not None:
            check_that_it_is_right(found.module, schedule)
            assert not kept(schedule.graph) & found._tiles.may_roll(behind).keys()


def test_more_rows_are_there_where_a_chain_reads_late():
    """New rows would take the place of those that it has yet to read."""
    found = grouped("bottleneck", "simba", 1)
    tiles = found._tiles
    assert tiles.may_roll() == tiles.may_roll((2,)) == {"a": 3}
    assert tiles.may_lag[0] == 1

    assert tiles.may_roll((1,)) == tiles.may_roll((1, 2)) == {"a": 4}
    rolling = replace(tiles, rolls=frozenset({"a"}))
    for behind, rows in (((), 3), ((1,), 4), ((2,), 3)):
        graph = rolling.in_order(behind)
        assert [tile.rolls for tile in graph.tiles if tile.rolls] == [rows]


@pytest.mark.parametrize(
    ("network", "arch"),
    [("windows", "simba"), ("filters", "edge-1m"), ("bottleneck", "flexer-arch5")],
)
def test_some_rows_are_written_while_others_are_read(network: str, arch: str):
    found = grouped(network, arch, 1)
    late = rolled(found, found._tiles.may_lag[:1])
    assert late is not None

    ops = late.graph.ops
    computed = [item for item in late.events if item.kind is EventKind.COMPUTE]
    written = [item for item in computed if late.graph.tiles[ops[item.subject].out].rolls]
    read = [item for item in computed if ops[item.subject].rows]
    assert any(one.start < other.end and other.start < one.end for one in written for other in read)


def test_what_lies_in_a_concatenation_does_not_roll():
    tiles = grouped("fire", "simba", 2)._tiles

    assert "joined" not in tiles.may_roll()
    assert "narrow" not in tiles.may_roll()


def changed(schedule: TileSchedule, rows: Range) -> TileSchedule:
    """Return a schedule whose last reader of rolling lines claims to read other rows."""
    graph = schedule.graph
    number = max(number for number, op in enumerate(graph.ops) if op.rows)
    ops = (*graph.ops[:number], replace(graph.ops[number], rows=(rows,)), *graph.ops[number + 1 :])
    return replace(schedule, graph=replace(graph, ops=ops))


@pytest.mark.parametrize("rows", [Range(0, 3), Range(5, 9)])
def test_rows_that_are_gone_are_not_read(rows: Range):
    schedule = rolled(grouped("bottleneck", "simba", 1))
    assert schedule is not None

    with pytest.raises(VerifyError, match="reads rows of tile . that are not there"):
        changed(schedule, rows).verify()


def test_rows_are_not_written_over_before_they_were_read():
    schedule = rolled(grouped("bottleneck", "simba", 1))
    assert schedule is not None
    tiles = tuple(
        replace(tile, rolls=tile.rolls - 1) if tile.rolls else tile for tile in schedule.graph.tiles
    )

    with pytest.raises(VerifyError, match="rows of tile"):
        replace(schedule, graph=replace(schedule.graph, tiles=tiles)).verify()

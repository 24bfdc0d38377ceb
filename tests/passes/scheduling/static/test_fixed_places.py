"""Addresses of inner tiles that are known beforehand."""

from contextlib import suppress
from functools import cache
from itertools import combinations

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph_schedule import Group
from accnn.ir.groups import group_op
from accnn.ir.isa.instructions import Space
from accnn.ir.isa.spaces import space_bytes
from accnn.ir.tiles.graph import Role, TileGraph
from accnn.passes.scheduling.engine.kernel.arrays import IssueOrder
from accnn.passes.scheduling.static import static
from accnn.passes.scheduling.static.fixed_places import FixedPlaces, fixed_places
from accnn.passes.scheduling.static.group_schedules import GroupSchedules
from accnn.passes.scheduling.static.issue_order import issue_order
from tests.passes.tiling.groups.fused import bottleneck, compile_fused, fire, mapped
from tests.thinned import thinned
from tests.tiles import tiles_of

from .plain_order import arrays_of, tiles_of_turns

RANGES = {Space.GB: (1000, 9000)}


@cache
def graph_of(make) -> TileGraph:
    graph, data = make(12)
    members = tuple(op.name for op in graph.ops)
    compiled = compile_fused(graph, data, "simba", (Group(members=members, rows=2),))
    return tiles_of(compiled.module).graph


def lives(graph: TileGraph, order: IssueOrder) -> dict[int, range]:
    """Return at which turns each tile of the scratchpad is there at least."""
    found, touched = dict[int, range](), tiles_of_turns(order)
    for number, tile in enumerate(graph.tiles):
        turns = [at for at, tiles in enumerate(touched) if number in tiles]
        if tile.space is Space.GB and not tile.is_resident:
            found[number] = range(turns[0], turns[-1] + 1)
    return found


@pytest.mark.parametrize("make", [bottleneck, fire])
def test_tiles_that_lie_there_together_do_not_overlap(make):
    graph = graph_of(make)
    order = issue_order(arrays_of(graph))
    alive = lives(graph, order)

    found: list[FixedPlaces] = list(fixed_places(graph, order, RANGES))

    whole, *parts = found
    assert parts
    assert whole.addresses.keys() == alive.keys()
    assert whole.ranges[Space.GB][1] == 0
    for places in found:
        base, size = places.ranges[Space.GB]
        for tile, address in places.addresses.items():
            assert base + size <= address <= 10000 - graph.tiles[tile].occupied
            assert places.since[tile] <= alive[tile].start
        for one, other in combinations(places.addresses, 2):
            since = max(places.since[one], places.since[other])
            if since < min(alive[one].stop, alive[other].stop):
                low, high = sorted((one, other), key=places.addresses.__getitem__)
                end = places.addresses[low] + graph.tiles[low].occupied
                assert end <= places.addresses[high]


def test_only_what_is_fetched_comes_before_its_first_use():
    network, data = bottleneck(28)
    group = Group(members=tuple(op.name for op in network.ops), rows=2)
    graph = tiles_of(compile_fused(network, data, "simba", (group,), 12000).module).graph
    order = issue_order(arrays_of(graph))
    alive = lives(graph, order)

    whole = next(fixed_places(graph, order, {Space.GB: (0, 12000)}))

    early = {tile for tile, since in whole.since.items() if since < alive[tile].start}
    assert early
    assert {graph.tiles[tile].role for tile in early} == {Role.I}


def test_of_inner_tiles_those_that_leave_most_come_first():
    graph = graph_of(bottleneck)
    order = issue_order(arrays_of(graph))

    _, *parts = fixed_places(graph, order, RANGES)

    inner = {tile for tile in lives(graph, order) if graph.tiles[tile].role is Role.INNER}
    assert all(places.addresses.keys() == inner for places in parts)
    sizes = [places.ranges[Space.GB][1] for places in parts]
    assert sizes == sorted(sizes, reverse=True)


def test_nothing_is_offered_that_leaves_nothing():
    graph = graph_of(bottleneck)

    assert not list(fixed_places(graph, issue_order(arrays_of(graph)), {Space.GB: (0, 500)}))


@pytest.mark.parametrize("rows", [*thinned([2, 3, 5], one_in=3)])
def test_less_space_is_needed_than_where_tiles_are_placed_one_by_one(monkeypatch, rows: int):
    graph, data = bottleneck(28)
    group = Group(members=tuple(op.name for op in graph.ops), rows=rows)
    module = mapped(graph, data, "simba", (group,), 12000)
    tiles = GroupSchedules(module, group_op(graph, group)).in_turn.graph
    machine = load_architecture("simba")
    spaces = {space: (0, size) for space, size in space_bytes(machine).items()}

    def least() -> int:
        for size in range(4096, 16384, 128):
            with suppress(InfeasibleError):
                found = static.schedule_static(tiles, machine, {**spaces, Space.GB: (0, size)})
                found.verify()
                return size
        raise AssertionError("nothing fits")

    with_places = least()
    monkeypatch.setattr(static, "fixed_places", lambda *_: iter(()))

    assert with_places < least()

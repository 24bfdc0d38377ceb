"""Addresses of inner tiles that are known beforehand."""

from contextlib import suppress
from itertools import combinations

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph_schedule import Group
from accnn.ir.isa.instructions import Space
from accnn.ir.isa.spaces import space_bytes
from accnn.ir.tiles.graph import Role, TileGraph
from accnn.passes.scheduling.static import static
from accnn.passes.scheduling.static.fixed_places import FixedPlaces, fixed_places
from accnn.passes.scheduling.static.issue_order import Turn, issue_order
from tests.passes.tiling.fused import bottleneck, compile_fused, fire
from tests.tiles import tiles_of

RANGES = {Space.GB: (1000, 9000)}


def graph_of(make) -> TileGraph:
    graph, data = make(12)
    members = tuple(op.name for op in graph.ops)
    compiled = compile_fused(graph, data, "simba", (Group(members=members, rows=2),))
    return tiles_of(compiled.module).graph


def lives(graph: TileGraph, order: tuple[Turn, ...]) -> dict[int, set[int]]:
    """Return at which turns each inner tile lies on chip."""
    found: dict[int, set[int]] = {}
    for number, tile in enumerate(graph.tiles):
        turns = [at for at, turn in enumerate(order) if number in turn.tiles]
        if tile.role is Role.INNER:
            found[number] = set(range(turns[0], turns[-1] + 1))
    return found


@pytest.mark.parametrize("make", [bottleneck, fire])
def test_tiles_that_lie_there_together_do_not_overlap(make):
    graph = graph_of(make)
    order = issue_order(graph, 1)
    alive = lives(graph, order)

    found: list[FixedPlaces] = list(fixed_places(graph, order, RANGES))

    assert found
    for places in found:
        assert places.addresses.keys() == alive.keys()
        base, size = places.ranges[Space.GB]
        for tile, address in places.addresses.items():
            assert base + size <= address <= 10000 - graph.tiles[tile].occupied
        for one, other in combinations(alive, 2):
            if alive[one] & alive[other]:
                low, high = sorted((one, other), key=places.addresses.__getitem__)
                end = places.addresses[low] + graph.tiles[low].occupied
                assert end <= places.addresses[high]


def test_those_that_leave_most_come_first():
    graph = graph_of(bottleneck)

    sizes = [
        places.ranges[Space.GB][1] for places in fixed_places(graph, issue_order(graph, 1), RANGES)
    ]

    assert sizes == sorted(sizes, reverse=True)


def test_nothing_is_offered_that_leaves_nothing():
    graph = graph_of(bottleneck)

    assert not list(fixed_places(graph, issue_order(graph, 1), {Space.GB: (0, 500)}))


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_less_space_is_needed_than_where_tiles_are_placed_one_by_one(monkeypatch, rows: int):
    graph, data = bottleneck(28)
    group = Group(members=tuple(op.name for op in graph.ops), rows=rows)
    tiles = tiles_of(compile_fused(graph, data, "simba", (group,), 12000).module).graph
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

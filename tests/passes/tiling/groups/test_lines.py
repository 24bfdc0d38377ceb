"""What lines take, against the tiles that are made."""

from dataclasses import replace
from itertools import accumulate, chain

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from accnn.ir.errors import InfeasibleError
from accnn.ir.graph_schedule import Group
from accnn.ir.module import Module
from accnn.ir.tiles.graph import Role, TileGraph
from accnn.passes.scheduling.fusion.epilogues import is_group
from accnn.passes.tiling.groups import lines, stripes
from accnn.passes.tiling.groups.chains import chains
from accnn.passes.tiling.groups.group import GroupTiles
from accnn.passes.tiling.groups.lines import bytes_of_lines, lines_fit
from accnn.passes.tiling.residency import Residency, residency, unit_of
from tests.networks import NetworkBuilder
from tests.passes.tiling.groups.fused import bottleneck, compile_fused, inverted
from tests.passes.tiling.groups.test_group import networks
from tests.thinned import examples, thinned


def place_of(module: Module, group: Group) -> Residency:
    plan = module.graph_schedule
    assert plan is not None
    return residency(module.graph, plan, unit_of(module.graph, plan, group.members[-1]))


def in_turn(module: Module, group: Group, is_early: bool) -> TileGraph:
    nests = {item.operator: item.nest for item in module.mappings}
    assert module.arch is not None
    place = place_of(module, group)
    tiles = GroupTiles(module.graph, group.members, group.rows, nests, module.arch, place)
    return replace(tiles, is_early=is_early).in_order()


def peak(module: Module, group: Group, is_early: bool) -> int:
    """Return the most bytes of lines at a time, each from its first operation to its last."""
    graph, tiles = module.graph, in_turn(module, group, is_early)
    parts = chains(graph, group.members)
    kept = {chain[-1].name for chain in parts[:-1]}
    kept |= {name for chain in parts for name in chain[0].inputs if not graph.is_constant(name)}
    lives: dict[int, tuple[int, int]] = {}
    for number, op in enumerate(tiles.ops):
        for tile in (*op.reads, op.out):
            lives[tile] = lives.get(tile, (number, number))[0], number
    changes = [0] * (len(tiles.ops) + 1)
    for index, (first, last) in lives.items():
        tile = tiles.tiles[index]
        is_stored = tile.role is Role.O and index in tiles.readers
        is_line = tile.role in (Role.INNER, Role.I) or is_stored
        if tile.tensor in kept and is_line and not tile.is_resident:
            changes[first] += tile.bytes
            changes[last + 1] -= tile.bytes
    return max(accumulate(changes))


@settings(deadline=None, max_examples=examples(15))
@given(networks(), st.integers(1, 6), st.booleans())
def test_lines_take_hardly_more_than_is_said(network, rows: int, is_early: bool):
    graph, data = network
    group = Group(members=tuple(op.name for op in graph.ops), rows=rows)
    if len(group.members) < 2 or not is_group(graph, group):
        return
    try:
        module = compile_fused(graph, data, "simba", (group,)).module
    except InfeasibleError:
        return

    addresses = place_of(module, group).addresses
    said = bytes_of_lines(graph, group.members, rows, addresses, is_early=is_early)

    assert peak(module, group, is_early) <= 1.3 * said


@pytest.mark.parametrize(
    ("network", "rows", "is_early"),
    [*thinned([bottleneck, inverted], [1, 2, 3, 5], [False, True], one_in=4)],
)
def test_lines_take_what_is_said(network, rows: int, is_early: bool):
    graph, data = network()
    group = Group(members=("a", "b", "c", "y"), rows=rows)
    module = compile_fused(graph, data, "simba", (group,)).module

    addresses = place_of(module, group).addresses
    said = bytes_of_lines(graph, group.members, rows, addresses, is_early=is_early)

    assert said == peak(module, group, is_early)


@settings(deadline=None, max_examples=examples(600))
@given(networks() | networks(12, 60), st.integers(1, 3), st.booleans())
def test_stripes_that_are_left_out_need_what_some_other_one_does(
    network, rows: int, is_early: bool
):
    graph, _ = network
    members = tuple(op.name for op in graph.ops)
    if len(members) < 2 or not is_group(graph, Group(members=members)):
        return
    seen = lines.SameGraph(graph)
    group = lines._outline(seen, members)
    sizes = {name: 3**number for number, name in enumerate(group.row_bytes)}

    def needed() -> set[int]:
        rounds = lines._rounds.__wrapped__(seen, members, rows, is_early)
        return {item.most_bytes() for item in rounds}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_outline", lambda *_: replace(group, row_bytes=sizes))
        said = needed()
        patch.setattr(lines, "_places", lambda *_: object())  # all of them differ
        patch.setattr(lines, "_telling", lambda found: chain(*(item.stripes for item in found)))
        assert needed() == said


@pytest.mark.parametrize("network", [bottleneck, inverted])
def test_what_lies_elsewhere_does_not_count(network):
    graph, _ = network()
    seen, members = lines.SameGraph(graph), ("a", "b", "c", "y")
    group = lines._outline(seen, members)
    rounds = [*lines._rounds.__wrapped__(seen, members, 2, True)]
    for name in group.row_bytes:
        others = {other: size for other, size in group.row_bytes.items() if other != name}
        least = [replace(item, group=replace(group, row_bytes=others)) for item in rounds]

        found = [item.most_bytes({name}) for item in rounds]

        assert found == [item.most_bytes() for item in least]
        assert bytes_of_lines(graph, members, 2, {name}) == max(found)
    assert max(found) < bytes_of_lines(graph, members, 2)


def test_lines_that_have_been_read_end():
    """Of blocks before and behind only the rows lie there that the next stripe keeps."""
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 64, 16))
    a = net.conv(net.conv(net.conv(x, "a", 48, 1), "b", 48, 3, groups=48), "c", 8, 1)
    d = net.conv(net.conv(net.conv(a, "d", 48, 1), "e", 48, 3, groups=48), "f", 8, 1)
    graph = net.build(d)
    row, rows = 16 * 48, 8

    early, late = (
        bytes_of_lines(graph, ("a", "b", "c", "d", "e", "f"), rows, ("x",), is_early=item)
        for item in (True, False)
    )

    assert early < (rows + 2) * row + rows * row + 3 * 2 * row + 2 * (rows + 2) * 16 * 8
    assert late > 2 * (rows + 2) * row + rows * row


@pytest.mark.parametrize(
    ("room", "name"), [(stripes._Rounds, "next"), (lines._Round, "most_bytes")]
)
def test_what_was_interrupted_is_asked_again(monkeypatch, room: type, name: str) -> None:
    """Stripes are worked out in turn: those that are known then are not all."""
    graph, _ = bottleneck()
    members = ("a", "b", "c", "y")
    right, turns = bytes_of_lines(bottleneck()[0], members, 3), []
    usual = getattr(room, name)

    def interrupted(*given: object) -> object:
        turns.append(given)
        if len(turns) == 2:
            raise KeyboardInterrupt
        return usual(*given)

    with monkeypatch.context() as patch:
        patch.setattr(room, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            lines_fit(graph, members, 3, right)

    assert not lines_fit(graph, members, 3, right - 1)
    assert bytes_of_lines(graph, members, 3) == right


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_lines_fit_what_they_take(rows: int) -> None:
    graph, _ = bottleneck()
    members = ("a", "b", "c", "y")
    size = bytes_of_lines(graph, members, rows)

    assert lines_fit(graph, members, rows, size)
    assert not lines_fit(bottleneck()[0], members, rows, size - 1)

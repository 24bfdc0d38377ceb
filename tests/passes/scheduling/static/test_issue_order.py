"""The order in which operations are issued."""

from dataclasses import replace

import pytest

from accnn.ir.graph_schedule import Group
from accnn.ir.tiles.graph import Role
from accnn.passes.scheduling.static.issue_order import Dealing, Turn, dealings, issue_order
from tests.networks import NetworkBuilder
from tests.passes.tiling.groups.fused import compile_fused, softmax
from tests.tiles import tiles_of

from .products import product


def test_one_npu_keeps_the_order_of_the_nest_and_finishes_at_once():
    graph = product(2, 3)

    assert issue_order(graph, 1) == (
        *(Turn(0, ops) for ops in ((0,), (1,), (2, 6))),
        *(Turn(0, ops) for ops in ((3,), (4,), (5, 7))),
    )


def test_accumulations_are_dealt_out_whole():
    order = issue_order(product(5, 2), 4)

    home: dict[int, set[int]] = {}
    for turn in order:
        home.setdefault(turn.ops[0] // 2, set()).add(turn.npu)
    assert sorted(number for turn in order for number in turn.ops) == list(range(15))
    assert [home[chain] for chain in range(5)] == [{0}, {1}, {2}, {3}, {0}]
    assert [turn.npu for turn in order[:4]] == [0, 1, 2, 3]
    assert [turn.ops for turn in order[4:8]] == [(1, 10), (3, 11), (5, 12), (7, 13)]


@pytest.mark.parametrize(("dealing", "npu"), [*zip(Dealing, (0, 1, 1), strict=True)])
def test_what_is_dealt_on_begins_at_the_npu_after_the_last_one(dealing: Dealing, npu: int):
    """The second accumulation reads the result of the first one, so that they run in turn."""
    graph = product(2, 3)
    ops = list(graph.ops)
    ops[3] = replace(ops[3], reads=(graph.ops[6].out, ops[3].reads[1]))

    order = issue_order(replace(graph, ops=tuple(ops)), 4, dealing)

    assert [turn.npu for turn in order] == [0] * 3 + [npu] * 3
    assert [turn.ops for turn in order] == [(0,), (1,), (2, 6), (3,), (4,), (5, 7)]


def test_ways_to_deal_out_are_told_apart_only_where_they_differ():
    whole, single = product(4, 1), product(5, 1)

    assert list(dealings(whole, 4)) == [Dealing.FROM_FIRST]
    assert list(dealings(single, 4)) == [Dealing.FROM_FIRST]
    ops = list(single.ops)
    ops[1] = replace(ops[1], reads=(single.ops[5].out, ops[1].reads[1]))
    in_turn = replace(single, ops=tuple(ops))
    assert list(dealings(in_turn, 4)) == [Dealing.FROM_FIRST, Dealing.ON]
    assert list(dealings(in_turn, 4, other_ways=False)) == [Dealing.FROM_FIRST]
    assert list(dealings(in_turn, 1)) == [Dealing.FROM_FIRST]


def test_what_several_operations_read_does_not_make_one_turn_of_them():
    """Of a softmax, all that reads the largest of each row; what only one reads goes on."""
    net = NetworkBuilder()
    floats = net.floats(net.input("x", (12, 300)), "floats")
    graph = net.build(softmax(net, floats, "y", 1))
    members = tuple(op.name for op in graph.ops)
    compiled = compile_fused(graph, net.data, "simba", (Group(members=members),))
    tiles = tiles_of(compiled.module).graph

    turns = [[tiles.ops[number].works_for for number in turn.ops] for turn in issue_order(tiles, 1)]

    assert turns.count(["y_sub", "y_exp"]) == 2
    assert turns.count(["y_div", "y"]) == 2


@pytest.mark.parametrize("is_resident", [False, True])
def test_what_reads_a_result_does_not_run_beside_what_makes_it(is_resident: bool):
    """The result lies in a tile that is stored, or whole on chip, where others have other tiles."""
    graph = product(2, 3)
    out = graph.ops[6].out
    tiles = list(graph.tiles)
    if is_resident:
        tiles[out] = replace(tiles[out], address=0)
        tiles.append(replace(tiles[out], role=Role.I))
    read = len(tiles) - 1 if is_resident else out
    ops = list(graph.ops)
    ops[3] = replace(ops[3], reads=(read, ops[3].reads[1]))

    order = issue_order(replace(graph, tiles=tuple(tiles), ops=tuple(ops)), 2)

    issued = [number for turn in order for number in turn.ops]
    assert sorted(issued) == list(range(8))
    assert issued.index(6) < issued.index(3)
    apart = [number for turn in issue_order(graph, 2) for number in turn.ops]
    assert apart.index(3) < apart.index(6)

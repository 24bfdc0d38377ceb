"""The order in which operations are issued."""

from dataclasses import replace

import pytest

from accnn.ir.graph_schedule import Group
from accnn.ir.tiles.graph import Role
from accnn.passes.scheduling.engine.kernel.arrays import NPU
from accnn.passes.scheduling.static.group_schedules import StripeOrder
from accnn.passes.scheduling.static.issue_order import Dealing, dealings, issue_order
from accnn.passes.scheduling.static.lags import Lags
from tests.networks import NetworkBuilder
from tests.passes.tiling.groups.fused import compile_fused, fire, softmax
from tests.thinned import thinned
from tests.tiles import tiles_of

from .plain_order import arrays_of, plain_order, tiles_of_turns, turns_of
from .products import product
from .test_ready_order import LAGS, MACHINES, grouped
from .test_ready_order import NETWORKS as IN_STRIPES

NETWORKS = {**IN_STRIPES, "fire": fire}


def test_one_npu_keeps_the_order_of_the_nest_and_finishes_at_once():
    graph = product(2, 3)

    assert turns_of(issue_order(arrays_of(graph))) == [
        *((0, ops) for ops in ((0,), (1,), (2, 6))),
        *((0, ops) for ops in ((3,), (4,), (5, 7))),
    ]


def test_accumulations_are_dealt_out_whole():
    order = turns_of(issue_order(arrays_of(product(5, 2), 4)))

    home: dict[int, set[int]] = {}
    for npu, ops in order:
        home.setdefault(ops[0] // 2, set()).add(npu)
    assert sorted(number for _, ops in order for number in ops) == list(range(15))
    assert [home[chain] for chain in range(5)] == [{0}, {1}, {2}, {3}, {0}]
    assert [npu for npu, _ in order[:4]] == [0, 1, 2, 3]
    assert [ops for _, ops in order[4:8]] == [(1, 10), (3, 11), (5, 12), (7, 13)]


@pytest.mark.parametrize(("dealing", "npu"), [*zip(Dealing, (0, 1, 1), strict=True)])
def test_what_is_dealt_on_begins_at_the_npu_after_the_last_one(dealing: Dealing, npu: int):
    """The second accumulation reads the result of the first one, so that they run in turn."""
    graph = product(2, 3)
    ops = list(graph.ops)
    ops[3] = replace(ops[3], reads=(graph.ops[6].out, ops[3].reads[1]))

    order = issue_order(arrays_of(replace(graph, ops=tuple(ops)), 4), dealing)

    assert order.turns[:-1, NPU].tolist() == [0] * 3 + [npu] * 3
    assert [own for _, own in turns_of(order)] == [(0,), (1,), (2, 6), (3,), (4,), (5, 7)]


def test_ways_to_deal_out_are_told_apart_only_where_they_differ():
    whole, single = product(4, 1), product(5, 1)

    assert list(dealings(arrays_of(whole, 4))) == [Dealing.FROM_FIRST]
    assert list(dealings(arrays_of(single, 4))) == [Dealing.FROM_FIRST]
    ops = list(single.ops)
    ops[1] = replace(ops[1], reads=(single.ops[5].out, ops[1].reads[1]))
    in_turn = arrays_of(replace(single, ops=tuple(ops)), 4)
    assert list(dealings(in_turn)) == [Dealing.FROM_FIRST, Dealing.ON]
    assert list(dealings(in_turn, other_ways=False)) == [Dealing.FROM_FIRST]
    assert list(dealings(in_turn._replace(npus=1))) == [Dealing.FROM_FIRST]


def test_what_several_operations_read_does_not_make_one_turn_of_them():
    """Of a softmax, all that reads the largest of each row; what only one reads goes on."""
    net = NetworkBuilder()
    floats = net.floats(net.input("x", (12, 300)), "floats")
    graph = net.build(softmax(net, floats, "y", 1))
    members = tuple(op.name for op in graph.ops)
    compiled = compile_fused(graph, net.data, "simba", (Group(members=members),))
    tiles = tiles_of(compiled.module).graph

    order = turns_of(issue_order(arrays_of(tiles)))
    turns = [[tiles.ops[number].works_for for number in ops] for _, ops in order]

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

    order = issue_order(arrays_of(replace(graph, tiles=tuple(tiles), ops=tuple(ops)), 2))

    issued = order.ops.tolist()
    assert sorted(issued) == list(range(8))
    assert issued.index(6) < issued.index(3)
    apart = issue_order(arrays_of(graph, 2)).ops.tolist()
    assert apart.index(3) < apart.index(6)


@pytest.mark.parametrize(
    ("network", "arch", "behind", "roll", "dealing"),
    [*thinned([*NETWORKS], MACHINES, LAGS, [False, True], [*Dealing], one_in=8)],
)
def test_orders_are_those_of_plain_python(
    network: str, arch: str, behind: Lags, roll: bool, dealing: Dealing
):
    """Of stripes, some chains of which lag: as they are numbered there, or where none does."""
    groups = grouped(NETWORKS[network](), arch, 1)
    behind = tuple(item for item in behind if item in groups._tiles.may_lag)
    rolls = frozenset(groups._tiles.may_roll(behind)) if roll else frozenset[str]()
    tiles = groups._tiles_of(StripeOrder(rolls=rolls))
    graph, npus = tiles.in_order(behind), len(tiles.arch.npus)

    order = issue_order(arrays_of(graph, npus), dealing)

    assert turns_of(order) == plain_order(graph, npus, dealing)
    for (_, ops), touched in zip(turns_of(order), tiles_of_turns(order), strict=True):
        own = (graph.ops[number] for number in ops)
        assert touched == list(dict.fromkeys(tile for op in own for tile in (*op.reads, op.out)))
    if roll:
        return  # how many rows of a tile are there depends on what lags
    for most in (None, 3):
        numbers, some = tiles.numbers(behind, most), tiles.in_order(behind, most)
        assert [tiles.in_order().ops[number] for number in numbers] == [*some.ops]
        renumbered = issue_order(arrays_of(tiles.in_order(), npus), dealing, numbers)
        expected = issue_order(arrays_of(some, npus), dealing)
        assert renumbered.ops.tolist() == numbers[expected.ops].tolist()
        assert renumbered.turns.tolist() == expected.turns.tolist()
        assert renumbered.tiles.tolist() == expected.tiles.tolist()

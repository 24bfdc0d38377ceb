"""Concatenations in fused groups: what is made for them lies in place, and is not copied."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.graph_schedule import Group
from accnn.ir.isa.instructions import Unit
from accnn.ir.tiles.graph import TileGraph
from tests.flow import Compiled
from tests.passes.tiling.groups.fused import (
    check_that_what_members_hand_on_never_leaves,
    compile_fused,
    dense_block,
    fire,
    moved,
)
from tests.passes.tiling.groups.test_group import MACHINES
from tests.thinned import thinned
from tests.tiles import tiles_of


@pytest.mark.parametrize(
    ("network", "arch", "rows"),
    [*thinned([fire, dense_block], MACHINES[::-1], [1, 3, 0], one_in=5)],
)
def test_what_is_joined_never_leaves_the_chip(network, arch: str, rows: int):
    check_that_what_members_hand_on_never_leaves(partial(network, 7), arch, rows)


def copies(compiled: Compiled) -> dict[str, int]:
    """Return the bytes that members copy, but for the rows that are kept."""
    tiles = tiles_of(compiled.module).graph
    found: dict[str, int] = {}
    for op in tiles.ops:
        if op.unit is Unit.ST and not tiles.keeps(op):
            found[op.works_for] = found.get(op.works_for, 0) + op.written_bytes
    return found


@cache
def fire_in_stripes() -> Compiled:
    """Return a network with a concatenation as a single group."""
    graph, data = fire()
    members = tuple(op.name for op in graph.ops)
    return compile_fused(graph, data, "simba", (Group(members=members, rows=2),))


def test_what_is_made_for_a_concatenation_is_not_copied():
    assert copies(fire_in_stripes()) == {}


@pytest.mark.parametrize("budget", [None, 3000])
def test_parts_of_a_result_go_to_their_place_in_it(budget: int | None):
    graph, data = fire()
    members = tuple(op.name for op in graph.ops[:-1])

    compiled = compile_fused(graph, data, "simba", (Group(members=members, rows=2),), budget)

    assert "joined" in moved(compiled) or budget is None
    assert copies(compiled) == {}
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_what_comes_from_outside_is_copied():
    graph, data = fire()
    members = ("wide", "looked", "joined", "y")

    compiled = compile_fused(graph, data, "simba", (Group(members=members, rows=2),))

    assert copies(compiled) == {"joined": graph.types["narrow"].bytes}
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_a_layer_that_is_joined_again_is_copied_from_where_it_was_joined_first():
    graph, data = dense_block()
    members = tuple(op.name for op in graph.ops)

    compiled = compile_fused(graph, data, "simba", (Group(members=members, rows=2),))

    size = {name: type.bytes for name, type in graph.types.items()}
    assert copies(compiled) == {
        "joined1": size["a"],
        "joined2": size["a"] + size["c0"],
        "y": size["a"] + size["c0"] + size["c1"],
    }


def with_shifts(
    graph: TileGraph, change: Callable[[tuple[int, ...]], tuple[int, ...]]
) -> TileGraph:
    """Return a tile graph with other shifts of the first operation that has some."""
    number = next(number for number, op in enumerate(graph.ops) if op.shifts)
    op = replace(graph.ops[number], shifts=change(graph.ops[number].shifts))
    return replace(graph, ops=(*graph.ops[:number], op, *graph.ops[number + 1 :]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda shifts: (), "of %joined is not written once in full"),
        (lambda shifts: (*shifts[:-1], shifts[-1] + 1), "of %joined is not written once in full"),
        (lambda shifts: shifts[1:], "has no shift for each tile"),
        (lambda shifts: (*shifts[:-1], -9), "has no shift for each tile"),
    ],
)
def test_parts_that_do_not_lie_side_by_side_are_refused(change, message: str):
    tiles = tiles_of(fire_in_stripes().module).graph
    tiles.verify()

    with pytest.raises(VerifyError, match=message):
        with_shifts(tiles, change).verify()

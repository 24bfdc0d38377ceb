"""Members that need whole rows: reductions along columns, and what is made of them."""

import math
from collections.abc import Mapping
from functools import partial

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from accnn.ir.graph import Graph, eliminate_dead
from accnn.ir.graph_schedule import Group
from accnn.ir.tiles.graph import Role
from accnn.passes.scheduling.fusion.epilogues import is_group
from accnn.passes.tiling.groups.rows import makes_rows
from tests.inputs import Array
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import (
    check_that_what_members_hand_on_never_leaves,
    compile_fused,
    moved,
    normalised,
    perceptron,
    shares,
    softmax,
)
from tests.passes.tiling.groups.test_group import (
    MACHINES,
    check_that_groups_compute_the_same,
    groupings,
)
from tests.thinned import examples, thinned
from tests.tiles import tiles_of

KINDS = ("softmax", "normalised", "dense", "add", "mul", "max", "erf")


@pytest.mark.parametrize(
    ("network", "arch", "rows"), [*thinned([perceptron, shares], MACHINES, [0, 1, 5], one_in=4)]
)
def test_rows_that_are_reduced_never_leave_the_chip(network, arch: str, rows: int):
    check_that_what_members_hand_on_never_leaves(partial(network, 7), arch, rows)


@st.composite
def networks(draw: st.DrawFn) -> tuple[Graph, Mapping[str, Array]]:
    """Return what is computed on rows of a matrix, or of some matrices side by side."""
    net = NetworkBuilder(draw(st.integers(0, 99)))
    around = draw(st.sampled_from([(), (), (1,), (3,), (1, 2)]))
    shape = (*around, draw(st.integers(2, 12)), draw(st.integers(2, 12)))
    axis = len(shape) - 1
    if draw(st.booleans()):
        made = [net.input("x", shape)]
    else:
        flat = net.input("flat", (math.prod(shape),))
        made = [net.op("reshape", (flat,), "x", {"shape": shape})]
    for number in range(draw(st.integers(1, 4))):
        name, last = f"t{number}", made[-1] if draw(st.booleans()) else draw(st.sampled_from(made))
        kind = draw(st.sampled_from(KINDS))
        alike = [item for item in made if net.types[item].shape == net.types[last].shape]
        if kind in ("add", "mul"):
            operands = (last, draw(st.sampled_from(alike)))
            made.append(net.op(kind, operands, name, quant=per_tensor(0.15, 2)))
        elif kind == "dense":
            if not around:
                made.append(net.dense(last, name, draw(st.integers(1, 20))))
        else:
            floats = net.floats(last, f"{name}_floats")
            made.append(reduced(net, kind, floats, name, axis))
    graph = eliminate_dead(net.build(made[-1]))
    return graph, {value.name: net.data[value.name] for value in graph.constants}


def reduced(net: NetworkBuilder, kind: str, floats: str, name: str, axis: int) -> str:
    """Add something that works on floats, and return the bytes that come of it."""
    if kind in ("softmax", "normalised"):
        return (softmax if kind == "softmax" else normalised)(net, floats, name, axis)
    if kind == "max":
        highest = net.op("reduce_max", (floats,), f"{name}_max", {"axis": axis})
        floats = net.op("sub", (floats, highest), f"{name}_sub")
    else:
        floats = net.op("erf", (floats,), f"{name}_erf")
    return net.op("quantize", (floats,), name, quant=per_tensor(0.02, 7))


@settings(deadline=None, max_examples=examples(25))
@given(st.data(), networks(), st.sampled_from(MACHINES))
def test_fused_rows_compute_the_same(data: st.DataObject, network, arch: str):
    graph, constants = network
    if not graph.ops:
        return
    check_that_groups_compute_the_same(data, graph, constants, arch, data.draw(groupings(graph)))


@pytest.mark.parametrize(
    ("shape", "axis", "is_member"),
    [((4, 6), 1, True), ((4, 6), 0, False), ((1, 5, 4, 6), 1, True), ((1, 5, 4, 6), 2, False)],
)
def test_reductions_of_rows_to_one_are_no_members(shape: tuple[int, ...], axis: int, is_member):
    net = NetworkBuilder()
    x = net.floats(net.input("x", shape), "floats")
    graph = net.build(net.op("reduce_sum", (x,), "y", {"axis": axis}))

    assert makes_rows(graph, graph.producer["floats"])
    assert makes_rows(graph, graph.producer["y"]) is is_member


@pytest.mark.parametrize("arch", ["simba", "flexer-arch5"])
@pytest.mark.parametrize("shape", [(12, 300), (1, 6, 4, 500)])
def test_what_the_vector_unit_hands_on_are_small_tiles(arch: str, shape: tuple[int, ...]):
    net = NetworkBuilder()
    floats = net.floats(net.input("x", shape), "floats")
    graph = net.build(softmax(net, floats, "y", len(shape) - 1))
    members = tuple(op.name for op in graph.ops)

    compiled = compile_fused(graph, net.data, arch, (Group(members=members),))

    tiles = [tile for tile in tiles_of(compiled.module).graph.tiles if tile.role is Role.INNER]
    assert max(tile.bytes for tile in tiles if tile.tensor == "y_exp") == 4 * math.prod(shape)
    assert max(tile.bytes for tile in tiles if tile.tensor == "y_sub") <= 8192
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def scores(rows: int = 7) -> tuple[Graph, Mapping[str, Array]]:
    """The softmax of what a convolution of several heads has made, in another shape."""
    net = NetworkBuilder()
    x = net.input("x", (1, 3 * rows, 1, 11))
    floats = net.floats(net.op("reshape", (x,), "heads", {"shape": (1, 3, rows, 11)}), "floats")
    return net.build(softmax(net, floats, "y", 3)), net.data


@pytest.mark.parametrize(
    ("arch", "budget", "rows"), [*thinned(MACHINES, [None, 4000], [1, 5], one_in=3)]
)
def test_a_reshape_of_what_comes_from_outside_is_a_member(arch: str, budget: int | None, rows: int):
    graph, data = scores()
    group = Group(members=tuple(op.name for op in graph.ops), rows=rows)

    compiled = compile_fused(graph, data, arch, (group,), budget)

    assert makes_rows(graph, graph.producer["heads"])
    assert is_group(graph, group)
    assert not moved(compiled) & {"heads", "floats"}
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_a_reshape_of_what_a_member_makes_is_none():
    net = NetworkBuilder()
    a = net.dense(net.input("x", (12, 8)), "a", 8)
    graph = net.build(net.floats(net.op("reshape", (a,), "b", {"shape": (3, 4, 8)}), "y"))

    assert not is_group(graph, Group(members=("a", "b", "y")))
    assert is_group(graph, Group(members=("b", "y")))

"""Members that are products of two computed tensors, one of them from outside the group."""

from collections.abc import Mapping

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Graph, eliminate_dead
from accnn.ir.graph_schedule import Group
from accnn.ir.tiles.events import EventKind
from accnn.ir.tiles.graph import Role
from accnn.passes.scheduling.fusion.epilogues import is_group
from accnn.passes.scheduling.fusion.offers import can_be_member
from tests.inputs import Array
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import (
    attention,
    check_that_what_members_hand_on_never_leaves,
    compile_fused,
    normalised,
    softmax,
)
from tests.passes.tiling.groups.test_group import (
    MACHINES,
    check_that_groups_compute_the_same,
    groupings,
)
from tests.thinned import examples, thinned
from tests.tiles import tiles_of


@pytest.mark.parametrize(
    ("around", "arch", "rows"),
    [*thinned([(), (4,), (1, 3), (2, 2)], MACHINES, [0, 1, 5], one_in=6)],
)
def test_scores_and_shares_never_leave_the_chip(around: tuple[int, ...], arch: str, rows: int):
    check_that_what_members_hand_on_never_leaves(lambda: attention(7, around=around), arch, rows)


@st.composite
def networks(draw: st.DrawFn) -> tuple[Graph, Mapping[str, Array]]:
    """Return products of tensors that are inputs or turned results, and what is made of rows."""
    net = NetworkBuilder(draw(st.integers(0, 99)))
    around = draw(st.sampled_from([(), (2,), (1, 3), (2, 2)]))
    axis, sizes = len(around) + 1, st.integers(2, 10)
    made = [net.input("x", (*around, draw(sizes), draw(sizes)))]
    for number in range(draw(st.integers(1, 4))):
        name, last = f"t{number}", made[-1] if draw(st.booleans()) else draw(st.sampled_from(made))
        shape, quant = net.types[last].shape, per_tensor(0.3, 2)
        kind = draw(
            st.sampled_from(["given", "given", "turned", "itself", "softmax", "normalised"])
        )
        if kind == "given":
            w = net.input(f"{name}_w", (*around, draw(sizes), shape[-1]))
            made.append(net.op("dense", (last, w), name, quant=quant))
        elif kind == "turned":
            perm = (*range(axis - 1), axis, axis - 1)
            turned = net.op(
                "transpose", (last,), f"{name}_w", {"perm": perm}, net.types[last].quant
            )
            given = net.input(f"{name}_x", (*around, draw(sizes), shape[-2]))
            made.append(net.op("dense", (given, turned), name, quant=quant))
        elif kind == "itself":
            made.append(net.op("dense", (last, last), name, quant=quant))
        else:
            of_rows = softmax if kind == "softmax" else normalised
            made.append(of_rows(net, net.floats(last, f"{name}_floats"), name, axis))
    graph = eliminate_dead(net.build(made[-1]))
    return graph, {value.name: net.data[value.name] for value in graph.constants}


@settings(deadline=None, max_examples=examples(40))
@given(st.data(), networks(), st.sampled_from(MACHINES))
def test_fused_products_compute_the_same(data: st.DataObject, network, arch: str):
    graph, constants = network
    machine = load_architecture(arch)
    groups = tuple(
        group
        for group in data.draw(groupings(graph))
        if is_group(graph, group)
        and all(can_be_member(graph, graph.producer[name], machine) for name in group.members)
    )

    check_that_groups_compute_the_same(data, graph, constants, arch, groups)


def self_attention() -> tuple[Graph, Mapping[str, Array]]:
    """A product, and that of its result with itself."""
    net = NetworkBuilder()
    a = net.dense(net.input("x", (12, 8)), "a", 10)
    return net.build(net.op("dense", (a, a), "y", quant=per_tensor(0.4, 2))), net.data


def test_weights_that_a_member_makes_are_refused():
    graph, data = self_attention()
    group = Group(members=("a", "y"), rows=4)

    assert not is_group(graph, group)
    with pytest.raises(InfeasibleError, match="needs all of %a of its group"):
        compile_fused(graph, data, "edge-1m", (group,))


@pytest.mark.parametrize("arch", ["simba", "edge-1m"])
def test_weights_from_outside_come_once_or_lie_on_chip(arch: str):
    graph, data = attention()
    group = Group(members=tuple(op.name for op in graph.ops), rows=4)

    compiled = compile_fused(graph, data, arch, (group,))

    schedule = tiles_of(compiled.module)
    loads = (event for event in schedule.events if event.kind is EventKind.LOAD)
    tiles = [schedule.graph.tiles[event.subject] for event in loads]
    loaded = {name: sum(tile.bytes for tile in tiles if tile.tensor == name) for name in "kv"}
    weights = [tile for tile in schedule.graph.tiles if tile.role is Role.W]
    resident = {tile.tensor for tile in weights if tile.is_resident}
    assert resident == ({"k", "v"} if arch == "edge-1m" else set())
    assert loaded == {name: graph.types[name].bytes for name in "kv"}

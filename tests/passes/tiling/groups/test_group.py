"""Fused groups: programs are right whatever is fused, and the rows that the stripes take."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Attr, Graph, eliminate_dead
from accnn.ir.graph_schedule import Group, Stream
from accnn.ir.groups import group_op
from accnn.ir.isa.instructions import Unit
from accnn.ir.mapping import Allocation, Loop, SpatialLoop
from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.ir.tiles.events import TRANSFERS, EventKind
from accnn.ir.tiles.graph import Role
from accnn.ir.types import DType
from accnn.ir.workload import DIMS, Dim, Operand
from accnn.passes.base import Context
from accnn.passes.scheduling.fusion.epilogues import is_group
from accnn.passes.scheduling.static.group_schedules import GroupSchedules
from accnn.passes.scheduling.static.schedule_tiles import ScheduleTiles
from accnn.passes.tiling import nest_cuts
from accnn.passes.tiling.groups.rows import rows_of
from accnn.passes.tiling.groups.stripes import hands_out, stripes, usual_rows
from tests.flow import Compiled
from tests.inputs import Array
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import (
    bottleneck,
    branches,
    compile_fused,
    inverted,
    mapped,
    moved,
    planned,
    shortcut,
    tiled,
    with_nests,
)
from tests.thinned import examples, thinned
from tests.tiles import tiles_of

MACHINES = ("simba", "edge-1m", "flexer-arch5", "flexer-arch1")
KINDS = ("conv", "conv", "conv", "depthwise", "add", "pool", "windows", "mul", "concat", "concat")


@st.composite
def networks(draw: st.DrawFn, least: int = 3, most: int = 15) -> tuple[Graph, Mapping[str, Array]]:
    """Return convolutions, pools, sums and concatenations, some of what was made long ago.

    Images have ``least`` to ``most`` rows.
    """
    net = NetworkBuilder(draw(st.integers(0, 99)))
    size = draw(st.integers(least, most))
    made = [net.input("x", (1, draw(st.integers(1, 16)), size, draw(st.integers(3, 15))))]
    for number in range(draw(st.integers(2, 6))):
        name = f"t{number}"
        last = made[-1] if draw(st.integers(0, 3)) else draw(st.sampled_from(made))
        shape = net.types[last].shape
        alike = [item for item in made if net.types[item].shape == shape]
        kind = draw(st.sampled_from(KINDS))
        stride = draw(st.sampled_from([1, 1, 2])) if min(shape[2:]) > 2 else 1
        if kind in ("add", "mul"):
            operands = (last, draw(st.sampled_from(alike)))
            made.append(net.op(kind, operands, name, quant=per_tensor(0.15, 2)))
        elif kind == "concat":
            images = [item for item in made if net.types[item].shape[2:] == shape[2:]]
            others = draw(st.lists(st.sampled_from(images), max_size=2))
            made += joined(net, draw(st.permutations((last, *others))), name)
        elif kind == "windows":
            kernel = tuple(draw(st.sampled_from(divisors(extent))) for extent in shape[2:])
            windows: dict[str, Attr] = {"kernel": kernel, "stride": kernel}
            made.append(net.op("max_pool", (last,), name, windows))
        elif kind == "pool":
            pool: dict[str, Attr] = {
                "kernel": (3, 3),
                "stride": (stride, stride),
                "pads": (1, 1, 1, 1),
            }
            made.append(net.op("max_pool", (last,), name, pool))
        else:
            groups = shape[1] if kind == "depthwise" else 1
            channels = shape[1] if kind == "depthwise" else draw(st.integers(1, 20))
            kernel = draw(st.sampled_from([1, 3, 3, 5]))
            made.append(net.conv(last, name, channels, kernel, stride=stride, groups=groups))
    graph = eliminate_dead(net.build(made[-1]))
    return graph, {value.name: net.data[value.name] for value in graph.constants}


def divisors(extent: int) -> list[int]:
    """Return the small numbers that divide an extent."""
    return [number for number in (1, 2, 3, 4) if extent % number == 0]


def joined(net: NetworkBuilder, operands: Sequence[str], name: str) -> list[str]:
    """Concatenate tensors; those with another scale than the first are looked up in that one."""
    quant = net.types[operands[0]].quant
    alike: list[str] = []
    added: list[str] = []
    for number, operand in enumerate(operands):
        if net.types[operand].quant != quant:
            table = net.constant(f"{name}_table{number}", (256,), DType.S8)
            added.append(net.op("lookup", (operand, table), f"{name}_{number}", quant=quant))
            operand = added[-1]
        alike.append(operand)
    return [*added, net.op("concat", tuple(alike), name, {"axis": 1}, quant)]


@st.composite
def groupings(draw: st.DrawFn, graph: Graph) -> tuple[Group, ...]:
    """Return groups of consecutive operators that store what others read of them."""
    names = [op.name for op in graph.ops]
    cuts = sorted(draw(st.sets(st.integers(1, len(names) - 1), max_size=2))) if names[1:] else []
    found: list[Group] = []
    for start, stop in zip((0, *cuts), (*cuts, len(names)), strict=True):
        members = tuple(names[start:stop])
        rows = draw(st.integers(0, rows_of(graph.types[members[-1]])))
        group = Group(members=members, rows=rows)
        if len(members) > 1 and is_group(graph, group):
            group = group if hands_out(graph, members, group.rows) else replace(group, rows=0)
            found.append(group)
    return tuple(found)


def check_that_groups_compute_the_same(
    data: st.DataObject,
    graph: Graph,
    constants: Mapping[str, Array],
    arch: str,
    groups: Sequence[Group],
) -> None:
    """Check what a network with groups computes, in a drawn part of the scratchpad or all."""
    budget = data.draw(st.none() | st.integers(500, 6000))

    try:
        compiled = compile_fused(graph, constants, arch, groups, budget)
    except InfeasibleError:
        assert budget is not None
        return

    assert compiled.wrong(compiled.run(detect_races=True)) == []


@settings(deadline=None, max_examples=examples(40))
@given(st.data(), networks(), st.sampled_from(MACHINES))
def test_fused_networks_compute_the_same(data: st.DataObject, network, arch: str):
    graph, constants = network
    check_that_groups_compute_the_same(data, graph, constants, arch, data.draw(groupings(graph)))


@pytest.mark.parametrize(
    ("network", "arch", "rows"),
    [*thinned([bottleneck, inverted], MACHINES, [0, 1, 2, 5, 12], one_in=6)],
)
def test_inner_tensors_never_leave_the_chip(network, arch: str, rows: int):
    graph, data = network()

    compiled = compile_fused(graph, data, arch, (Group(members=("a", "b", "c", "y"), rows=rows),))

    assert not moved(compiled) & {"a", "b", "c"}
    assert compiled.wrong(compiled.run(detect_races=True)) == []


@pytest.mark.parametrize("rows", [*thinned([1, 2, 3, 5])])
def test_rows_are_made_once_and_halos_are_kept(rows: int):
    graph, data = bottleneck()

    group = Group(members=("a", "b", "c", "y"), rows=rows)
    module = mapped(graph, data, "simba", (group,))

    tiles = GroupSchedules(module, group_op(graph, group)).in_turn.graph
    made = sum(
        np.prod([axis.size for axis in op.box])
        for op in tiles.ops
        if op.works_for == "a" and tiles.finishes(op)
    )
    assert made == graph.types["a"].elements
    kept = [op for op in tiles.ops if tiles.keeps(op)]
    assert {op.works_for for op in kept} == {"a"}
    assert {op.box[2].size for op in kept} <= {1, 2}


@pytest.mark.parametrize("rows", [*thinned([2, 3, 4])])
def test_weights_come_once_though_the_last_stripe_has_fewer_rows(rows: int):
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 16, 11, 9)), "a", 8, 1)
    graph = net.build(net.conv(a, "b", 16, 3))

    group = Group(members=("a", "b"), rows=rows)
    compiled = compile_fused(graph, net.data, "simba", (group,))

    schedule = tiles_of(compiled.module)
    tiles = schedule.graph.tiles
    loads = [tiles[event.subject] for event in schedule.events if event.kind is EventKind.LOAD]
    weights = sum(tile.bytes for tile in loads if tile.role is Role.W)
    assert weights == sum(graph.types[name].bytes for name in ("a_w", "b_w"))
    assert compiled.wrong(compiled.run(detect_races=True)) == []


@pytest.mark.parametrize(
    ("arch", "late", "rows"), [*thinned(MACHINES[::-1], [False, True], [2, 1, 3], one_in=4)]
)
def test_rows_that_a_filter_reads_come_once(arch: str, late: bool, rows: int):
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 27, 40))
    a = net.conv(x, "a", 8, 3, stride=2)
    b = net.conv(x, "b", 8, 5, stride=2) if late else net.conv(a, "b", 8, 3)
    y = net.op("add", (a, b), "y", quant=per_tensor(0.1))
    graph = net.build(net.conv(y, "z", 8, 3))
    members = ("a", "b", "y", "z")

    compiled = compile_fused(graph, net.data, arch, (Group(members=members, rows=rows),), 8600)

    schedule = tiles_of(compiled.module)
    loads = [item.subject for item in schedule.events if item.kind is EventKind.LOAD]
    tiles = [schedule.graph.tiles[number] for number in loads]
    assert sum(tile.bytes for tile in tiles if tile.tensor == "x") == graph.types["x"].bytes
    assert compiled.module.graph_schedule is not None
    assert not compiled.module.graph_schedule.resident("x", 0)
    assert compiled.wrong(compiled.run(detect_races=True)) == []


@pytest.mark.parametrize(("arch", "rows"), [*thinned(MACHINES, [0, 3])])
def test_what_an_epilogue_works_on_is_an_inner_tile(arch: str, rows: int):
    """Sums pass on to the table, but what that makes is written before it is added."""
    net = NetworkBuilder()
    x, other = net.input("x", (1, 8, 12, 10)), net.input("other", (1, 8, 12, 10))
    table = net.constant("table", (256,), DType.S8)
    looked = net.op("lookup", (net.conv(x, "c", 8, 1), table), "looked", quant=per_tensor(0.1))
    graph = net.build(net.op("add", (looked, other), "y", quant=per_tensor(0.2)))

    group = Group(members=("c", "looked", "y"), rows=rows)
    compiled = compile_fused(graph, net.data, arch, (group,))

    tiles = tiles_of(compiled.module).graph
    inner = {tile.tensor for tile in tiles.tiles if tile.role is Role.INNER}
    assert inner - {"x"} == {"looked"}
    assert {op.joined for op in tiles.ops if tiles.finishes(op)} == {"looked"}
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def sums_of(kind: str, *, first: bool, shape: tuple[int, ...]) -> NetworkBuilder:
    """A convolution ``c`` whose result is combined with another tensor: ``y``."""
    net = NetworkBuilder()
    x, other = net.input("x", (2, 8, 12, 10)), net.input("other", shape, zero_point=11)
    c = net.conv(x, "c", 16, 3, groups=2)
    net.op(kind, (c, other) if first else (other, c), "y", quant=per_tensor(0.21, 5))
    return net


@pytest.mark.parametrize(
    ("arch", "first", "kind", "shape"),
    [
        *thinned(
            MACHINES,
            [True, False],
            ["add", "mul"],
            [(2, 16, 12, 10), (2, 16, 1, 1), (16, 1, 1), (10,)],
            one_in=6,
        )
    ],
)
def test_what_sums_are_combined_with_takes_no_instruction_of_its_own(arch, first, kind, shape):
    net = sums_of(kind, first=first, shape=shape)

    compiled = compile_fused(net.build("y"), net.data, arch, (Group(members=("c", "y"), rows=5),))

    tiles = tiles_of(compiled.module).graph
    finishing = [op for op in tiles.ops if tiles.finishes(op)]
    assert {op.joined for op in finishing} == {"y"}
    assert {op.works_for for op in tiles.ops if op.unit is Unit.VX} == {"c"}
    assert not any(tile.tensor == "c" for tile in tiles.tiles if tile.role is not Role.PSUM)
    assert compiled.wrong(compiled.run(detect_races=True)) == []


@pytest.mark.parametrize("arch", MACHINES)
def test_a_matrix_is_combined_with_one_of_its_shape_only(arch):
    net = NetworkBuilder()
    x, other, row = (net.input(*item) for item in (("x", (9, 12)), ("o", (9, 12)), ("r", (12,))))
    net.op("add", (net.dense(x, "c", 12), other), "y", quant=per_tensor(0.2))
    graph = net.build(net.op("add", (net.dense("y", "d", 12), row), "z", quant=per_tensor(0.2)))

    group = Group(members=("c", "y", "d", "z"), rows=4)
    compiled = compile_fused(graph, net.data, arch, (group,))

    assert {op.joined for op in tiles_of(compiled.module).graph.ops} == {"", "y"}
    assert compiled.wrong(compiled.run(detect_races=True)) == []


@pytest.mark.parametrize(("arch", "rows"), [*thinned(MACHINES, [0, 4])])
def test_a_batch_of_matrices_is_combined_with_another(arch, rows):
    net = NetworkBuilder()
    x, w, other = (
        net.input(name, (2, 3, *shape))
        for name, shape in (("x", (9, 12)), ("w", (10, 12)), ("other", (9, 10)))
    )
    c = net.op("dense", (x, w), "c", quant=per_tensor(0.3))
    graph = net.build(net.op("add", (other, c), "y", quant=per_tensor(0.2, -9)))

    compiled = compile_fused(graph, net.data, arch, (Group(members=("c", "y"), rows=rows),))

    assert {op.joined for op in tiles_of(compiled.module).graph.ops} == {"", "y"}
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_a_sum_of_a_result_with_itself_is_an_operation_of_its_own():
    net = NetworkBuilder()
    c = net.conv(net.input("x", (1, 8, 12, 10)), "c", 8, 3)
    graph = net.build(net.op("add", (c, c), "y", quant=per_tensor(0.2)))

    compiled = compile_fused(graph, net.data, "simba", (Group(members=("c", "y"), rows=4),))

    assert not any(op.joined for op in tiles_of(compiled.module).graph.ops)
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def by_parts_of_channels(grouped: str, outer: Dim, inner: Dim) -> Module:
    """Return the tiles of two operators in stripes, one of them in groups of channels.

    Args:
        grouped: The operator in groups.
        outer: Of its groups and a group's channels, the loop outside of the weights on chip.
        inner: The other one, the loop inside of them.
    """
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 8, 4, 5)), "a", 8, 1, groups=2 if grouped == "a" else 1)
    graph = net.build(net.conv(a, "b", 8, 1, groups=2 if grouped == "b" else 1))
    module = planned(graph, "simba", [Group(members=("a", "b"), rows=2)])
    module = with_nests(module)
    starts = [("W", "dram", 0), ("W", "wb", 1), ("I", "dram", 0), ("I", "ib", 1)]
    starts += [("O", "dram", 0), ("O", "ab", int(Dim.K in (outer, inner)))]
    unrolled = {Dim.K: 4, Dim.C: 4, outer: 2, inner: 2}
    number = ("a", "b").index(grouped)
    mapping = module.mappings[number]
    nest = replace(
        mapping.nest,
        temporal=(Loop(outer, 2), Loop(inner, 2), Loop(Dim.P, 2), Loop(Dim.Q, 5)),
        spatial=(
            SpatialLoop(Dim.K, unrolled[Dim.K], "lane"),
            SpatialLoop(Dim.C, unrolled[Dim.C], "mac"),
        ),
        allocations=tuple(Allocation(Operand(name), *rest) for name, *rest in starts),
    )
    nests = list(module.mappings)
    nests[number] = replace(mapping, nest=nest)
    return ScheduleTiles().run(replace(module, mappings=tuple(nests)), Context())


@pytest.mark.parametrize(("grouped", "channels"), [("b", Dim.C), ("a", Dim.K)])
def test_rows_have_all_channels_of_several_groups_or_some_of_one(grouped: str, channels: Dim):
    by_parts_of_channels(grouped, Dim.G, channels).verify()

    with pytest.raises(InfeasibleError, match=f"nest of %{grouped} cuts the channels of several"):
        by_parts_of_channels(grouped, channels, Dim.G)


def test_a_group_that_does_not_fit_is_refused():
    graph, data = bottleneck(40)

    with pytest.raises(InfeasibleError):
        compile_fused(
            graph, data, "simba", (Group(members=("a", "b", "c", "y"), rows=20),), budget=4096
        )


@pytest.mark.parametrize(("arch", "budget"), [*thinned(MACHINES, [None, 2000])])
def test_vectors_along_columns_have_no_lines(arch: str, budget: int | None):
    net = NetworkBuilder()
    x, columns = net.input("x", (1, 8, 6, 6)), net.input("columns", (6,))
    a = net.op("add", (x, columns), "a", quant=per_tensor(0.1))
    graph = net.build(net.conv(net.conv(a, "b", 8, 3), "y", 8, 1))

    compiled = compile_fused(
        graph, net.data, arch, (Group(members=("a", "b", "y"), rows=2),), budget=budget
    )

    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_rows_of_what_others_read_cannot_be_kept():
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 6, 6))
    a = net.conv(x, "a", 8, 1)
    b = net.conv(a, "b", 8, 3)
    graph = net.build(net.op("add", (a, b), "y", quant=per_tensor(0.1)))

    assert compile_fused(graph, net.data, "simba", (Group(members=("a", "b", "y"), rows=2),))
    assert compile_fused(graph, net.data, "simba", (Group(members=("a", "b")),))
    whole = compile_fused(graph, net.data, "simba", (Group(members=("a", "b"), rows=2),))
    plan = whole.module.graph_schedule
    assert plan is not None
    assert plan.resident("a", 0) is not None
    assert whole.wrong(whole.run(detect_races=True)) == []
    with pytest.raises(InfeasibleError, match="keep rows of a result that others read"):
        compile_fused(graph, net.data, "simba", (Group(members=("a", "b"), rows=2),), 600)


@pytest.mark.parametrize("rows", [1, 2, 5, 12])
def test_nests_are_for_the_rows_that_most_of_many_stripes_make(rows: int):
    graph, _ = bottleneck()
    names = tuple(op.name for op in graph.ops)

    usual = usual_rows(graph, names, rows)

    made = [stripe.made for stripe in stripes(graph, names, rows)]
    for name, height in usual.items():
        sizes = [rows[name].size for rows in made if name in rows]
        pieces = sum(-(-size // height) for size in sizes)
        assert height in sizes
        assert pieces <= 1.1 * len(sizes)
        assert height == max(sizes) or height == max(set(sizes), key=sizes.count)
    assert usual["a"] == {1: 1, 2: 3, 5: 6, 12: 12}[rows]


def test_a_first_stripe_of_more_rows_is_cut_to_those_of_the_nest():
    graph, data = bottleneck()
    group = Group(members=tuple(op.name for op in graph.ops), rows=1)

    compiled = compile_fused(graph, data, "simba", (group,))

    nest = next(item.nest for item in compiled.module.mappings if item.operator == "a")
    ops = [op for op in tiles_of(compiled.module).graph.ops if op.works_for == "a"]
    rows = [op.box[DIMS.index(Dim.P)] for op in ops if op.accumulates]
    assert nest.workload.dims[Dim.P] == 1
    assert {part.size for part in rows} == {1}
    assert {part.start for part in rows} == set(range(12))
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def transfers(compiled: Compiled, tensor: str, step: int) -> list[EventKind]:
    """Return how a tensor is moved in a step, in the order of events."""
    schedule = tiles_of(compiled.module)
    tiles = schedule.graph.tiles
    return [
        event.kind
        for event in schedule.events
        if event.kind in TRANSFERS and event.step == step and tiles[event.subject].tensor == tensor
    ]


@pytest.mark.parametrize(
    ("arch", "rows_and_budget"),
    [
        *thinned(
            MACHINES,
            [(0, None), *product([1, 2, 5], [None, 2500])],
            one_in=4,
        )
    ],
)
def test_a_sum_is_stored_and_not_fetched_by_what_follows_it_in_a_group(
    arch: str, rows_and_budget: tuple[int, int | None]
):
    graph, data = shortcut()
    rows, budget = rows_and_budget

    group = Group(members=("c", "sum", "a"), rows=rows)
    compiled = compile_fused(graph, data, arch, (group,), budget)

    plan = compiled.module.graph_schedule
    assert plan is not None
    kinds = transfers(compiled, "sum", plan.step_of["a"])
    if plan.resident("sum", plan.step_of["a"]) is None:
        assert set(kinds) == {EventKind.STORE}
    else:
        assert not kinds
    assert compiled.wrong(compiled.run(detect_races=True)) == []


@pytest.mark.parametrize(("arch", "most"), [*thinned(MACHINES, [1, 4096, 20000], one_in=3)])
def test_what_is_added_to_a_resident_result_comes_in_parts(
    arch: str, most: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(nest_cuts, "_JOINED", most)
    graph, data = bottleneck(28)
    module = planned(graph, arch, (Group(members=("c", "y")),))
    plan = module.graph_schedule
    assert plan is not None
    step = plan.step_of["y"]
    size = graph.types["x"].bytes
    plan = replace(
        plan,
        residences=tuple(item for item in plan.residences if item.tensor != "x"),
        loads=(),
        streams=(
            Stream(tensor="x", step=0, bytes=size),
            Stream(tensor="x", step=step, bytes=size),
        ),
    )

    compiled = tiled(replace(module, graph_schedule=plan, constants=Constants(data)))

    schedule = compiled.module.tile_schedule
    assert schedule is not None
    tiles = [
        schedule.graph.tiles[event.subject]
        for event in schedule.events
        if event.kind is EventKind.LOAD and event.step == step
    ]
    parts = [tile.bytes for tile in tiles if tile.tensor == "x"]
    assert sum(parts) == size
    assert (len(parts) > 1) == (most < size)
    assert compiled.wrong(compiled.run(detect_races=True)) == []


@pytest.mark.parametrize(
    ("arch", "rows_and_budget", "members"),
    [
        *thinned(
            MACHINES,
            [(0, None), *product([1, 2], [None, 3000]), (4, None)],
            [("c", "sum", "a", "down"), ("c", "sum", "down", "a")],
            one_in=7,
        )
    ],
)
def test_two_filters_of_a_sum_are_results_of_one_group(
    arch: str, rows_and_budget: tuple[int, int | None], members: tuple[str, ...]
):
    graph, data = branches()
    rows, budget = rows_and_budget

    group = Group(members=members, rows=rows)
    compiled = compile_fused(graph, data, arch, (group,), budget)

    plan = compiled.module.graph_schedule
    assert plan is not None
    step = plan.step_of["c"]
    assert not transfers(compiled, "sum", step)
    for name in ("a", "down"):
        is_resident = plan.resident(name, step) is not None
        assert set(transfers(compiled, name, step)) == (set() if is_resident else {EventKind.STORE})
    assert compiled.wrong(compiled.run(detect_races=True)) == []

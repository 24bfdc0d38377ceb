"""Operators of the MAC array cut along their loop nests."""

from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.isa.instructions import Space
from accnn.ir.mapping import Loop, SpatialLoop, even_nest
from accnn.ir.ops import workload
from accnn.ir.tiles.graph import Range, Role, TileGraph
from accnn.ir.workload import Dim
from accnn.passes.tiling.collect import TileCollector
from accnn.passes.tiling.mac import tile_mac
from accnn.passes.tiling.residency import Residency
from tests.networks import NetworkBuilder

STREAMED = Residency(addresses={}, workspace_address=0, workspace_bytes=1 << 20)


def _tiled(
    arch: Architecture,
    temporal: dict[str, list[Loop]],
    *,
    stride: int = 1,
    kernel: int = 3,
    place: Residency = STREAMED,
    is_apart: bool = False,
) -> TileGraph:
    net = NetworkBuilder()
    net.conv(net.input("x", (1, 8, 8, 8)), "y", 16, kernel, stride=stride)
    graph = net.build("y")
    (op,) = graph.ops
    found = workload(op, graph.types)
    assert found is not None
    spatial = [SpatialLoop(Dim.K, 8, arch.fanouts[-1].name)]
    nest = even_nest(found, arch, temporal, spatial)
    return tile_mac(graph, op, nest, arch, place, is_apart=is_apart)


@pytest.fixture(scope="module")
def edge() -> Architecture:
    return load_architecture("edge-1m")


ROWS = {
    "dram": [Loop(Dim.P, 2), Loop(Dim.K, 2)],
    "ab": [Loop(Dim.P, 4), Loop(Dim.Q, 8), Loop(Dim.C, 8), Loop(Dim.R, 3), Loop(Dim.S, 3)],
}
PADDED = {
    "dram": [Loop(Dim.P, 4)],
    "ab": [Loop(Dim.P, 3), *ROWS["ab"][1:], Loop(Dim.K, 2)],
}
"""Twelve rows where there are eight: the last of four indices is padding."""


def test_off_chip_loops_become_operations(edge: Architecture):
    tiles = _tiled(edge, ROWS)

    tiles.verify()
    boxes = [(op.box[2], op.box[5]) for op in tiles.ops if op.accumulates]
    halves = (Range(0, 4), Range(4, 8)), (Range(0, 8), Range(8, 16))
    assert boxes == [(p, k) for p in halves[0] for k in halves[1]]


def test_sums_are_finished_after_the_last_operation_that_adds_to_them(edge: Architecture):
    loops = {**ROWS, "dram": [*ROWS["dram"], Loop(Dim.C, 2)]}
    loops["ab"] = [Loop(loop.dim, 4 if loop.dim is Dim.C else loop.extent) for loop in ROWS["ab"]]
    tiles = _tiled(edge, loops)

    assert [op.accumulates for op in tiles.ops] == [True, True, False] * 4
    for number in range(0, 12, 3):
        first, second, finish = tiles.ops[number : number + 3]
        assert first.out == second.out == finish.reads[0]
        assert tiles.sums_of(first) == tiles.sums_of(finish) == first.out


def test_each_distinct_tile_is_there_once(edge: Architecture):
    tiles = _tiled(edge, ROWS)

    roles = [tile.role for tile in tiles.tiles]
    assert roles.count(Role.I) == 2
    assert roles.count(Role.W) == 2
    assert roles.count(Role.O) == 4


def test_input_tiles_carry_their_halo_but_no_padding(edge: Architecture):
    tiles = _tiled(edge, ROWS)

    rows = [tile.box[3] for tile in tiles.tiles if tile.role is Role.I]
    assert rows == [Range(0, 5), Range(3, 8)]


def test_a_pointwise_stride_skips_rows(edge: Architecture):
    loops = {"ab": [Loop(Dim.P, 4), Loop(Dim.Q, 4), Loop(Dim.C, 8), Loop(Dim.K, 2)]}
    tiles = _tiled(edge, loops, stride=2, kernel=1)

    (inputs,) = [tile for tile in tiles.tiles if tile.role is Role.I]
    assert inputs.box[3] == Range(0, 7, 2)
    assert inputs.shape == (1, 1, 8, 4, 4)


def test_padded_iterations_are_dropped_and_edges_clipped(edge: Architecture):
    tiles = _tiled(edge, PADDED)

    assert [op.box[2] for op in tiles.ops if op.accumulates] == [
        Range(0, 3),
        Range(3, 6),
        Range(6, 8),
    ]


@pytest.mark.parametrize("most", [2, 3])
def test_too_many_operations_are_refused_before_one_is_made(
    edge: Architecture, monkeypatch: pytest.MonkeyPatch, most: int
):
    """Three of four indices are no padding."""
    made: list[TileCollector] = []
    make = TileCollector.op
    monkeypatch.setattr(
        TileCollector, "op", lambda self, *of, **how: made.append(self) or make(self, *of, **how)
    )
    monkeypatch.setattr("accnn.passes.tiling.collect.MOST_OPERATIONS", most)

    with pytest.raises(InfeasibleError, match=f"%y would be cut into more than {most}"):
        _tiled(edge, PADDED)

    # Sums are finished by operations of their own, which are counted one by one.
    assert bool(made) == (most == 3)


def test_a_resident_operand_is_one_whole_tile(edge: Architecture):
    place = Residency(addresses={"x": 4096}, workspace_address=0, workspace_bytes=4096)
    tiles = _tiled(edge, ROWS, place=place)

    (inputs,) = [tile for tile in tiles.tiles if tile.role is Role.I]
    assert inputs.address == 4096
    assert inputs.shape == (1, 1, 8, 8, 8)


def test_sums_that_leave_the_accumulators_lie_in_the_scratchpad():
    simba = load_architecture("simba")
    inside = {
        "gb": [Loop(Dim.P, 8), Loop(Dim.Q, 8), Loop(Dim.K, 2)],
        "wb": [Loop(Dim.C, 8), Loop(Dim.R, 3), Loop(Dim.S, 3)],
    }
    outside = {
        "gb": [Loop(Dim.C, 8), Loop(Dim.P, 8), Loop(Dim.Q, 8), Loop(Dim.K, 2)],
        "wb": [Loop(Dim.R, 3), Loop(Dim.S, 3)],
    }

    spaces = [
        {tile.space for tile in _tiled(simba, loops).tiles if tile.role is Role.PSUM}
        for loops in (inside, outside)
    ]

    assert spaces == [{Space.AB}, {Space.GB}]


def test_all_sums_of_an_output_meet_in_one_tile():
    simba = load_architecture("simba")
    loops = {
        "gb": [Loop(Dim.C, 8), Loop(Dim.P, 8), Loop(Dim.Q, 8), Loop(Dim.K, 2)],
        "wb": [Loop(Dim.R, 3), Loop(Dim.S, 3)],
    }
    tiles = _tiled(simba, loops)

    sums = [number for number, tile in enumerate(tiles.tiles) if tile.role is Role.PSUM]
    assert {len(tiles.writers[number]) for number in sums} == {8}
    assert {len(tiles.readers[number]) for number in sums} == {1}


ADDED = {"dram": [Loop(Dim.K, 2)], "ab": [Loop(Dim.C, 8), Loop(Dim.P, 8), Loop(Dim.Q, 8)]}


def test_first_additions_come_apart_from_the_others(edge: Architecture):
    whole, apart = (_tiled(edge, ADDED, kernel=1, is_apart=item) for item in (False, True))

    apart.verify()
    assert [op.box[4] for op in whole.ops if op.accumulates] == [Range(0, 8)] * 2
    assert [op.box[4] for op in apart.ops if op.accumulates] == [Range(0, 1), Range(1, 8)] * 2
    assert [op.accumulates for op in apart.ops] == [True, True, False] * 2
    assert [(item.role, item.box) for item in apart.tiles] == [
        (item.role, item.box) for item in whole.tiles
    ]


def test_of_operations_that_add_to_the_same_sums_only_the_first_is_cut(edge: Architecture):
    loops = {"dram": [Loop(Dim.K, 2), Loop(Dim.C, 2)], "ab": [Loop(Dim.C, 4), *ADDED["ab"][1:]]}
    tiles = _tiled(edge, loops, kernel=1, is_apart=True)

    assert [op.box[4] for op in tiles.ops if op.accumulates] == [
        Range(0, 1),
        Range(1, 4),
        Range(4, 8),
    ] * 2


def test_first_additions_of_several_loops_are_those_of_the_first_step_of_each(edge: Architecture):
    taps = [Loop(Dim.S, 3), Loop(Dim.R, 3)]
    loops = {"dram": [Loop(Dim.K, 2)], "ab": [Loop(Dim.C, 2), *taps, *ADDED["ab"][1:]]}
    loops["dram"].append(Loop(Dim.C, 4))
    tiles = _tiled(edge, loops, is_apart=True)

    first = [(op.box[4], op.box[1], op.box[0]) for op in tiles.ops if op.accumulates][:4]
    one, all_taps, two = Range(0, 1), Range(0, 3), Range(1, 2)
    assert first == [
        (one, one, one),
        (one, one, Range(1, 3)),
        (one, Range(1, 3), all_taps),
        (two, all_taps, all_taps),
    ]


def test_operations_stay_whole_while_sums_stay_in_the_array(edge: Architecture):
    loops = {**ADDED, "ab": [*ADDED["ab"][1:], Loop(Dim.C, 8)]}

    whole, apart = (_tiled(edge, loops, kernel=1, is_apart=item) for item in (False, True))

    assert apart == whole


def test_operations_stay_whole_where_their_first_additions_hide_no_fill():
    """All inputs of an operation fill a buffer: behind a slow scratchpad that takes longer."""
    simba = load_architecture("simba")
    slow = [
        replace(level, read_bandwidth=0.5) if level.name == simba.scratchpad else level
        for level in simba.levels
    ]
    loops = {"gb": [Loop(Dim.P, 8), Loop(Dim.K, 2)], "ab": [Loop(Dim.C, 8), Loop(Dim.Q, 8)]}

    counts = [
        sum(op.accumulates for op in _tiled(arch, loops, kernel=1, is_apart=True).ops)
        for arch in (simba, replace(simba, levels=tuple(slow)))
    ]

    assert counts == [32, 16]

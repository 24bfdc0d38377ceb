"""Pools whose windows lie side by side finish the tiles of the filter before them."""

from collections.abc import Mapping, Sequence

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.graph import Attr, Graph
from accnn.ir.graph_schedule import Group
from accnn.ir.operators.access import size_of
from accnn.ir.tiles.graph import Range, Role
from accnn.ir.workload import DIMS, Dim
from accnn.passes.tiling.groups.chains import chains
from accnn.passes.tiling.groups.windows import Windows, windows_of, windows_together
from tests.inputs import Array
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import compile_fused, in_small_tiles, lowered_with, pooled
from tests.thinned import thinned
from tests.tiles import tiles_of

MACHINES = ("simba", "edge-1m", "flexer-arch5", "flexer-arch1")


def pool(shape: tuple[int, ...], kind: str = "max_pool", **attrs: Attr) -> Graph:
    """Return a pool of an image, and nothing else."""
    net = NetworkBuilder()
    quant = None if kind == "max_pool" else per_tensor(0.1)
    return net.build(net.op(kind, (net.input("x", shape),), "y", attrs, quant))


@pytest.mark.parametrize(
    ("shape", "attrs", "found"),
    [
        ((1, 3, 8, 6), {"kernel": (2, 2), "stride": (2, 2)}, (2, 2)),
        ((1, 3, 8, 6), {"kernel": (4, 3), "stride": (4, 3)}, (4, 3)),
        ((1, 3, 8, 6), {"kernel": (1, 6), "stride": (1, 1)}, (1, 6)),
        ((1, 3, 1, 6), {"kernel": (1, 2), "stride": (1, 2)}, (1, 2)),
        ((1, 3, 8, 6), {"kernel": (2, 2), "stride": (1, 1)}, None),
        ((1, 3, 9, 7), {"kernel": (3, 3), "stride": (2, 2)}, None),
        ((1, 3, 9, 6), {"kernel": (2, 2), "stride": (2, 2)}, None),
        ((1, 3, 8, 6), {"kernel": (2, 2), "stride": (2, 2), "pads": (1, 1, 1, 1)}, None),
        ((1, 3, 8, 6), {"kernel": (2, 2), "stride": (2, 2), "dilation": (2, 1)}, None),
        ((1, 3, 8, 6), {"kernel": (8, 6), "stride": (8, 6)}, None),
    ],
)
def test_windows_that_lie_side_by_side_and_cover_the_image(shape, attrs, found):
    graph = pool(shape, **attrs)

    assert windows_of(graph, graph.producer["y"]) == found


def test_a_pool_of_the_whole_image_and_what_is_no_pool_have_none():
    average = pool((1, 3, 8, 6), "global_avg_pool")
    net = NetworkBuilder()
    filtered = net.build(net.conv(net.input("x", (1, 3, 8, 6)), "y", 4, 2, stride=2))

    assert windows_of(average, average.producer["y"]) is None
    assert windows_of(filtered, filtered.producer["y"]) is None


def test_a_pool_and_what_follows_it_are_of_the_chain_of_a_filter():
    graph, _ = pooled()

    (first, second) = chains(graph, ("a", "b", "c", "d", "e"))

    assert [op.name for op in first] == ["a", "b", "c", "d"]
    assert [op.name for op in second] == ["e"]
    assert windows_together(graph, first) == (2, 2)
    assert windows_together(graph, second) == (1, 1)


def test_a_pool_behind_the_vector_unit_begins_a_chain():
    graph, _ = pooled()

    assert [len(chain) for chain in chains(graph, ("b", "c", "d", "e"))] == [1, 2, 1]


def products() -> tuple[Graph, Mapping[str, Array]]:
    """Products of matrices, and a pool of them as if they were images."""
    net = NetworkBuilder()
    q, k = net.input("q", (1, 3, 12, 16)), net.input("k", (1, 3, 20, 16), 4)
    scores = net.op("dense", (q, k), "a", quant=per_tensor(0.06, 2))
    return net.build(
        net.op("max_pool", (scores,), "b", {"kernel": (2, 2), "stride": (2, 2)})
    ), net.data


@pytest.mark.parametrize(("arch", "rows"), [*thinned(MACHINES, [1, 3, 6], one_in=3)])
def test_a_pool_of_matrices_begins_a_chain(arch, rows):
    """Columns of a product are channels to the array, which are cut elsewhere."""
    graph, data = products()
    group = Group(members=("a", "b"), rows=rows)

    compiled = compile_fused(graph, data, arch, (group,))

    assert [len(chain) for chain in chains(graph, group.members)] == [1, 1]
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_a_pool_of_what_others_read_begins_a_chain():
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 8, 12, 12)), "a", 8, 3)
    c = net.op("max_pool", (a,), "c", {"kernel": (2, 2), "stride": (2, 2)})
    graph = net.build(c, net.conv(a, "b", 8, 1))

    assert [len(chain) for chain in chains(graph, ("a", "c"))] == [1, 1]


def test_two_pools_take_windows_of_windows():
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 8, 12, 24)), "a", 8, 3)
    b = net.op("max_pool", (a,), "b", {"kernel": (2, 2), "stride": (2, 2)})
    graph = net.build(net.op("max_pool", (b,), "c", {"kernel": (3, 2), "stride": (3, 2)}))

    (chain,) = chains(graph, ("a", "b", "c"))

    assert windows_together(graph, chain) == (6, 4)


def ranges(rows: Range, columns: Range) -> Mapping[Dim, Range]:
    return {**dict.fromkeys(DIMS, Range(0, 1)), Dim.P: rows, Dim.Q: columns}


@pytest.mark.parametrize(
    ("part", "tile", "found"),
    [
        ((Range(4, 6), Range(0, 14)), (2, 14), (Range(4, 6), Range(0, 14))),
        ((Range(5, 6), Range(0, 14)), (1, 14), (Range(4, 6), Range(0, 14))),
        ((Range(7, 10), Range(7, 14)), (3, 7), (Range(4, 10), Range(0, 14))),
        ((Range(12, 14), Range(14, 20)), (4, 14), (Range(12, 14), Range(14, 20))),
        ((Range(10, 14), Range(0, 20)), (6, 20), (Range(10, 14), Range(0, 20))),
    ],
)
def test_whole_windows_around_a_tile(part, tile, found):
    """Of rows 4 to 13 and 20 columns, in windows of 2 x 2."""
    windows = Windows((2, 2), Range(4, 14))
    extents = {**dict.fromkeys(DIMS, 1), Dim.P: tile[0], Dim.Q: tile[1]}

    around = windows.around(ranges(*part), extents, ranges(Range(4, 14), Range(0, 20)))

    assert (around[Dim.P], around[Dim.Q]) == found


def test_rows_that_end_within_a_window_are_put_together_in_the_whole_stripe():
    graph, _ = pooled()
    (chain, _) = chains(graph, ("a", "b", "c", "d", "e"))
    extents, columns = {**dict.fromkeys(DIMS, 1), Dim.P: 2}, Range(0, 2)

    def around(parts: Sequence[Range], rows: Range) -> Range:
        windows = Windows.of(graph, chain, parts)
        return windows.around(ranges(rows, columns), extents, ranges(parts[0], columns))[Dim.P]

    assert around((Range(4, 9), Range(9, 14)), Range(4, 6)) == Range(4, 14)
    assert around((Range(4, 8), Range(8, 14)), Range(4, 6)) == Range(4, 6)


@pytest.mark.parametrize(
    ("arch", "rows", "kernel", "budget", "kind"),
    [
        *thinned(
            MACHINES,
            [0, 1, 2, 3],
            [(2, 2), (3, 4), (1, 5), (2, 1)],
            [None, 20000],
            ["max_pool", "avg_pool"],
            one_in=10,
        )
    ],
)
def test_pools_work_on_whole_windows(arch, rows, kernel, budget, kind):
    graph, data = pooled(kernel=kernel, kind=kind)
    group = Group(members=("a", "b", "c", "d", "e"), rows=rows)

    compiled = compile_fused(graph, data, arch, (group,), budget)

    tiles = tiles_of(compiled.module).graph
    inner = [tile for tile in tiles.tiles if tile.role is Role.INNER]
    read = [tile for tile in inner if tile.tensor == "b"]
    assert read
    for tile in read:
        for axis, extent in zip(tile.box[2:], kernel, strict=True):
            assert axis.start % extent == 0 == axis.stop % extent
    assert sum(size_of(tile.box) for tile in read) == graph.types["b"].elements
    assert {tile.tensor for tile in inner} >= {"b", "c"}
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_a_pool_waits_for_all_parts_of_its_windows():
    module = in_small_tiles()

    graph = tiles_of(module).graph
    finishing = [number for number, op in enumerate(graph.ops) if graph.finishes(op)]
    pools = [(number, op) for number, op in enumerate(graph.ops) if op.works_for == "y"]
    assert [len(graph.writers[op.reads[0]]) for _, op in pools] == [4, 4, 4]
    assert [number for number, _ in pools] == [number + 1 for number in finishing[3::4]]
    compiled = lowered_with(module)
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_a_pool_that_does_not_wait_is_found_out(monkeypatch):
    monkeypatch.setattr(Windows, "is_complete", lambda *_: True)

    with pytest.raises(VerifyError, match="before all of it is written"):
        in_small_tiles().verify()


@pytest.mark.parametrize(("arch", "rows"), [*thinned(MACHINES[1:], [1, 2, 3, 4], one_in=3)])
def test_rows_that_come_for_others_may_end_within_windows(arch: str, rows: int):
    """Another filter reads rows further on, so that what comes row by row ends in odd places."""
    net = NetworkBuilder()
    x = net.input("x", (1, 16, 24, 24))
    pooled = net.op(
        "max_pool", (net.conv(x, "a", 8, 1),), "b", {"kernel": (2, 2), "stride": (2, 2)}
    )
    narrow = net.conv(net.conv(x, "c", 8, 1), "d", 8, 5, stride=2)
    graph = net.build(net.op("add", (pooled, narrow), "y", quant=per_tensor(0.1, 1)))
    group = Group(members=("c", "d", "a", "b", "y"), rows=rows)

    compiled = compile_fused(graph, net.data, arch, (group,), 18000)

    fetched = [tile for tile in tiles_of(compiled.module).graph.tiles if tile.tensor == "x"]
    assert any(tile.box[2].stop % 2 for tile in fetched)
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_windows_are_complete_once_all_parts_are_there():
    windows, whole = Windows((2, 1), Range(0, 4)), (Range(0, 1), Range(0, 3), Range(0, 2))
    parts = [(Range(0, 1), Range(0, 3), Range(row, row + 1)) for row in range(2)]

    assert [windows.is_complete("y", part, whole) for part in parts] == [False, True]


@pytest.mark.parametrize(
    ("arch", "rows", "kernels"),
    [
        *thinned(
            MACHINES,
            [0, 1, 2],
            [((1, 1), (1, 1)), ((2, 2), (2, 2)), ((2, 1), (3, 4))],
            one_in=4,
        )
    ],
)
def test_a_pool_of_a_pool(arch, rows, kernels):
    net = NetworkBuilder()
    last = net.conv(net.input("x", (1, 8, 12, 24)), "a", 8, 3)
    for name, kernel in zip("bc", kernels, strict=True):
        last = net.op("max_pool", (last,), name, {"kernel": kernel, "stride": kernel})
    group = Group(members=("a", "b", "c"), rows=rows)

    compiled = compile_fused(net.build(last), net.data, arch, (group,))

    assert compiled.wrong(compiled.run(detect_races=True)) == []


@pytest.mark.parametrize(
    ("arch", "rows", "budget"), [*thinned(MACHINES, [0, 1, 2, 3], [None, 16000], one_in=5)]
)
def test_what_is_added_to_a_pool_is_fetched_for_its_rows(arch, rows, budget):
    net = NetworkBuilder()
    x, other = net.input("x", (1, 8, 24, 20)), net.input("other", (1, 16, 12, 10), zero_point=11)
    b = net.op("max_pool", (net.conv(x, "a", 16, 3),), "b", {"kernel": (2, 2), "stride": (2, 2)})
    graph = net.build(net.op("add", (b, other), "y", quant=per_tensor(0.1, 1)))
    group = Group(members=("a", "b", "y"), rows=rows)

    compiled = compile_fused(graph, net.data, arch, (group,), budget, compared=budget is not None)

    assert len(chains(graph, group.members)) == 1
    assert compiled.wrong(compiled.run(detect_races=True)) == []

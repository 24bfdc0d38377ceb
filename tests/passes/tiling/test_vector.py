"""Operators of the vector unit and copies, cut for every mix of resident and streamed tensors."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError, VerifyError
from accnn.ir.graph import Graph, Value
from accnn.ir.ops import make_op, parts_of
from accnn.ir.tiles.graph import Range, Role
from accnn.ir.types import DType, TensorType
from accnn.passes.tiling.residency import Residency
from accnn.passes.tiling.vector import (
    least_workspace,
    table_loads,
    tile_vector,
    workspace_for_all_indices,
)
from tests.flow import compile_graph
from tests.networks import NetworkBuilder, per_tensor
from tests.thinned import examples

EDGE = load_architecture("edge-1m")
POOL = {"kernel": (3, 2), "stride": (2, 1), "pads": (1, 1, 0, 1)}


def network(kind: str) -> tuple[Graph, dict]:
    """Return a network that ends in one operator of a kind, on odd extents."""
    net = NetworkBuilder()
    x = net.input("x", (1, 6, 7, 5))
    quant = net.types[x].quant
    match kind:
        case "add" | "mul":
            net.op(kind, (x, net.input("z", (1, 6, 7, 5))), "y", quant=per_tensor(0.1, 3))
        case "broadcast":
            net.op("add", (x, net.input("z", (1, 6, 1, 1))), "y", quant=per_tensor(0.1, 3))
        case "broadcast rows":
            net.op("mul", (net.input("z", (1, 1, 7, 1)), x), "y", quant=per_tensor(0.1, 3))
        case "max_pool":
            net.op(kind, (x,), "y", POOL)
        case "avg_pool":
            net.op(kind, (x,), "y", {**POOL, "count_include_pad": True}, quant)
        case "global_avg_pool":
            net.op(kind, (x,), "y", quant=per_tensor(0.02, 1))
        case "concat":
            net.op(kind, (x, net.input("z", (1, 3, 7, 5)), x), "y", {"axis": 1})
        case "concat rows":
            net.op("concat", (x, net.input("z", (1, 6, 2, 5))), "y", {"axis": 2})
        case "lookup":
            net.constant("t", (256,), DType.S8)
            net.op(kind, (x, "t"), "y", quant=per_tensor(0.1))
        case "reshape":
            net.op(kind, (x,), "y", {"shape": (1, 210)})
        case _:
            net.op("transpose", (x,), "y", {"perm": (0, 3, 1, 2)})
    return net.build("y"), net.data


KINDS = (
    *("add", "mul", "broadcast", "broadcast rows", "max_pool", "avg_pool", "global_avg_pool"),
    *("concat", "concat rows", "lookup", "reshape", "transpose"),
)


@pytest.mark.parametrize("arch", ["edge-1m", "flexer-arch5"])
@pytest.mark.parametrize("kind", KINDS)
def test_values_are_right_whether_resident_or_streamed(kind: str, arch: str):
    graph, data = network(kind)
    largest = max(value.bytes for value in graph.types.values())
    for budget in (48 if kind == "reshape" else 400, largest + 260, 4 * largest, None):
        compiled = compile_graph(graph, data, arch, budget=budget)

        assert compiled.wrong(compiled.run(detect_races=True)) == []


def streamed(workspace: int) -> Residency:
    return Residency(addresses={}, workspace_address=0, workspace_bytes=workspace)


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(KINDS), st.integers(8, 3000))
def test_boxes_cover_the_result_once_and_fit_twice(kind: str, workspace: int):
    graph, _ = network(kind)
    op = graph.ops[-1]
    try:
        tiles = tile_vector(graph, op, EDGE, streamed(workspace))
    except InfeasibleError as error:
        assert error.shortage is not None and error.shortage.demand > error.shortage.capacity
        return

    tiles.verify()
    covered = sum(math.prod(axis.size for axis in item.box) for item in tiles.ops)
    assert covered == graph.types["y"].elements
    assert len({item.box for item in tiles.ops}) == len(tiles.ops)
    for item in tiles.ops:
        own = [tiles.tiles[tile] for tile in (*item.reads, item.out)]
        assert sum(tile.bytes for tile in own if tile.role is not Role.PARAM) <= workspace // 2


def test_resident_tensors_are_whole_tiles_and_cut_work_is_dealt_out():
    graph, _ = network("add")
    place = Residency(
        addresses={"x": 0, "z": 210, "y": 420}, workspace_address=630, workspace_bytes=0
    )
    tiles = tile_vector(graph, graph.ops[0], EDGE, place)

    assert {tile.address for tile in tiles.tiles} == {0, 210, 420}
    assert len(tiles.ops) == 4
    assert tiles.ops[0].box == (Range(0, 53),)


def test_pools_read_their_halo_within_the_image():
    graph, _ = network("max_pool")
    (part,) = parts_of(graph.ops[0], graph.types)

    box = part.reads[0].box((Range(0, 1), Range(2, 3), Range(1, 2), Range(0, 5)))

    assert box == (Range(0, 1), Range(2, 3), Range(1, 4), Range(0, 5))


def test_each_operand_of_a_concat_is_a_part_of_its_own():
    graph, _ = network("concat")

    domains = [part.domain[1] for part in parts_of(graph.ops[0], graph.types)]

    assert domains == [Range(0, 210), Range(210, 315), Range(315, 525)]


def test_an_operator_that_nothing_executes_is_refused():
    net = NetworkBuilder()
    net.input("x", (1, 4))
    types = {"x": net.types["x"].__class__(DType.F32, (1, 4))}
    op = make_op("softmax", ("x",), types, "y", attrs={"axis": 1}, dtype=DType.F32)

    with pytest.raises(VerifyError, match="softmax %y: cannot be cut"):
        parts_of(op, types)


def test_float_operators_keep_their_values():
    net = NetworkBuilder()
    net.inputs.append(Value("x", TensorType(DType.F32, (1, 3, 5, 4))))
    net.types["x"] = net.inputs[0].type
    for kind, attrs in (
        ("relu", {}),
        ("clip", {"lo": -0.5, "hi": 0.75}),
        ("leaky_relu", {"alpha": 0.1}),
        ("sigmoid", {}),
        ("tanh", {}),
    ):
        net.op(kind, ("x",), kind, attrs)
    compiled = compile_graph(net.build("relu", "tanh"), {}, "edge-fp32", budget=300)
    result = compiled.run(detect_races=True)

    for name in compiled.program.operators:
        assert np.allclose(result.tensor(name), compiled.expected[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, 3])
def test_reductions_and_quotients_are_cut(axis: int):
    net = NetworkBuilder()
    net.inputs.append(Value("x", TensorType(DType.F32, (2, 3, 5, 7))))
    net.types["x"] = net.inputs[0].type
    net.op("reduce_max", ("x",), "top", {"axis": axis})
    net.op("sub", ("x", "top"), "below")
    net.op("exp", ("below",), "powers")
    net.op("reduce_sum", ("powers",), "total", {"axis": axis})
    net.op("div", ("powers", "total"), "share")
    compiled = compile_graph(net.build("share"), {}, "edge-fp32", budget=400)
    result = compiled.run(detect_races=True)

    assert len(compiled.program.operators) == 5
    for name in compiled.program.operators:
        assert np.allclose(result.tensor(name), compiled.expected[name], rtol=1e-5, atol=1e-7)
    assert np.allclose(result.tensor("share").sum(axis=axis), 1)


def test_absurdly_many_tiles_are_refused(monkeypatch: pytest.MonkeyPatch):
    graph, _ = network("add")
    place = Residency(addresses={}, workspace_bytes=64, workspace_address=0)
    assert len(tile_vector(graph, graph.ops[0], EDGE, place).ops) > 10

    monkeypatch.setattr("accnn.passes.tiling.collect.MOST_OPERATIONS", 10)
    with pytest.raises(InfeasibleError, match="%y would be cut into more than 10"):
        tile_vector(graph, graph.ops[0], EDGE, place)


@pytest.mark.parametrize(("kind", "is_told"), [("gather", True), ("reduce_max", False)])
def test_a_gather_that_does_not_fit_says_why(kind: str, is_told: bool):
    types = {"x": TensorType(DType.F32, (1, 4096)), "i": TensorType(DType.S64, (3,))}
    operands = ("x", "i") if kind == "gather" else ("x",)
    op = make_op(kind, operands, types, "y", attrs={"axis": 1})
    inputs = tuple(Value(name, types[name]) for name in operands)
    graph = Graph(name="net", inputs=inputs, constants=(), ops=(op,), outputs=("y",))

    with pytest.raises(InfeasibleError, match="no tile of %y fits") as caught:
        tile_vector(graph, op, EDGE, streamed(2048))
    assert ("holds all of the indexed axis" in str(caught.value)) == is_told


def lookup_of_rows(rows: int) -> Graph:
    """Return a network that picks 8 of ``rows`` rows of 12 numbers; it reads all for one number."""
    types = {"t": TensorType(DType.F32, (rows, 12)), "i": TensorType(DType.S64, (8,))}
    op = make_op("gather", ("t", "i"), types, "y", attrs={"axis": 0})
    return Graph(
        name="net",
        inputs=tuple(Value(name, item) for name, item in types.items()),
        constants=(),
        ops=(op,),
        outputs=("y",),
    )


def test_a_gather_reads_its_table_once_though_one_column_exceeds_the_share_of_an_npu():
    graph = lookup_of_rows(5000)
    arch = load_architecture("edge-fp32")

    tiles = tile_vector(graph, graph.ops[0], arch, streamed(1 << 17))

    loaded = sum(tile.bytes for tile in tiles.tiles if tile.tensor == "t")
    assert loaded == graph.types["t"].bytes
    assert len(tiles.ops) == 12


def test_the_least_workspace_is_the_least_that_can_be_cut():
    graph = lookup_of_rows(5000)
    arch = load_architecture("edge-fp32")
    least = least_workspace(graph, graph.ops[0], arch, frozenset())

    tile_vector(graph, graph.ops[0], arch, streamed(least))
    with pytest.raises(InfeasibleError, match="no tile of %y fits"):
        tile_vector(graph, graph.ops[0], arch, streamed(least - 1))


def test_the_table_of_a_gather_comes_again_where_its_indices_are_cut():
    graph, arch = lookup_of_rows(5000), load_architecture("edge-fp32")
    nothing: frozenset[str] = frozenset()
    least, enough = (
        find(graph, graph.ops[0], arch, nothing)
        for find in (least_workspace, workspace_for_all_indices)
    )
    assert least < enough

    for workspace, loads in ((least, 8), ((least + enough) // 2, 2), (enough - 1, 2), (enough, 1)):
        tiles = tile_vector(graph, graph.ops[0], arch, streamed(workspace))
        tables = [op.reads[0] for op in tiles.ops]
        changes = [after for before, after in pairwise((-1, *tables)) if after != before]

        assert table_loads(graph, graph.ops[0], arch, nothing, workspace) == loads
        loaded = sum(tiles.tiles[number].bytes for number in changes)
        assert loaded == loads * graph.types["t"].bytes


def test_resident_tensors_take_no_workspace():
    graph = lookup_of_rows(5000)
    arch = load_architecture("edge-fp32")

    assert least_workspace(graph, graph.ops[0], arch, frozenset("tiy")) == 0
    assert least_workspace(graph, graph.ops[0], arch, frozenset("t")) < 100

"""Folding axes into rows: what a network computes is the same, and reshapes are gone."""

from collections.abc import Mapping

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from accnn.ir.graph import Attr, Graph, eliminate_dead
from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.ir.types import DType
from accnn.passes.graph.fold_axes import FoldAxes
from accnn.passes.graph.remove_identities import RemoveIdentities
from accnn.passes.manager import run_pipeline
from accnn.passes.pipeline import Pipeline
from accnn.runtime_sim.reference.run import run
from tests.inputs import Array, random_inputs
from tests.networks import NetworkBuilder, per_tensor
from tests.thinned import examples


def reshape(net: NetworkBuilder, x: str, name: str, *shape: int) -> str:
    return net.op("reshape", (x,), name, {"shape": shape})


def folded(graph: Graph, data: Mapping[str, Array]) -> Graph:
    """Return the graph with axes folded, after asking whether it computes the same."""
    module = Module(graph=graph, constants=Constants(data))
    found = run_pipeline(Pipeline((FoldAxes(), RemoveIdentities())), module).module
    inputs = random_inputs(graph, 0)
    before = run(graph, Constants(data), inputs)
    after = run(found.graph, found.constants, inputs)
    for name in graph.outputs:
        assert before[name].shape == after[name].shape
        assert np.array_equal(before[name], after[name], equal_nan=True)
    return found.graph


def reshaped_bytes(graph: Graph) -> int:
    return sum(
        op.result.type.bytes
        for op in graph.ops
        if op.kind == "reshape" and not graph.is_constant(op.operands[0])
    )


def between_products(*, has_bias: bool = True) -> tuple[NetworkBuilder, str]:
    """A product, what is read with another axis, and a product."""
    net = NetworkBuilder()
    a = reshape(net, net.dense(net.input("x", (6, 8)), "a", 8), "b", 2, 3, 8)
    quant = per_tensor(0.1)
    if has_bias:
        bias = net.input("bias", (1, 1, 8))
        a = net.op("add", (a, bias), "c", quant=quant)
    highest = net.op("reduce_max", (net.floats(a, "floats"),), "d", {"axis": 2})
    shifted = net.op("sub", ("floats", highest), "e")
    return net, net.op("quantize", (shifted,), "f", quant=quant)


@pytest.mark.parametrize("has_bias", [False, True])
def test_what_stands_between_products_becomes_matrices(has_bias: bool):
    net, last = between_products(has_bias=has_bias)
    graph = net.build(net.dense(reshape(net, last, "g", 6, 8), "y", 5))

    found = folded(graph, net.data)

    assert reshaped_bytes(found) == (8 if has_bias else 0)
    shapes = {op.name: op.result.type.shape for op in found.ops}
    assert (shapes["d"], shapes["e"]) == ((6, 1), (6, 8))


def test_outputs_keep_names_and_shapes():
    net, last = between_products(has_bias=False)
    graph = net.build(net.dense(reshape(net, last, "g", 6, 8), "y", 5), last)

    found = folded(graph, net.data)

    assert found.outputs == graph.outputs
    assert found.types["f"].shape == (2, 3, 8)


def test_what_others_read_with_its_axes_is_reshaped_once():
    net, last = between_products(has_bias=False)
    heads = net.op("transpose", (last,), "heads", {"perm": (1, 0, 2)})
    again = net.op("transpose", (last,), "again", {"perm": (2, 0, 1)})
    g = net.dense(reshape(net, last, "g", 6, 8), "y", 5)
    graph = net.build(g, heads, again)

    found = folded(graph, net.data)

    assert reshaped_bytes(found) == 6 * 8


def test_what_would_need_more_reshapes_is_left_out():
    net = NetworkBuilder()
    p, q = net.input("p", (2, 3, 8)), net.input("q", (2, 3, 8))
    a = reshape(net, net.dense(net.input("x", (6, 8)), "a", 8), "b", 2, 3, 8)
    early = net.op("add", (p, q), "early", quant=per_tensor(0.1))
    late = net.op("add", (a, early), "late", quant=per_tensor(0.1))
    graph = net.build(net.dense(reshape(net, late, "c", 6, 8), "y", 5))

    found = folded(graph, net.data)

    assert reshaped_bytes(found) == 48
    assert (found.types["early"].shape, found.types["late"].shape) == ((2, 3, 8), (6, 8))


def test_nothing_is_folded_where_that_saves_nothing():
    net, last = between_products(has_bias=False)
    graph = net.build(net.op("transpose", (last,), "y", {"perm": (1, 0, 2)}))

    module = Module(graph=graph, constants=Constants(net.data))

    assert run_pipeline(Pipeline((FoldAxes(),)), module).module is module


@pytest.mark.parametrize("starts", [(0, 0, 3), (0, 0, 7), (0, 1, 0)])
def test_slices_of_columns_are_taken_of_matrices(starts: tuple[int, ...]):
    net = NetworkBuilder()
    a = reshape(net, net.dense(net.input("x", (6, 8)), "a", 8), "b", 2, 3, 8)
    steps = (1, 1, -2 if starts[2] == 7 else 1)
    attrs: dict[str, Attr] = {"starts": starts, "steps": steps, "shape": (2, 3 - starts[1], 4)}
    part = net.op("slice", (a,), "part", attrs)
    graph = net.build(reshape(net, part, "y", 8 * (3 - starts[1])))

    found = folded(graph, net.data)

    assert len(found.types["part"].shape) == (3 if starts[1] else 2)


@pytest.mark.parametrize("axis", [0, 1])
def test_other_axes_are_not_reduced_in_matrices(axis: int):
    net = NetworkBuilder()
    a = reshape(net, net.dense(net.input("x", (6, 8)), "a", 8), "b", 2, 3, 8)
    attrs: dict[str, Attr] = {"axis": axis}
    y = net.op("reduce_max", (net.floats(a, "floats"),), "y", attrs)

    found = folded(net.build(y), net.data)

    assert found.types["y"].shape == tuple(1 if at == axis else n for at, n in enumerate((2, 3, 8)))


KINDS = ("dense", "reshape", "reshape", "add", "add_row", "max", "turn", "rows")


@st.composite
def networks(draw: st.DrawFn) -> tuple[Graph, Mapping[str, Array]]:
    """Return products, reshapes and what computes on elements and rows, in any order."""
    net = NetworkBuilder(draw(st.integers(0, 99)))
    made = [net.input("x", draw(st.sampled_from([(6, 8), (2, 3, 8), (1, 6, 8), (1, 2, 3, 8)])))]
    for number in range(draw(st.integers(2, 9))):
        name, last = f"t{number}", draw(st.sampled_from(made[-3:]))
        shape, kind = net.types[last].shape, draw(st.sampled_from(KINDS))
        if kind == "dense":
            matrix = last if len(shape) == 2 else reshape(net, last, f"{name}_m", 6, shape[-1])
            made.append(net.dense(matrix, name, 8))
        elif kind == "reshape":
            made.append(reshape(net, last, name, *draw(st.sampled_from([(2, 3, 8), (1, 6, 8)]))))
        elif kind == "rows":
            made.append(reshape(net, last, name, 6, 8))
        elif kind == "add":
            alike = [item for item in made if net.types[item].shape == shape]
            operands = (draw(st.sampled_from(alike)), last)
            made.append(net.op("add", operands, name, quant=per_tensor(0.1)))
        elif kind == "add_row":
            around = draw(st.integers(0, len(shape) - 1))
            row = net.constant(f"{name}_row", (1,) * around + (8,), DType.S8, per_tensor(0.01))
            made.append(net.op("add", (last, row), name, quant=per_tensor(0.1)))
        elif kind == "max":
            floats = net.floats(last, f"{name}_floats")
            highest = net.op("reduce_max", (floats,), f"{name}_max", {"axis": len(shape) - 1})
            shifted = net.op("sub", (floats, highest), f"{name}_sub")
            made.append(net.op("quantize", (shifted,), name, quant=per_tensor(0.1)))
        elif len(shape) > 2 and shape[-2] == 3:
            perm = (*range(len(shape) - 3), len(shape) - 2, len(shape) - 3, len(shape) - 1)
            made.append(net.op("transpose", (last,), name, {"perm": perm}))
    outputs = {made[-1], draw(st.sampled_from(made[1:] or made))}
    graph = eliminate_dead(net.build(*sorted(outputs)))
    return graph, {value.name: net.data[value.name] for value in graph.constants}


def test_reshapes_that_make_outputs_remain_and_count():
    net = NetworkBuilder()
    x = net.input("x", (2, 3, 8))
    s = net.op("add", (x, x), "s", quant=per_tensor(0.1))
    graph = net.build(*(net.op("reshape", (s,), name, {"shape": (6, 8)}) for name in ("y", "w")))

    assert folded(graph, net.data) == graph


@settings(deadline=None, max_examples=examples(150))
@given(networks())
def test_random_networks_compute_the_same_and_reshape_no_more(network):
    graph, data = network
    if graph.ops:
        assert reshaped_bytes(folded(graph, data)) <= reshaped_bytes(graph)

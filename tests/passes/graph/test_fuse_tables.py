"""Lookups, sums and products of the same bytes come to be one lookup, and compute the same."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from accnn.ir.graph import Attr, Graph
from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.ir.types import DType
from accnn.passes.base import Context
from accnn.passes.graph.fuse_tables import FuseTables
from accnn.runtime_sim.reference.run import run
from tests.networks import NetworkBuilder, per_tensor
from tests.thinned import examples

BOUNDS: dict[str, Attr] = {"qlo": -100, "qhi": 90}

BYTES = np.arange(-128, 128, dtype=np.int8).reshape(1, 8, 4, 8)
ALL = {"x": BYTES, "other": BYTES[:, ::-1]}


def looked_up(net: NetworkBuilder, operand: str, name: str, scale: float = 0.1) -> str:
    table = net.constant(f"{name}_table", (256,), DType.S8)
    return net.op("lookup", (operand, table), name, quant=per_tensor(scale, 3))


def fused(net: NetworkBuilder, *outputs: str) -> tuple[Graph, Graph]:
    """Check that a network computes the same fused, and return it before and after."""
    graph, constants = net.build(*outputs), Constants(net.data)
    module = FuseTables().run(Module(graph=graph, constants=constants), Context())
    given = {value.name: ALL[value.name] for value in graph.inputs}
    before = run(graph, constants, given)
    after = run(module.graph, module.constants, given)
    for name in outputs:
        np.testing.assert_array_equal(before[name], after[name])
        assert module.graph.types[name] == graph.types[name]
    return graph, module.graph


def start() -> tuple[NetworkBuilder, str]:
    net = NetworkBuilder(5)
    return net, net.input("x", (1, 8, 4, 8))


@pytest.mark.parametrize("kind", ["add", "mul"])
@pytest.mark.parametrize("first", [True, False])
def test_a_tensor_and_a_function_of_it_are_one_table(kind: str, first: bool):
    net, x = start()
    s = looked_up(net, x, "s")
    y = net.op(kind, (x, s) if first else (s, x), "y", quant=per_tensor(0.2, -5))

    _, after = fused(net, y)

    assert [(op.kind, op.operands[0]) for op in after.ops] == [("lookup", "x")]


def test_functions_of_functions_are_one_table():
    net, x = start()
    a = looked_up(net, looked_up(net, x, "a0"), "a")
    y = net.op("add", (a, looked_up(net, x, "b")), "y", BOUNDS, per_tensor(0.2))

    _, after = fused(net, looked_up(net, y, "z"))

    assert [(op.kind, op.name) for op in after.ops] == [("lookup", "z")]


def test_what_others_read_is_made_all_the_same():
    """The network's output needs ``a``, so that reading ``x`` again would save nothing."""
    net, x = start()
    a = looked_up(net, x, "a")
    z = looked_up(net, a, "z")
    graph, after = fused(net, a, z)

    assert after.ops == graph.ops


@pytest.mark.parametrize("case", ["another tensor", "another shape", "floats"])
def test_what_is_no_function_of_one_byte_remains(case: str):
    net, x = start()
    s = looked_up(net, x, "s")
    if case == "another tensor":
        y = net.op("add", (net.input("other", (1, 8, 4, 8)), s), "y", quant=per_tensor(0.2))
    elif case == "another shape":
        pooled = net.op("global_avg_pool", (x,), "pooled", quant=per_tensor(0.1))
        y = net.op("mul", (x, looked_up(net, pooled, "t")), "y", quant=per_tensor(0.2))
    else:
        y = net.op("mul", (net.floats(x, "f"), net.floats(s, "g")), "y")
    graph, after = fused(net, y)

    assert after.ops == graph.ops


@settings(deadline=None, max_examples=examples(60))
@given(st.data())
def test_random_networks_of_bytes_compute_the_same(data: st.DataObject):
    net, x = start()
    made = [x]
    for number in range(data.draw(st.integers(1, 7))):
        kind = data.draw(st.sampled_from(["lookup", "add", "mul"]))
        a, b = (data.draw(st.sampled_from(made)) for _ in range(2))
        if kind == "lookup":
            made.append(looked_up(net, a, f"t{number}"))
        else:
            made.append(net.op(kind, (a, b), f"t{number}", quant=per_tensor(0.15, number)))
    outputs = sorted(data.draw(st.sets(st.sampled_from(made[1:]), min_size=1)) | {made[-1]})

    graph, after = fused(net, *outputs)

    assert len(after.ops) <= len(graph.ops)
    assert all(
        op.kind == "lookup"
        for op in after.ops
        if op.operands[0] == "x" and len(set(op.operands)) == 1
    )

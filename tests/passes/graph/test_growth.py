"""A graph in the making."""

import numpy as np

from accnn.ir.graph import Graph, Value
from accnn.ir.module import Module
from accnn.ir.ops import make_op, verify_graph
from accnn.ir.types import DType, TensorType
from accnn.passes.graph.growth import Growth

X = Value("x", TensorType(DType.F32, (2, 3)))


def module() -> Module:
    op = make_op("relu", ("x",), {"x": X.type}, "y")
    graph = Graph(name="net", inputs=(X,), constants=(), ops=(op,), outputs=("y",))
    return Module(graph=graph)


def test_what_was_added_replaces_an_operator_under_its_name():
    before = module()
    (relu,) = before.graph.ops
    growth = Growth.of(before.graph)

    zero = growth.constant("y.zero", np.zeros(1, np.float32))
    growth.add(relu, "max", ("x", zero))
    growth.end(relu)
    after = growth.module(before)

    verify_graph(after.graph)
    (made,) = after.graph.ops
    assert (made.kind, made.operands, made.name) == ("max", ("x", zero), "y")
    assert after.constants[zero].tolist() == [0.0]


def test_names_are_like_the_source_and_never_twice():
    growth = Growth.of(module().graph)
    (relu,) = module().graph.ops

    names = [growth.add(relu, "clip", ("x",), given={"lo": 0.0}, hi=6.0) for _ in range(2)]
    labelled = growth.add(relu, "reduce_max", ("x",), label="max", axis=1)

    assert names == ["y.clip", "y.clip_1"]
    assert labelled == "y.max"
    assert growth.ops[0].attrs == (("hi", 6.0), ("lo", 0.0))

"""Which stages a module has."""

from accnn.ir.graph import Graph, Value
from accnn.ir.module import Module, Stage
from accnn.ir.ops import make_op
from accnn.ir.types import DType, TensorType

TYPES = {"x": TensorType(DType.F32, (3, 4)), "w": TensorType(DType.F32, (5, 4))}


def module(kind: str, *operands: str) -> Module:
    inputs = tuple(Value(name, TYPES[name]) for name in dict.fromkeys(operands))
    op = make_op(kind, operands, TYPES, "y")
    return Module(graph=Graph(name="g", inputs=inputs, constants=(), ops=(op,), outputs=("y",)))


def test_a_graph_without_operators_of_the_mac_array_needs_no_mappings():
    assert Stage.MAPPINGS in module("relu", "x").stages
    assert Stage.MAPPINGS not in module("dense", "x", "w").stages

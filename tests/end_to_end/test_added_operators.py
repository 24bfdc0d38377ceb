"""An operator is two things: its declaration and its import function. Both are added here at run
time, and nothing else is touched."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from accnn.compiler.driver import Result, compile
from accnn.compiler.options import CompileOptions
from accnn.ir.graph import Op
from accnn.ir.operators.access import AxisMap, Part, Read, View, whole
from accnn.ir.operators.families.elementwise import function_spec
from accnn.ir.operators.families.moves import move_spec
from accnn.ir.operators.functions import FUNCTIONS, SLOW, Activation, Function, Number
from accnn.ir.operators.spec import AttrSpec, AttrType, Types, present
from accnn.ir.ops import OPS
from accnn.models.onnx_import.builder import Builder
from accnn.models.onnx_import.node import Node
from accnn.models.onnx_import.operators.elementwise import import_unary, unary
from accnn.models.onnx_import.table import MICROSOFT, ONNX, OPERATORS, Operator


@pytest.fixture
def quick_gelu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Declare a function of the vector unit and import it."""
    act = str.__new__(Activation, "quick_gelu")
    act._name_, act._value_ = "QUICK_GELU", "quick_gelu"
    monkeypatch.setitem(Activation._value2member_map_, "quick_gelu", act)
    function = Function(
        summary="x / (1 + exp(-alpha * x)).",
        evaluate=lambda x, a, b: x / (1 + np.exp(-np.float32(a) * x)),
        cycles=SLOW,
        numbers=(Number(name="alpha"),),
    )
    monkeypatch.setitem(FUNCTIONS, act, function)
    monkeypatch.setitem(OPS, "quick_gelu", function_spec(act, function))
    quick = Operator(run=unary("quick_gelu", alpha=1.702), first=1)
    monkeypatch.setitem(OPERATORS, (MICROSOFT, "QuickGelu"), quick)


def crop_shape(op: Op, types: Types) -> tuple[int, ...]:
    return op.ints("shape")


def crop_parts(op: Op, types: Types) -> tuple[Part, ...]:
    source, shape = View.dense(present(op, types, 0).shape), op.ints("shape")
    axes = (
        AxisMap((extent - wanted) // 2) for extent, wanted in zip(source.shape, shape, strict=True)
    )
    return (Part(View.dense(shape), whole(shape), (Read(0, source, tuple(axes)),)),)


def center_crop(node: Node, b: Builder) -> None:
    target = b.known(node.input(1))
    assert target is not None
    import_unary("crop", node, b, {"shape": tuple(int(extent) for extent in target)})


@pytest.fixture
def crop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Declare an operator that moves elements and import it."""
    spec = move_spec(
        "crop",
        "The middle of a tensor.",
        AttrSpec(name="shape", type=AttrType.INTS, required=True, minimum=1),
        shape=crop_shape,
        access=crop_parts,
    )
    monkeypatch.setitem(OPS, "crop", spec)
    monkeypatch.setitem(OPERATORS, (ONNX, "CenterCropPad"), Operator(run=center_crop))


def compile_nodes(folder: Path, *, tiles: str = "static") -> Result:
    """Compile a network in which both stand between operators that are known."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("CenterCropPad", ["a", "size"], ["b"]),
        helper.make_node("QuickGelu", ["b"], ["c"], domain=MICROSOFT),
        helper.make_node("Add", ["c", "b"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "added",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 9, 30, 31])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4, 17, 20])],
        [helper.make_tensor("size", TensorProto.INT64, [4], [2, 4, 17, 20])],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)],
        ir_version=9,
    )
    path = folder / "added.onnx"
    onnx.save(model, path)
    options = CompileOptions(cache=None, scratchpad=30000, tiles=tiles)
    return compile(path, arch="edge-fp32", options=options)

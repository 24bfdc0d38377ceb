"""Networks that compile once the user has bound an input, or in another float: compared in full."""

from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

import accnn
from accnn.compiler.options import CompileOptions
from accnn.ir.errors import ComputedOperandError
from accnn.ir.report import VerificationStatus

QUICK = CompileOptions(
    mapper="output-stationary", scheduler="in-order", cache=None, processes=1, samples=1
)


def saved(folder: Path, *nodes: onnx.NodeProto, opset: int = 17, **tensors: tuple) -> Path:
    """Save a model; tensors are inputs and outputs (what nodes make) by name: type and shape."""
    made = {name for node in nodes for name in node.output}
    infos = {
        name: helper.make_tensor_value_info(name, code, shape)
        for name, (code, shape) in tensors.items()
    }
    inputs = [info for name, info in infos.items() if name not in made]
    outputs = [info for name, info in infos.items() if name in made]
    graph = helper.make_graph(nodes, "net", inputs, outputs)
    opsets = [helper.make_opsetid("", opset)]
    model: ModelProto = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    path = folder / "net.onnx"
    onnx.save(model, path)
    return path


def summed(folder: Path) -> Path:
    return saved(
        folder,
        helper.make_node("ReduceSum", ["x", "axes"], ["y"]),
        x=(TensorProto.FLOAT, [2, 3, 4]),
        axes=(TensorProto.INT64, ["n"]),
        y=(TensorProto.FLOAT, ["a", "b", "c"]),
    )


@pytest.mark.parametrize("arch", ["edge-fp32", "edge-1m"])
def test_an_input_that_must_be_constant_is_bound(tmp_path: Path, arch: str):
    options = replace(QUICK, constants={"axes": (0, 2)})
    report = accnn.compile(summed(tmp_path), arch=arch, options=options).report

    assert report.verification.status is VerificationStatus.VERIFIED
    assert report.verification.outputs[0].elements == 3
    assert report.options["constants"] == "axes=(0, 2)"


def test_without_it_the_error_says_what_to_bind(tmp_path: Path):
    options = replace(QUICK, shapes={"axes": (1,)})

    with pytest.raises(ComputedOperandError, match=r"--constant axes=\.\.\."):
        accnn.compile(summed(tmp_path), arch="edge-fp32", options=options)


@pytest.mark.parametrize("code", [TensorProto.FLOAT16, TensorProto.DOUBLE])
def test_other_floats_are_computed_in_float32(tmp_path: Path, code: int):
    node = helper.make_node("Softmax", ["x"], ["y"])
    path = saved(tmp_path, node, x=(code, [2, 8]), y=(code, [2, 8]))
    report = accnn.compile(path, arch="edge-fp32", options=QUICK).report

    assert report.verification.status is VerificationStatus.VERIFIED
    assert any("is computed in float32" in note for note in report.notes)


def test_dynamic_quantisation_is_exact(tmp_path: Path):
    path = saved(
        tmp_path,
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        helper.make_node("MatMulInteger", ["q", "w", "zero"], ["y"]),
        x=(TensorProto.FLOAT, [4, 16]),
        w=(TensorProto.INT8, [16, 5]),
        y=(TensorProto.INT32, [4, 5]),
    )

    for arch in ("edge-fp32", "edge-1m"):
        verification = accnn.compile(path, arch=arch, options=QUICK).report.verification
        assert verification.status is VerificationStatus.VERIFIED
        assert verification.outputs[0].max_abs_diff == 0

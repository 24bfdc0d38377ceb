"""A model states the IR version that it needs, not the newest that its exporter knew."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import IR_VERSION, TensorProto, helper, numpy_helper

from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions
from accnn.ir.errors import ModelError
from accnn.ir.report import VerificationStatus
from accnn.models.onnx_import.loading.ir_version import LAST_IR_VERSION
from accnn.models.onnx_import.loading.load import load_model

OPTIONS = CompileOptions(mapper="output-stationary", scheduler="in-order", cache=None)


def save(path: Path, *extra: onnx.NodeProto, ir_version: int, weights=()) -> Path:
    w = numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"]), *extra],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [w, *weights],
    )
    opsets = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("version", range(LAST_IR_VERSION, IR_VERSION + 1))
def test_a_newer_version_is_lowered(tmp_path, version):
    assert load_model(save(tmp_path / "m.onnx", ir_version=version)).ir_version == LAST_IR_VERSION


def test_an_older_version_stays(tmp_path):
    assert load_model(save(tmp_path / "m.onnx", ir_version=8)).ir_version == 8


@pytest.mark.parametrize("arch", ["edge-fp32", "edge-1m"])
def test_a_model_of_the_newest_version_is_verified(tmp_path, arch):
    path = save(tmp_path / "m.onnx", ir_version=IR_VERSION)

    verdict = compile(path, arch=arch, options=OPTIONS).report.verification

    assert verdict.status is VerificationStatus.VERIFIED


def test_where_nodes_run_is_dropped(tmp_path):
    path = save(tmp_path / "m.onnx", ir_version=IR_VERSION)
    model = onnx.load(path)
    model.configuration.add(name="two", num_devices=2)
    model.graph.node[0].device_configurations.add(configuration_id="two")
    path.write_bytes(model.SerializeToString())

    found = load_model(path)

    assert not found.configuration
    assert not found.graph.node[0].device_configurations


def test_a_newer_element_type_is_named(tmp_path):
    narrow = TensorProto(name="n", data_type=TensorProto.FLOAT4E2M1, dims=[2], raw_data=b"\0")
    cast = helper.make_node("Cast", ["x"], ["c"], to=TensorProto.FLOAT4E2M1)
    inside = save(tmp_path / "w.onnx", ir_version=11, weights=[narrow])
    made = save(tmp_path / "c.onnx", cast, ir_version=11)

    for path in (inside, made):
        with pytest.raises(
            ModelError, match=r"float4e2m1 of IR version 11 is not supported"
        ) as error:
            load_model(path)
        assert error.value.hint == "export the model with float or 8-bit integer tensors"


def test_a_newer_element_type_in_a_branch_is_named(tmp_path):
    cast = helper.make_node("Cast", ["x"], ["c"], to=TensorProto.FLOAT4E2M1)
    result = helper.make_tensor_value_info("c", TensorProto.FLOAT4E2M1, [2, 4])
    branch = helper.make_graph([cast], "branch", [], [result])
    chosen = helper.make_node("If", ["w"], ["d"], then_branch=branch, else_branch=branch)

    with pytest.raises(ModelError, match="float4e2m1"):
        load_model(save(tmp_path / "m.onnx", chosen, ir_version=11))


def test_a_version_that_onnx_does_not_know(tmp_path):
    path = save(tmp_path / "m.onnx", ir_version=IR_VERSION + 1)

    with pytest.raises(
        ModelError, match=rf"IR version {IR_VERSION + 1} is newer than .*onnx"
    ) as error:
        load_model(path)

    assert error.value.hint is not None
    assert "newer onnx" in error.value.hint

"""Models, machines and inputs that a caller has at hand."""

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import accnn
from accnn.backend.load import load_architecture
from accnn.compiler.options import CompileOptions
from accnn.ir.errors import AccnnError, OptionError
from accnn.ir.report import VerificationStatus

OPTIONS = CompileOptions(mapper="output-stationary", scheduler="in-order", cache=None)


@pytest.fixture
def model():
    """The sum of two rows, whose names are those of arguments elsewhere."""
    infos = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4])
        for name in ("file", "a/b", "y")
    ]
    node = helper.make_node("Add", ["file", "a/b"], ["y"])
    graph = helper.make_graph([node], "sum of rows", infos[:2], infos[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


ROWS = {"file": np.float32([[1, 2, 3, 4]]), "a/b": [[0.5, 0.25, 0, -1]]}


def test_a_model_a_machine_and_inputs_need_no_files(model, tmp_path):
    machine = load_architecture("edge-fp32")
    rows = {name: np.asarray(row, np.float32) for name, row in ROWS.items()}

    found = accnn.compile(model, arch=machine, inputs=rows, options=OPTIONS)

    onnx.save(model, tmp_path / "sum_of_rows.onnx")
    filed = accnn.compile(tmp_path / "sum_of_rows.onnx", arch="edge-fp32", options=OPTIONS)
    assert found.report.verification.status is VerificationStatus.VERIFIED
    assert found.simulation is not None
    (outputs,) = found.simulation.outputs.values()
    np.testing.assert_array_equal(outputs, [[1.5, 2.25, 3, 3]])
    assert found.network.identity.name == filed.network.identity.name == "sum_of_rows.onnx"
    assert found.report.totals.cycles_simulated == filed.report.totals.cycles_simulated
    assert found.module.program == filed.module.program


def test_a_machine_of_ones_own_is_compiled_for(model):
    machine = load_architecture("edge-fp32")
    half = replace(machine, name="half", clock_hz=machine.clock_hz / 2)

    found = accnn.compile(model, arch=half, options=OPTIONS)

    assert found.report.arch.name == "half.toml"
    assert found.arch == half


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"file": ROWS["file"]}, "a/b"),
        ({**ROWS, "file": [["x"] * 4]}, "input 'file' has elements <U1, not plain numbers"),
        ({**ROWS, "file": [[None] * 4]}, "input 'file' has elements object"),
        ({**ROWS, "file": np.zeros((1, 5), np.float32)}, "file"),
    ],
)
def test_inputs_that_do_not_suit_are_refused(model, inputs, message):
    with pytest.raises(OptionError, match=message):
        accnn.compile(model, arch="edge-fp32", inputs=inputs, options=OPTIONS)


def test_a_model_is_checked_like_a_file(model):
    model.graph.node[0].op_type = "NoSuchThing"

    with pytest.raises(AccnnError, match="NoSuchThing"):
        accnn.compile(model, arch="edge-fp32", options=OPTIONS)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([np.zeros((1, 4), np.float32)], "inputs are a list"),
        ({**ROWS, "file": np.zeros((1, 4))}, "^inputs: 'file' is float64, the model reads float32"),
    ],
)
def test_inputs_at_hand_are_called_inputs(model, inputs, message):
    with pytest.raises(OptionError, match=message):
        accnn.compile(model, arch="edge-fp32", inputs=inputs, options=OPTIONS)


def test_options_are_no_dict(model):
    with pytest.raises(OptionError, match="options are a dict"):
        accnn.compile(model, arch="edge-fp32", options={"mapper": "cosa"})


def test_a_result_is_written_where_text_says_and_shows_itself_in_a_line(model, tmp_path):
    found = accnn.compile(model, arch="edge-fp32", options=OPTIONS)

    accnn.write_results(found, str(tmp_path / "text.acc"))

    assert (tmp_path / "text.acc" / "report.json").is_file()
    cycles = found.report.totals.cycles_simulated
    assert repr(found) == (
        f"<Result: sum_of_rows.onnx on edge-fp32.toml, verified, {cycles:,} cycles>"
    )

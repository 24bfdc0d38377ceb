"""accnn under the interface that ONNX asks of a backend."""

import unittest

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from onnx.backend.test import BackendTest

import accnn.backend_onnx as backend
from accnn.ir.errors import ModelError, OptionError

CASES = r"^test_(relu|add|add_bcast|concat_2d_axis_1|transpose_default|gemm_alpha)_cpu$"


def two_inputs(op_type: str) -> ModelProto:
    """Return a function of ``x`` beside ``y``."""
    nodes = [
        helper.make_node("Concat", ["x", "y"], ["c"], axis=1),
        helper.make_node(op_type, ["c"], ["z"]),
    ]
    tensors = {"x": (1, 2), "y": (1, 3), "z": (1, 5)}
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in tensors.items()]
    graph = helper.make_graph(nodes, "net", infos[:2], infos[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


X, Y = np.array([[1, -2]], np.float32), np.array([[-3, 4, 5]], np.float32)


def test_a_prepared_model_runs_on_inputs_in_order():
    prepared = backend.prepare(two_inputs("Relu"))

    (first,), (second,) = prepared.run([X, Y]), prepared.run([-X, -Y])

    assert first.tolist() == [[1, 0, 0, 4, 5]]
    assert second.tolist() == [[0, 2, 3, 0, 0]]


def test_a_model_runs_in_one_step():
    (found,) = backend.run_model(two_inputs("Relu"), [X, Y], arch="edge-fp32")

    assert found.tolist() == [[1, 0, 0, 4, 5]]


@pytest.mark.parametrize(("device", "known"), [("CPU", True), ("CPU:0", True), ("CUDA", False)])
def test_the_simulator_runs_on_the_processor(device: str, known: bool):
    assert backend.supports_device(device) == known


def test_another_device_is_refused():
    with pytest.raises(OptionError, match="no device 'CUDA'"):
        backend.prepare(two_inputs("Relu"), "CUDA")


def test_an_unknown_option_is_refused():
    with pytest.raises(OptionError, match="unknown options: speed"):
        backend.prepare(two_inputs("Relu"), speed=3)


def test_a_wrong_number_of_inputs_is_refused():
    with pytest.raises(OptionError, match="1 inputs given, the model reads 2"):
        backend.prepare(two_inputs("Relu")).run([X])


def test_an_unknown_operator_is_refused():
    with pytest.raises(ModelError, match="StringNormalizer"):
        backend.prepare(two_inputs("StringNormalizer"))


@pytest.mark.slow
def test_onnx_accepts_the_backend():
    tests = BackendTest(backend.AccnnBackend, __name__).include(CASES)
    result = unittest.TestResult()

    tests.test_suite.run(result)

    assert (result.failures, result.errors) == ([], [])
    assert result.testsRun - len(result.skipped) == 6

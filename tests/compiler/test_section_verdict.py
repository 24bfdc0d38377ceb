"""Where rounded floats become integers inside, a run is judged section by section."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from accnn.backend.load import load_architecture
from accnn.compiler import verdict
from accnn.compiler.driver import compile
from accnn.compiler.frontend import Network, read_network
from accnn.compiler.options import CompileOptions
from accnn.compiler.pipelines import REWRITES
from accnn.compiler.report.table import verification_line
from accnn.compiler.section_verdict import cuts, verify_sections
from accnn.compiler.stopwatch import Stopwatch, unobserved
from accnn.compiler.verify import reference_outputs
from accnn.ir.graph import Graph
from accnn.ir.module import Module
from accnn.ir.report import VerificationStatus
from accnn.ir.resources import Constants
from accnn.passes.manager import run_pipeline
from accnn.passes.pipeline import Pipeline
from accnn.runtime_sim.reference.run import run, run_op

X = np.float32([[3, 3], [1, 2]])
"""Softmax of the first row is a half, which in steps of a fifth is a tie: 2 or 3."""
OPTIONS = CompileOptions(mapper="output-stationary", scheduler="in-order", cache=None)


def quantised(island: str, path: Path) -> Path:
    """Write a quantised network of a function of floats, and a product of its result."""
    w = np.array([[100, -7], [3, 50], [20, 20]], np.int8)
    constants = {"w": w, "s": np.float32(0.2), "z": np.int8(0), "one": np.float32(1)}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "one", "z"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "one", "z"], ["xf"]),
        helper.make_node(island, ["xf"], ["f"]),
        helper.make_node("QuantizeLinear", ["f", "s", "z"], ["fq"]),
        helper.make_node("DequantizeLinear", ["fq", "s", "z"], ["ff"]),
        helper.make_node("DequantizeLinear", ["w", "one", "z"], ["wf"]),
        helper.make_node("Gemm", ["ff", "wf"], ["g"], transB=1),
        helper.make_node("QuantizeLinear", ["g", "one", "z"], ["gq"]),
        helper.make_node("DequantizeLinear", ["gq", "one", "z"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@dataclass(frozen=True)
class Case:
    """A network, its graph as the reference runs it, and the right tensors."""

    network: Network
    graph: Graph
    constants: Constants
    tensors: Mapping[str, np.ndarray]

    def with_cut(self, row: int, column: int, value: int) -> dict[str, np.ndarray]:
        """Return the tensors of a program that quantised one float otherwise."""
        (cut,) = cuts(self.network, self.graph)
        tensors = dict(self.tensors)
        tensors[cut.name] = tensors[cut.name].copy()
        tensors[cut.name][row, column] = value
        names = [op.name for op in self.graph.ops]
        for op in self.graph.ops[names.index(cut.name) + 1 :]:
            tensors[op.name] = run_op(op, self.graph.types, tensors)
        return tensors

    def judge(self, tensors: Mapping[str, np.ndarray]):
        found = cuts(self.network, self.graph)
        return verify_sections(self.network, self.graph, found, tensors, {"x": X})

    def equals_the_whole(self, tensors: Mapping[str, np.ndarray]) -> bool:
        ((original, name),) = self.network.imported.output_names
        expected = reference_outputs(self.network.model, {"x": X})[original]
        return np.array_equal(tensors[name], expected)


def case_of(path: Path) -> Case:
    watch = Stopwatch(unobserved)
    network = read_network(path, load_architecture("edge-1m"), OPTIONS, watch)
    imported = network.imported
    module = Module(graph=imported.graph, constants=imported.constants)
    module = run_pipeline(Pipeline(REWRITES), module).module
    ((_, name),) = imported.input_names
    tensors = run(module.graph, module.constants, {name: X})
    return Case(network, module.graph, module.constants, tensors)


@pytest.fixture
def softmax(tmp_path: Path) -> Case:
    return case_of(quantised("Softmax", tmp_path / "net.onnx"))


def test_cuts_are_where_rounded_floats_become_integers(softmax: Case):
    (cut,) = cuts(softmax.network, softmax.graph)

    assert (cut.original, cut.source) == ("fq", "f")


def test_a_network_of_integers_has_no_cut(tmp_path: Path):
    case = case_of(quantised("Sigmoid", tmp_path / "net.onnx"))  # a table of bytes

    assert cuts(case.network, case.graph) == ()


def test_the_right_tensors_are_verified(softmax: Case):
    found = softmax.judge(softmax.tensors)

    assert found.status is VerificationStatus.VERIFIED
    assert found.sections == 2
    assert [item.name for item in found.outputs] == ["fq", "y"]


def test_the_other_side_of_a_tie_is_right_too(softmax: Case):
    (cut,) = cuts(softmax.network, softmax.graph)
    here = int(softmax.tensors[cut.name][0, 0])
    assert here in (2, 3)
    other = softmax.with_cut(0, 0, 5 - here)

    assert not softmax.equals_the_whole(other)
    assert softmax.judge(other).status is VerificationStatus.VERIFIED


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [(0, 0, 1), (0, 0, 4), (1, 0, 2), (1, 1, 3), (1, 1, 5), (0, 1, -128)],
)
def test_another_integer_is_wrong(softmax: Case, row: int, column: int, value: int):
    found = softmax.judge(softmax.with_cut(row, column, value))

    assert found.status is VerificationStatus.FAILED
    assert [(item.name, item.mismatches) for item in found.outputs] == [("fq", 1), ("y", 0)]


def test_a_fault_behind_a_cut_is_wrong(softmax: Case):
    ((_, name),) = softmax.network.imported.output_names
    tensors = {**softmax.tensors, name: softmax.tensors[name] + np.float32([[1, 0, 0], [0, 0, 0]])}

    found = softmax.judge(tensors)

    assert [(item.name, item.mismatches) for item in found.outputs] == [("fq", 0), ("y", 1)]


def a_reference_that_is_off(*arguments: object) -> dict[str, np.ndarray]:
    return {name: array + 1 for name, array in reference_outputs(*arguments).items()}


@pytest.mark.parametrize("mode", ["outputs", "layers"])
def test_a_run_that_differs_as_a_whole_is_judged_in_sections(tmp_path, monkeypatch, mode):
    path = quantised("Softmax", tmp_path / "net.onnx")
    np.savez(tmp_path / "x.npz", x=X)
    options = CompileOptions(
        mapper="output-stationary",
        scheduler="in-order",
        cache=None,
        verify=mode,
        inputs=tmp_path / "x.npz",
    )
    plain = compile(path, arch="edge-1m", options=options).report.verification
    monkeypatch.setattr(verdict, "reference_outputs", a_reference_that_is_off)

    found = compile(path, arch="edge-1m", options=options).report.verification

    assert (plain.sections, plain.apart) == (1, 0)
    assert (found.status, found.sections, found.apart) == (VerificationStatus.VERIFIED, 2, 6)
    assert "in 2 sections (6 outputs do in one run)" in verification_line(found)


def test_a_network_without_cuts_stays_failed(tmp_path, monkeypatch):
    path = quantised("Sigmoid", tmp_path / "net.onnx")
    monkeypatch.setattr(verdict, "reference_outputs", a_reference_that_is_off)

    found = compile(path, arch="edge-1m", options=OPTIONS).report.verification

    assert (found.status, found.sections) == (VerificationStatus.FAILED, 1)

"""Operators are judged one by one, on the operands that the program itself made."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from accnn.backend.lowering.lower import lower
from accnn.compiler.driver import compile, run_program
from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.compiler.verification.observe import observed, symbol_of
from accnn.compiler.verification.verdict import verify_run
from accnn.compiler.verification.verify import verification_inputs
from accnn.ir.report import Verification, VerificationStatus

OFFSET = 1e4
"""So large that what a product rounds away is large beside what is left after the subtraction."""
OPTIONS = CompileOptions(mapper="output-stationary", scheduler="in-order", verify=VerifyMode.LAYERS)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    weights = np.random.default_rng(0).standard_normal((16, 32)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w", "b"], ["t"], transB=1),
            helper.make_node("Softmax", ["t"], ["y"], axis=1),
        ],
        "offset",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (4, 32))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (4, 16))],
        [
            numpy_helper.from_array(weights, "w"),
            numpy_helper.from_array(np.full(16, OFFSET, np.float32), "b"),
        ],
    )
    path = tmp_path / "offset.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def test_what_was_rounded_before_is_not_held_against_an_operator(model: Path):
    result = compile(model, arch="edge-fp32", options=OPTIONS)

    named = {check.name: check for check in result.report.verification.outputs}
    assert named["y.softmax.shifted"].mismatches == 0
    assert named["y.softmax.shifted"].max_abs_diff <= named["y.softmax.shifted"].tolerance < 1e-3


def judged_with_a_fault(model: Path, name: str) -> Verification:
    """Judge a run of which the first element of a tensor became another one off chip."""
    result = compile(model, arch="edge-fp32", options=OPTIONS)
    lowered = lower(observed(replace(result.module, program=None)))
    constants = result.module.constants.with_arrays(lowered.derived)
    module = replace(observed(result.module), program=lowered.program, constants=constants)
    inputs = verification_inputs(result.network.model, OPTIONS.seed, None)
    names = result.network.imported.input_names
    run = run_program(module, inputs, names, OPTIONS)
    symbol = lowered.program.symbol[symbol_of(lowered.program, name) or ""]
    dram = run.dram.copy()
    dram[symbol.address : symbol.address + 4] = np.array([-1.0], np.float32).view(np.uint8)

    wrong = replace(run, dram=dram)
    return verify_run(result.network, wrong, inputs, layers=(module, wrong))


def test_a_fault_is_found_at_the_operator_that_made_it(model: Path):
    verdict = judged_with_a_fault(model, "y.softmax.shifted")

    assert verdict.status is VerificationStatus.FAILED
    assert verdict.first_difference == "y.softmax.shifted"


def test_an_operator_is_judged_on_what_lies_there(model: Path):
    verdict = judged_with_a_fault(model, "t")

    wrong = {check.name for check in verdict.outputs if check.mismatches}
    assert verdict.first_difference == "t"
    assert wrong == {"t", "y.softmax.shifted"}  # it was made of another t

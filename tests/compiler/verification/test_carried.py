"""How far rounding carries: far where nothing but rounding is left, and nowhere else."""

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from accnn.compiler.driver import Result, compile
from accnn.compiler.options import CompileOptions
from accnn.compiler.verification.carried import carried
from accnn.compiler.verification.verdict import _as_the_reference_runs_it, verify_run
from accnn.compiler.verification.verify import FOUR_STEPS, tolerances, verification_inputs
from accnn.ir.report import Verification, VerificationStatus
from accnn.ir.resources import Constants
from accnn.runtime_sim.reference.run import run
from tests.networks import NetworkBuilder, per_tensor

OPTIONS = CompileOptions(mapper="output-stationary", scheduler="in-order", cache=None, processes=1)


NET = NetworkBuilder()
FLOATS = NET.floats(NET.input("x", (2, 4)), "floats")
SUMS = NET.op("add", (NET.op("add", (FLOATS, FLOATS), "twice"), FLOATS), "sums")
MEAN = NET.op("reduce_mean", (SUMS,), "mean", {"axis": 1})
BYTES = NET.op("quantize", (SUMS,), "bytes", quant=per_tensor(0.15))
NETWORK = NET.build(NET.floats(BYTES, "y"), MEAN)


def moved_by(x: np.ndarray, name: str) -> float:
    exact = run(NETWORK, Constants({}), {"x": x})
    return carried(NETWORK, NETWORK.ops, exact, [name])[name]


def test_sums_of_one_sign_move_by_steps_of_their_own():
    value = 0.05 * 103

    moved = moved_by(np.full((2, 4), 100, np.int8), "sums")

    assert FOUR_STEPS * value < moved <= 8 * FOUR_STEPS * value


def test_nothing_is_carried_past_integers():
    x = np.arange(8, dtype=np.int8).reshape(2, 4)

    assert moved_by(x, "bytes") == 0.0


@pytest.mark.parametrize(
    ("row", "least", "most"),
    [((47, -53, 27, -33), 0.1, 16.0), ((0, 0, 0, 0), 0.0, 16.0), ((-3, -3, -3, -3), 0.0, 0.0)],
)
def test_sums_on_the_way_are_rounded_too(row: tuple[int, ...], least: float, most: float):
    """What is left of numbers that cancel is off by steps of these numbers, not by its own."""
    x = np.array([row, row], np.int8)
    largest = 3 * 0.05 * max(abs(value + 3) for value in row)

    moved = moved_by(x, "mean")

    assert least * FOUR_STEPS * largest <= moved <= most * FOUR_STEPS * largest


def normalised(x: np.ndarray) -> onnx.ModelProto:
    """Layer normalisation along the last axis, of whatever a constant adds to the input."""
    return helper.make_model(
        helper.make_graph(
            [
                helper.make_node("Mul", ["x", "zero"], ["none"]),
                helper.make_node("Add", ["none", "c"], ["t"]),
                helper.make_node("LayerNormalization", ["t", "s"], ["y"], axis=1, epsilon=1e-5),
            ],
            "normalised",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)],
            [
                numpy_helper.from_array(np.zeros(1, np.float32), "zero"),
                numpy_helper.from_array(x.astype(np.float32), "c"),
                numpy_helper.from_array(np.ones(x.shape[1], np.float32), "s"),
            ],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )


def verdict(result: Result, off: float) -> Verification:
    """Judge a program whose outputs are off by so much."""
    inputs = verification_inputs(result.network.model, 0, None)
    run = result.simulation
    assert run is not None
    (name,) = run.outputs
    y = run.outputs[name]
    other = replace(run, outputs={name: (y + np.float32(off)).astype(np.float32)})
    return verify_run(result.network, other, inputs)


CONSTANT = np.full((1, 12), 1.1)
SPREAD = np.linspace(-2.0, 3.0, 12).reshape(1, 12)


@pytest.mark.parametrize(
    ("numbers", "off", "status"),
    [
        (CONSTANT, 0.0, VerificationStatus.VERIFIED),
        (CONSTANT, 5e-5, VerificationStatus.VERIFIED),
        (CONSTANT, 2e-3, VerificationStatus.FAILED),
        (SPREAD, 0.0, VerificationStatus.VERIFIED),
        (SPREAD, 3e-4, VerificationStatus.FAILED),
    ],
)
def test_normalising_equal_numbers_leaves_rounding_alone(numbers, off: float, status):
    """1.1 less the mean of twelve of them is a step or two, divided by the root of 1e-5."""
    result = compile(normalised(numbers), arch="edge-fp32", options=OPTIONS)

    assert verdict(result, off).status is status


def test_twice_of_what_is_carried_is_allowed():
    result = compile(normalised(CONSTANT), arch="edge-fp32", options=OPTIONS)
    module = _as_the_reference_runs_it(result.network.imported)
    graph, constants = module.graph, module.constants
    (name,) = graph.outputs
    given = {item.name: np.zeros(CONSTANT.shape, np.float32) for item in graph.inputs}
    exact = run(graph, constants, given)
    far = carried(graph, graph.ops, exact, [name])[name]

    (check,) = verdict(result, 5e-5).outputs

    own = tolerances(graph)[name]
    largest = float(np.abs(exact[name]).max())
    wanted = own.relative * largest + own.absolute + 2 * far
    assert check.tolerance == pytest.approx(wanted, rel=1e-3)
    assert far > 10 * own.relative * largest

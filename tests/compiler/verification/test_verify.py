import os
import signal

import numpy as np
import pytest

from accnn.compiler.verification.verify import (
    FLOAT_TOLERANCE,
    FOUR_STEPS,
    Tolerance,
    compare,
    judged,
    own_tolerance,
    reference_outputs,
    tolerances,
)
from accnn.ir.errors import ModelError
from accnn.ir.report import VerificationStatus
from accnn.ir.text.parser import parse_module
from tests.onnx_rows import convolutions_in_a_row

MIXED = """graph net {
  input %x : s8<1x8, scale = 0.5, zero = 0>
  %f = dequantize(%x) : f32<1x8>
  %r = relu(%f) : f32<1x8>
  %p = softmax(%r) {axis = 1} : f32<1x8>
  %q = quantize(%p) : s8<1x8, scale = 0.25, zero = 0>
  %m = reshape(%q) {shape = [8, 1]} : s8<8x1, scale = 0.25, zero = 0>
  %d = dequantize(%m) : f32<8x1>
  %s = add(%m, %m) : s8<8x1, scale = 0.25, zero = 0>
  return %d, %s
}
"""


def test_integers_are_equal_unless_a_rounded_float_became_one():
    found = tolerances(parse_module(MIXED).graph)

    assert found["f"] == found["r"] == found["s"] == Tolerance()
    assert found["p"] == Tolerance(relative=FLOAT_TOLERANCE)
    assert found["q"] == found["m"] == Tolerance(absolute=1.0)
    assert found["d"] == Tolerance(relative=FLOAT_TOLERANCE, absolute=0.25)


def test_operators_of_a_network_are_judged_on_exact_operands():
    graph = parse_module(MIXED).graph

    found = tolerances(graph, ops=graph.ops[4:6])

    assert [op.name for op in graph.ops[4:6]] == ["m", "d"]
    assert found == {"m": Tolerance(), "d": Tolerance()}


@pytest.mark.parametrize(
    ("tolerance", "mismatches"),
    [(Tolerance(), 2), (Tolerance(absolute=1.0), 1), (Tolerance(relative=0.02), 0)],
)
def test_counts_what_is_too_far(tolerance: Tolerance, mismatches: int):
    expected = np.array([1, 100, -7], np.int8)

    check = compare(expected + np.array([1, 0, 2], np.int8), expected, "y", tolerance=tolerance)

    assert (check.elements, check.mismatches, check.max_abs_diff) == (3, mismatches, 2.0)


def test_small_numbers_may_be_off_by_a_part_of_their_own():
    expected = np.array([1e-3, 2e-3], np.float32)

    check = compare(expected * 1.2, expected, "y", tolerance=Tolerance(relative=0.1))

    assert check.mismatches == 1
    assert (
        compare(expected * 1.05, expected, "y", tolerance=Tolerance(relative=0.1)).mismatches == 0
    )


def test_infinities_alone_equal_themselves_and_leave_no_room_for_others():
    expected = np.array([np.inf, -np.inf, np.nan], np.float32)

    assert compare(expected, expected, "y", tolerance=Tolerance(relative=0.1)).mismatches == 0
    wrong = np.array([np.inf, np.inf, 0], np.float32)
    assert compare(wrong, expected, "y", tolerance=Tolerance(relative=0.1)).mismatches == 2


def test_nan_differs_from_a_number_and_equals_itself():
    expected = np.array([np.nan, 1.0, np.inf], np.float32)

    assert compare(expected, expected, "y").mismatches == 0
    assert compare(np.array([0, np.nan, np.inf], np.float32), expected, "y").mismatches == 2


@pytest.mark.parametrize("shape", [(3, 2), (6,), (2, 4), ()])
def test_equal_numbers_in_another_shape_differ(shape: tuple[int, ...]):
    expected = np.ones((2, 3), np.float32)

    check = compare(np.ones(shape, np.float32), expected, "y")

    assert check.mismatches == check.elements > 0
    assert check.remark == f"y has shape {shape}, the reference (2, 3)"
    assert judged((check,)).status is VerificationStatus.FAILED


def test_the_same_shape_needs_no_remark():
    assert compare(np.ones((2, 3)), np.ones((2, 3)), "y").remark is None


@pytest.mark.parametrize("operands", ["%x, %e", "%e, %x"])
def test_an_exact_operand_excuses_no_rounding_of_the_other(operands: str):
    text = f"""graph net {{
  input %x : f32<3>
  %e = exp(%x) : f32<3>
  %y = add({operands}) : f32<3>
  return %y
}}
"""
    found = tolerances(parse_module(text).graph)

    assert found["e"].relative == FLOAT_TOLERANCE
    assert found["y"].relative == 2 * FLOAT_TOLERANCE


@pytest.mark.parametrize("end", [signal.SIGSEGV, signal.SIGABRT])
def test_a_crash_of_onnxruntime_is_a_message(monkeypatch, end):
    monkeypatch.setattr(
        "accnn.compiler.verification.verify.run", lambda *_: os.kill(os.getpid(), end)
    )

    with pytest.raises(ModelError, match=f"onnxruntime ends with {end.name} when it is to run"):
        reference_outputs(convolutions_in_a_row((3, 4, 3, 1), size=4), {})


@pytest.mark.parametrize("operands", ["%q, %x", "%x, %q"])
def test_what_is_moved_beside_an_exact_operand_may_be_off_a_step_as_before(operands: str):
    text = f"""graph net {{
  input %x : s8<1x8, scale = 0.25, zero = 0>
  %f = dequantize(%x) : f32<1x8>
  %p = softmax(%f) {{axis = 1}} : f32<1x8>
  %q = quantize(%p) : s8<1x8, scale = 0.25, zero = 0>
  %y = concat({operands}) {{axis = 1}} : s8<1x16, scale = 0.25, zero = 0>
  return %y
}}
"""
    found = tolerances(parse_module(text).graph)

    assert found["q"] == found["y"] == Tolerance(absolute=1.0)


def test_a_step_of_several_scales_is_the_largest_of_them():
    text = """graph net {
  input %x : f32<1x2>
  %p = softmax(%x) {axis = 1} : f32<1x2>
  %q = quantize(%p) : s8<1x2, scale = [0.25, 0.5], zero = 0, axis = 1>
  %d = dequantize(%q) : f32<1x2>
  return %d
}
"""
    assert tolerances(parse_module(text).graph)["d"].absolute == 0.5


def test_of_the_very_same_operands_only_floats_that_are_rounded_may_be_off():
    rounded = {op.name: own_tolerance(op).relative > 0 for op in parse_module(MIXED).graph.ops}

    assert rounded == {name: name == "p" for name in "frpqmds"}


@pytest.mark.parametrize(
    ("kind", "off"), [("gelu_tanh", FOUR_STEPS), ("softplus", 0.0), ("relu", 0.0)]
)
def test_small_differences_of_numbers_near_one_may_be_off_by_what_these_are(kind: str, off: float):
    """In float32, 1 + tanh(-8.4) has two figures; half of -5 times that is -2.3e-7, or -3.0e-7."""
    text = f"""graph net {{
  input %x : f32<1x8>
  %y = {kind}(%x) : f32<1x8>
  %z = reshape(%y) {{shape = [8, 1]}} : f32<8x1>
  return %z
}}
"""
    graph = parse_module(text).graph

    assert own_tolerance(graph.producer["y"]).absolute == off
    assert {item.absolute for item in tolerances(graph).values()} == {off}

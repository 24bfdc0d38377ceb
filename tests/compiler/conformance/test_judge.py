"""The verdict on a case."""

import re

import numpy as np
import pytest

from accnn.compiler.conformance.judge import Machines, Status, judge
from accnn.models.onnx_cases import node_cases
from tests.compiler.conformance.cases import expecting, relu, right

MACHINES = Machines()


def test_a_case_with_right_outputs_passes():
    found = judge(relu(), MACHINES)

    assert found.status is Status.ACCELERATOR
    assert (found.case, found.operator, found.tier) == ("test_relu", "Relu", 1)
    assert (found.plain, found.expanded, found.reason) == (True, False, "")


def test_a_wrong_element_fails():
    wrong = right(relu()).copy()
    wrong[0, 0, 0] += 0.01

    found = judge(expecting(relu(), wrong), MACHINES)

    assert found.status is Status.FAILED
    assert found.reason == "output 'y': 1 of 60 elements are wrong"


def test_what_is_within_the_tolerance_of_the_case_is_right():
    near = right(relu()) * np.float32(1.0005)

    assert judge(expecting(relu(), near), MACHINES).status is Status.ACCELERATOR


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda y: y.astype(np.float64), r"is float32\[3, 4, 5\], expected float64\[3, 4, 5\]"),
        (lambda y: y.reshape(60), r"is float32\[3, 4, 5\], expected float32\[60\]"),
        (lambda y: [y], "is a tensor, a sequence is expected"),
    ],
)
def test_another_type_or_shape_fails(change, reason: str):
    found = judge(expecting(relu(), change(right(relu()))), MACHINES)

    assert found.status is Status.FAILED
    assert re.search(reason, found.reason)


def test_an_unexpected_error_fails():
    found = judge(expecting(relu()), MACHINES)  # no output at all

    assert found.status is Status.FAILED
    assert found.reason.startswith("ValueError: ")


def test_a_refusal_is_unsupported_and_says_why():
    case = next(case for case in node_cases(["StringConcat"]))

    found = judge(case, MACHINES)

    assert (found.status, found.tier) == (Status.UNSUPPORTED, None)
    assert "string" in found.reason


def test_a_reason_does_not_say_where_the_model_lay():
    newest = next(case for case in node_cases(["Relu"]))
    newest.model.opset_import[0].version = 99

    try:
        found = judge(newest, MACHINES)
    finally:
        newest.model.opset_import[0].version = 14

    assert found.reason.startswith("opset 99 is not supported")

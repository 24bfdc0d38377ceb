"""The verdict on a case."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from accnn.compiler.conformance.judge import Help, Machines, Status, judge
from accnn.compiler.conformance.passed import read_passed
from accnn.ir.operators.functions import FUNCTIONS, Activation
from accnn.models.onnx_cases import NodeCase, node_cases
from tests.compiler.conformance.cases import expecting, relu, right
from tests.thinned import thinned

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


def case_of(operator: str, name: str) -> NodeCase:
    return next(case for case in node_cases([operator]) if case.name == name)


def test_only_what_an_operator_needs_is_bound():
    found = judge(case_of("ReduceSum", "test_reduce_sum_keepdims_example"), MACHINES)

    assert found.status is Status.ACCELERATOR
    assert found.help == Help(bound=("axes",))


def test_what_no_input_is_left_for_is_told():
    found = judge(case_of("Shape", "test_shape"), MACHINES)

    assert found.status is Status.ACCELERATOR
    assert found.help == Help(evaluated=True)


def test_inputs_without_elements_are_bound():
    found = judge(case_of("ReduceMax", "test_reduce_max_empty_set"), MACHINES)

    assert found.status is Status.ACCELERATOR
    assert found.help.bound == ("data", "axes")


def test_other_floats_are_told():
    found = judge(case_of("Max", "test_max_float16"), MACHINES)

    assert found.status is Status.ACCELERATOR
    assert found.help == Help(in_float32=True)


PARTS = 8


@pytest.mark.parametrize("part", [*thinned(range(PARTS), one_in=PARTS)])
def test_a_case_of_every_operator_that_has_one(part: int):
    by_operator = read_passed(Path(__file__).parent / "passed.txt")
    chosen = {name: min(by_operator[name], key=len) for name in list(by_operator)[part::PARTS]}
    cases = {case.name: case for case in node_cases(chosen)}

    found = [judge(cases[name], MACHINES) for name in chosen.values()]

    assert len(by_operator) > 160
    assert len(found) >= 160 // PARTS
    assert [item for item in found if not item.status.passed] == []


def test_a_wrong_function_is_found(monkeypatch: pytest.MonkeyPatch):
    wrong = replace(FUNCTIONS[Activation.TANH], evaluate=lambda x, a, b: x)
    monkeypatch.setitem(FUNCTIONS, Activation.TANH, wrong)  # type: ignore[arg-type]

    assert judge(case_of("Tanh", "test_tanh"), MACHINES).status is Status.FAILED


def test_a_reason_does_not_say_where_the_model_lay():
    newest = next(case for case in node_cases(["Relu"]))
    newest.model.opset_import[0].version = 99

    try:
        found = judge(newest, MACHINES)
    finally:
        newest.model.opset_import[0].version = 14

    assert found.reason.startswith("opset 99 is not supported")

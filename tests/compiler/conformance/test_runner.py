"""Many cases side by side."""

from dataclasses import replace

import pytest

from accnn.compiler.conformance.judge import Machines, Status
from accnn.compiler.conformance.runner import run_cases
from accnn.models.onnx_cases import node_cases
from tests.compiler.conformance.cases import Deadly, relu


def test_every_case_is_judged_in_order_and_told():
    cases, told = node_cases(["Relu", "Concat"]), []

    found = run_cases(cases, Machines(), 1, lambda done, total: told.append((done, total)))

    assert [item.case for item in found] == [case.name for case in cases]
    assert told == [(done, len(cases)) for done in range(1, len(cases) + 1)]


@pytest.mark.slow
def test_processes_change_nothing():
    cases = node_cases(["Relu", "Concat"])

    alone, both = (run_cases(cases, Machines(), n, lambda *_: None) for n in (1, 2))

    assert alone == both


@pytest.mark.slow
def test_a_process_that_dies_takes_no_other_case_with_it():
    deadly = replace(relu(), name="test_deadly", model=Deadly())
    cases = [deadly, relu()]

    found = run_cases(cases, Machines(), 2, lambda *_: None)

    assert [item.status for item in found] == [Status.FAILED, Status.ACCELERATOR]
    assert found[0].reason == "the process died"

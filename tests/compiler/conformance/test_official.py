"""ONNX's own cases: those that have passed still do, and no case is wrong."""

import random
from pathlib import Path

import pytest

from accnn.compiler.conformance.judge import Machines, Status, judge
from accnn.compiler.conformance.passed import no_longer_passed, read_passed
from accnn.compiler.conformance.runner import run_cases
from accnn.models.onnx_cases import node_cases
from tests.thinned import examples

PASSED = read_passed(Path(__file__).parent / "passed.txt")
OPERATORS, CASES, SEED = examples(10), examples(30), 0


def test_a_sample_of_the_passed_cases_still_passes():
    draw = random.Random(SEED)
    operators = draw.sample(sorted(PASSED), OPERATORS)
    listed = {name for operator in operators for name in PASSED[operator]}
    known = [case for case in node_cases(operators) if case.name in listed]
    chosen = draw.sample(known, min(CASES, len(known)))

    outcomes = [judge(case, Machines()) for case in chosen]

    assert len(known) == len(listed)
    assert [item for item in outcomes if not item.status.passed] == []


@pytest.mark.slow
def test_the_passed_list_does_not_shrink_and_nothing_fails():
    outcomes = run_cases(node_cases(), Machines(), 2, lambda *_: None)

    assert [item for item in outcomes if item.status is Status.FAILED] == []
    assert no_longer_passed(outcomes, [name for names in PASSED.values() for name in names]) == ()

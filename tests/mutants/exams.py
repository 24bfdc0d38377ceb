"""The exams that planted faults must not pass, as tests; see ``tests/end_to_end/faults``."""

import pytest

from tests.end_to_end.faults.battery import objection
from tests.end_to_end.faults.fault import Exam


@pytest.mark.parametrize("exam", Exam)
def test_nobody_objects(exam: Exam) -> None:
    assert objection(exam.value) is None

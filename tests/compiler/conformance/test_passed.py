"""The list of passed cases."""

from pathlib import Path

import pytest

from accnn.compiler.conformance.judge import Status
from accnn.compiler.conformance.passed import no_longer_passed, passed_text, read_passed
from accnn.ir.errors import OptionError
from tests.compiler.conformance.cases import verdict

OUTCOMES = (
    verdict("test_b", Status.ACCELERATOR),
    verdict("test_a", Status.HOST),
    verdict("test_c", Status.FAILED),
    verdict("test_d", Status.ACCELERATOR, "Add"),
)


def test_the_list_is_read_as_it_is_written(tmp_path: Path):
    path = tmp_path / "passed.txt"
    path.write_text(passed_text(OUTCOMES))

    assert path.read_text() == "Add: test_d\nRelu: test_a test_b\n"
    assert read_passed(path) == {"Add": ("test_d",), "Relu": ("test_a", "test_b")}


def test_what_no_longer_passes_is_found():
    assert no_longer_passed(OUTCOMES, ["test_a", "test_c", "test_elsewhere"]) == (OUTCOMES[2],)


@pytest.mark.parametrize("text", ["Relu test_a\n", "Relu:\n"])
def test_a_damaged_list_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "passed.txt"
    path.write_text(text)

    with pytest.raises(OptionError, match=r"passed.txt:1: not 'Operator: case case ...'"):
        read_passed(path)


def test_a_missing_list_is_refused(tmp_path: Path):
    with pytest.raises(OptionError, match="no such file"):
        read_passed(tmp_path / "passed.txt")

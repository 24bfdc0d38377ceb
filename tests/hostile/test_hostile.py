"""Damaged files end with a message; what does not is noticed."""

import random
import time
from pathlib import Path

import pytest

from accnn.ir.errors import ParseError
from tests.hostile.files import Kind, damaged
from tests.hostile.run import Failure, attempts, end_of
from tests.thinned import examples

COUNT = examples(40)


@pytest.mark.parametrize("name", ["toml", "members"])
def test_damaged_files_end_with_a_message(name: str):
    found = attempts(name, 2, COUNT)

    assert len(found) == COUNT
    assert [item for item in found if isinstance(item, Failure)] == []


def test_the_same_draws_damage_a_file_alike():
    right = b"a line 1\nanother 22\n" * 9
    found = [damaged(right, random.Random("cache 0 5")) for _ in range(2)]

    assert found[0] == found[1] != right


def refuse(_: Path) -> object:
    raise ParseError("no")


def stumble(_: Path) -> object:
    raise KeyError("stride")


@pytest.mark.parametrize(("read", "end"), [(refuse, "refused"), (Path.exists, "read")])
def test_a_message_is_a_good_end(tmp_path: Path, read, end: str):
    assert end_of(Kind(b"", ".x", read), tmp_path) == end


def test_any_other_error_is_a_failure(tmp_path: Path):
    assert "KeyError: 'stride'" in end_of(Kind(b"", ".x", stumble), tmp_path)


def test_so_is_a_file_that_takes_too_long(tmp_path: Path):
    found = end_of(Kind(b"", ".x", lambda _: time.sleep(30)), tmp_path, seconds=1)

    assert "TimeoutError" in found

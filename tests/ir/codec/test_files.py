import os
from pathlib import Path

import pytest

from accnn.ir.codec.files import replacing
from accnn.ir.errors import OptionError


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")

    with replacing(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old"

    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_changes_where_writing_fails(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")

    with pytest.raises(RuntimeError), replacing(path) as partial:
        partial.write_text("half")
        raise RuntimeError

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_are_not_replaced(tmp_path):
    with pytest.raises(OptionError, match="it is a folder"), replacing(tmp_path):
        pass
    with pytest.raises(OptionError, match="a is not a folder"), replacing(tmp_path / "a/b"):
        pass


def test_a_new_file_has_the_usual_mode(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "x.txt") as partial:
            partial.write_text("new")
    finally:
        os.umask(before)

    assert (tmp_path / "x.txt").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs a device that is full")
def test_devices_are_written_as_they_are(tmp_path):
    (tmp_path / "full").symlink_to("/dev/full")

    with pytest.raises(OptionError, match="No space left"), replacing(tmp_path / "full") as partial:
        partial.write_text("new")
    assert Path("/dev/full").is_char_device()

import pytest

from accnn.ir.errors import OptionError
from accnn.ir.files import replacing


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
    with pytest.raises(OptionError, match="No such file or directory"), replacing(tmp_path / "a/b"):
        pass

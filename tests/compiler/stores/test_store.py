import logging
import os
import re
import tomllib
from pathlib import Path

import pytest

from accnn.compiler.stores import mappings as cache
from accnn.compiler.stores import networks as quantised_networks
from accnn.compiler.stores import passes as pass_memory
from accnn.compiler.stores.store import Store, code_version, digest_of

ROOT = Path(__file__).parents[3]
KEY = "ab" + "0" * 62


def test_an_entry_comes_back(tmp_path):
    store = Store(tmp_path)

    store.write(KEY, ".x", b"content")

    assert store.read(KEY, ".x") == b"content"
    assert store.read(KEY, ".y") is None


def test_a_folder_that_takes_no_files_is_no_error(tmp_path, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")

    with caplog.at_level(logging.WARNING):
        Store(blocked).write(KEY, ".x", b"content")
        assert Store(blocked).read(KEY, ".x") is None

    assert "cannot store an answer" in caplog.text


def test_the_newest_entries_of_a_kind_are_kept(tmp_path):
    store = Store(tmp_path)
    for number in range(4):
        key = digest_of(str(number))
        store.write(key, ".x", b"")
        os.utime(store.path(key, ".x"), (number, number))
    store.write(KEY, ".y", b"")

    store.keep_newest(".x", 2)

    there = [number for number in range(4) if store.read(digest_of(str(number)), ".x") is not None]
    assert there == [2, 3]
    assert store.read(KEY, ".y") == b""


def test_code_and_releases_are_part_of_a_version():
    version = code_version(("ir/arch.py",), ("numpy",))

    assert version == code_version(("ir/arch.py",), ("numpy",))
    assert len({version, code_version(("ir",), ("numpy",)), code_version(("ir/arch.py",), ())}) == 3


@pytest.mark.parametrize("module", [cache, pass_memory, quantised_networks])
def test_packages_whose_releases_count_are_dependencies(module):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.split("[<>=]", item)[0] for item in project["dependencies"]}

    assert set(module._PACKAGES) <= declared | {project["name"]}

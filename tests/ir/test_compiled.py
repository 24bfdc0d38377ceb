"""Machine code belongs to one state of the files that it was made from."""

import os
from pathlib import Path

import numba

from accnn.ir.compiled import kernel_digest, machine_code_folder
from accnn.passes.mapping.search.orders.kernel.engines import _engine
from accnn.passes.scheduling.flexer.kernel.drive import _schedule
from accnn.runtime_sim.noc.kernel import run_events


def test_the_digest_follows_names_and_contents(tmp_path):
    digests = set[str]()
    for name, text in (("a.py", "one"), ("a.py", "two"), ("b.py", "two")):
        folder = tmp_path / f"{name}-{text}"
        folder.mkdir()
        (folder / name).write_text(text)
        digests.add(kernel_digest(folder))

    assert len(digests) == 3


def test_machine_code_is_kept_beside_its_sources(tmp_path):
    (tmp_path / "rows.py").write_text("")

    kept = machine_code_folder(tmp_path)

    assert kept == tmp_path / "__pycache__" / f"numba-{kernel_digest(tmp_path)}"


def test_machine_code_goes_to_the_users_cache_where_sources_cannot_be_written(
    tmp_path, monkeypatch
):
    monkeypatch.delenv("ACCNN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    assert machine_code_folder(tmp_path).parent == tmp_path / "accnn"


def test_entries_of_every_kernel_are_kept_by_the_digest_of_their_folder():
    for function in (_engine, _schedule, run_events):
        sources = Path(function.py_func.__code__.co_filename).parent
        assert Path(function.stats.cache_path).is_relative_to(machine_code_folder(sources))


def test_numbas_own_setting_is_left_as_it_was():
    assert "numba-" not in (numba.config.CACHE_DIR or "")

"""The command line of acc-cache."""

import json
import os
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from accnn.compiler.cli.acc_cache import app
from accnn.compiler.stores.store import Store, default_folder, digest_of


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACCNN_CACHE", str(tmp_path))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def keep(days: float) -> Path:
    """Write an entry that was used some days ago."""
    store, key, then = Store(default_folder()), digest_of(str(days)), time.time() - days * 86400
    store.write(key, ".json", bytes(600))
    os.utime(store.path(key, ".json"), (then, then))
    return store.path(key, ".json")


def test_info_tells_folder_limit_and_kinds(base: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACCNN_CACHE_LIMIT", "1M")
    keep(1)
    keep(2)

    assert run("info").stdout.split("\n")[:4] == [
        f"{base}, at most 1.05 MB of answers",
        "kind        entries     size",
        "loop nests        2  1.20 kB",
        "all               2  1.20 kB",
    ]
    assert json.loads(run("info", "--json").stdout) == {
        "folder": str(base),
        "limit_bytes": 1024**2,
        "entries": 2,
        "bytes": 1200,
        "kinds": [{"kind": "loop nests", "entries": 2, "bytes": 1200}],
    }


def test_clear_deletes_all(base: Path):
    path = keep(1)

    done = run("clear")

    assert (done.exit_code, done.stdout) == (0, f"{base}: 1 file deleted, 600 B\n")
    assert not path.exists()
    assert run("clear").stdout == f"{base}: 0 files deleted, 0 B\n"


def test_clear_deletes_what_was_not_used_for_long():
    older, newer = keep(3), keep(1)

    assert run("clear", "--older-than", "2").exit_code == 0

    assert (older.exists(), newer.exists()) == (False, True)


@pytest.mark.parametrize("days", ["-1", "nan", "inf"])
def test_a_number_of_days_is_checked(days: str):
    path = keep(1)

    done = run("clear", "--older-than", days)

    assert done.exit_code == 2
    assert f"acc-cache: error: --older-than {float(days)}: not a number of days" in done.stderr
    assert path.exists()


def test_a_limit_that_is_none_is_told_before_any_work(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACCNN_CACHE_LIMIT", "much")

    done = run("info")

    assert done.exit_code == 2
    assert "$ACCNN_CACHE_LIMIT much: not a number of bytes" in done.stderr

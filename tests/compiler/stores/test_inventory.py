"""What lies in the cache: nothing of others is deleted, and what was used last is kept."""

import os
from pathlib import Path

import pytest

from accnn.compiler.stores.inventory import (
    DEFAULT_LIMIT,
    EntryKind,
    cache_entries,
    cache_limit,
    delete,
    keep_within,
    limited,
)
from accnn.compiler.stores.store import Store, default_folder, digest_of
from accnn.ir.cache_folder import cache_folder
from accnn.ir.compiled import machine_code_folder
from accnn.ir.errors import OptionError

FOREIGN = ("notes.txt", "mappings/ab/notes.json", "mappings/ab.json", "mappings/ab/x.tmp.d")


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACCNN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fill(count: int = 4, suffix: str = ".json", size: int = 10) -> Store:
    """Write entries that were used one second after the other."""
    store = Store(default_folder())
    for number in range(count):
        key = digest_of(str(number))
        store.write(key, suffix, bytes(size))
        os.utime(store.path(key, suffix), (number, number))
    return store


def there(store: Store, count: int = 4, suffix: str = ".json") -> list[int]:
    return [
        number for number in range(count) if store.path(digest_of(str(number)), suffix).exists()
    ]


def test_all_that_is_kept_lies_below_one_folder(base: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    assert cache_folder() == base
    assert default_folder().parent == base
    assert machine_code_folder(Path(__file__).parent).parent == base


def test_the_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ACCNN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "accnn"

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert cache_folder() == tmp_path / "me/.cache/accnn"


def test_every_kind_is_told_and_what_is_foreign_is_not(base: Path):
    for suffix in (".json", ".pass", ".pass.json", ".choice.json", ".quantised"):
        fill(1, suffix)
    (base / "mappings/cd").mkdir()
    (base / "numba-0/deep").mkdir(parents=True)
    for name in ("mappings/cd/tmp0a_b.tmp", "numba-0/deep/code.nbi"):
        (base / name).write_bytes(b"12")
    for name in FOREIGN:
        (base / name).parent.mkdir(exist_ok=True)
        (base / name).write_bytes(b"3")

    found = cache_entries()

    assert {entry.kind for entry in found} == set(EntryKind)
    assert sorted(entry.bytes for entry in found) == [2, 2, 10, 10, 10, 10, 10]
    assert set(delete(found)) == set(found)
    assert sorted(str(path.relative_to(base)) for path in base.rglob("*") if path.is_file()) == (
        sorted(FOREIGN)
    )
    assert not (base / "mappings/cd").exists()


def test_an_absent_folder_is_empty():
    assert cache_entries() == ()


@pytest.mark.parametrize(("limit", "kept"), [(40, [0, 1, 2, 3]), (39, [1, 2, 3]), (0, [])])
def test_what_was_not_used_for_longest_goes_first(limit: int, kept: list[int]):
    store = fill()

    keep_within(default_folder(), limit)

    assert there(store) == kept


def test_to_read_is_to_use():
    store = fill()
    assert store.read(digest_of("0"), ".json") is not None

    keep_within(default_folder(), 20)

    assert there(store) == [0, 3]


def test_the_limit_is_kept_after_use(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACCNN_CACHE_LIMIT", "20")
    with limited(default_folder()):
        store = fill()
        assert there(store) == [0, 1, 2, 3]

    assert there(store) == [2, 3]


def test_the_limit_is_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch):
    assert cache_limit() == DEFAULT_LIMIT
    monkeypatch.setenv("ACCNN_CACHE_LIMIT", "2G")
    assert cache_limit() == 2 * 1024**3
    monkeypatch.setenv("ACCNN_CACHE_LIMIT", "much")
    with pytest.raises(OptionError, match=r"\$ACCNN_CACHE_LIMIT much: not a number of bytes"):
        cache_limit()

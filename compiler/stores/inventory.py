"""What lies in the cache, how much of it may, and what goes first."""

import os
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ...ir.cache_folder import cache_folder
from ..sizes import parse_bytes
from .store import ANSWERS

LIMIT = "ACCNN_CACHE_LIMIT"
"""Environment variable with the bytes that answers may take."""

DEFAULT_LIMIT = 4 * 1024**3
"""Of all answers [byte]."""


class EntryKind(StrEnum):
    """What an entry is; the order is that of a list for people."""

    NEST = "loop nests"
    PASS = "results of passes"
    NETWORK = "quantised networks"
    PARTIAL = "unfinished"
    CODE = "machine code"


_ANSWER = re.compile(r"[0-9a-f]{62}(?P<suffix>(?:\.[a-z]+)+)|tmp\w+(?P<partial>\.tmp)")
_KINDS = {
    ".json": EntryKind.NEST,
    ".pass": EntryKind.PASS,
    ".pass.json": EntryKind.PASS,  # of earlier versions
    ".choice.json": EntryKind.PASS,
    ".quantised": EntryKind.NETWORK,
    ".tmp": EntryKind.PARTIAL,
}
_CODE = "numba-*/**/*"


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A file of the cache.

    Attributes:
        path: The file.
        kind: What it is.
        bytes: Its size.
        used: When it was written or read, in seconds since 1970.
    """

    path: Path
    kind: EntryKind
    bytes: int
    used: float


def cache_limit() -> int:
    """Return the bytes that answers may take: ``$ACCNN_CACHE_LIMIT``, or 4 GiB.

    Raises:
        OptionError: The variable is no number of bytes.
    """
    text = os.environ.get(LIMIT)
    return parse_bytes(text, f"${LIMIT}") if text else DEFAULT_LIMIT


def cache_entries() -> tuple[CacheEntry, ...]:
    """Return all files that accnn keeps in the user's folder, those used first at first.

    Files that it did not write are none of them.
    """
    base = cache_folder()
    others = (_entry(path, EntryKind.CODE) for path in base.glob(_CODE))
    return _by_use((*_answers(base / ANSWERS), *others))


def delete(entries: Iterable[CacheEntry]) -> tuple[CacheEntry, ...]:
    """Delete files, and the folders that are empty then; return what is gone."""
    gone = tuple(entry for entry in entries if _unlinked(entry.path))
    for folder in sorted({entry.path.parent for entry in gone}, reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    return gone


@contextmanager
def limited(folder: Path | None) -> Generator[None]:
    """Keep answers within their limit once they were used.

    Args:
        folder: Of answers; ``None`` where none are kept.

    Raises:
        OptionError: The limit is no number of bytes.
    """
    limit = cache_limit()
    yield
    if folder is not None:
        keep_within(folder, limit)


def keep_within(folder: Path, limit: int) -> None:
    """Delete the answers that were not used for longest where all take more than they may.

    Args:
        folder: Of answers.
        limit: For all of them [byte].
    """
    found = [item for item in _by_use(_answers(folder)) if item.kind is not EntryKind.PARTIAL]
    excess = sum(entry.bytes for entry in found) - limit
    for entry in found:
        if excess <= 0:
            return
        _unlinked(entry.path)
        excess -= entry.bytes


def _answers(folder: Path) -> Iterator[CacheEntry | None]:
    for path in folder.glob("??/*"):
        name = _ANSWER.fullmatch(path.name)
        kind = _KINDS.get(name["suffix"] or name["partial"]) if name else None
        if kind is not None:
            yield _entry(path, kind)


def _entry(path: Path, kind: EntryKind) -> CacheEntry | None:
    """Return a file as an entry; ``None`` for a folder, and where another process was faster."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return CacheEntry(path, kind, stat.st_size, stat.st_mtime) if path.is_file() else None


def _by_use(entries: Iterable[CacheEntry | None]) -> tuple[CacheEntry, ...]:
    there = (entry for entry in entries if entry is not None)
    return tuple(sorted(there, key=lambda entry: (entry.used, entry.path)))


def _unlinked(path: Path) -> bool:
    """Delete a file and return whether that could be done."""
    try:
        path.unlink()
    except OSError:
        return False
    return True

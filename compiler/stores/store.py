"""Answers on disk, addressed by everything that they depend on.

A key is the digest of a question and of the code that answers it. Whoever changes any of these asks
another key; nothing is ever invalidated. An entry that cannot be read counts as absent, and a
folder that cannot be written to is no error.
"""

import hashlib
import importlib.metadata
import importlib.util
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...ir.cache_folder import cache_folder

_LOG = logging.getLogger(__name__)
_ROOT = Path(__file__).parents[2]


ANSWERS = "mappings"
"""The folder of answers in the user's cache."""


def default_folder() -> Path:
    """Return the user's folder of answers."""
    return cache_folder() / ANSWERS


def digest_of(*parts: str) -> str:
    """Return the digest of a question that is given in parts."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def code_version(deciding: tuple[str, ...], packages: tuple[str, ...]) -> str:
    """Return the digest of code that decides on answers.

    Args:
        deciding: Files and folders of accnn, relative to its root.
        packages: Installed packages whose releases count.
    """
    digest = hashlib.sha256()
    for path in sorted(_files(deciding)):
        digest.update(str(path.relative_to(_ROOT)).encode())
        digest.update(path.read_bytes())
    for package in packages:
        digest.update(f"{package}={importlib.metadata.version(package)}".encode())
    return digest.hexdigest()


@cache
def package_version(name: str) -> str:
    """Return the digest of the code of another package, or of a module that is none.

    Args:
        name: What is imported, without dots.
    """
    digest = hashlib.sha256(name.encode())
    for path in _files_of_package(name):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _files_of_package(name: str) -> list[Path]:
    """Return the sources of what is imported, or could be; a script that runs has no spec."""
    if name in sys.modules:
        found: object = sys.modules[name]
        folders, file = getattr(found, "__path__", None), getattr(found, "__file__", None)
    else:
        spec = importlib.util.find_spec(name)
        folders, file = (spec.submodule_search_locations, spec.origin) if spec else (None, None)
    if folders:
        return sorted(path for folder in folders for path in Path(folder).rglob("*.py"))
    return [] if file is None else [Path(file)]


def _files(names: tuple[str, ...]) -> Iterator[Path]:
    for name in names:
        path = _ROOT / name
        yield from path.rglob("*.py") if path.is_dir() else (path,)


@dataclass(frozen=True, slots=True)
class Store:
    """Entries in files of one folder; the suffix tells what kind of answer a file is."""

    folder: Path

    def path(self, key: str, suffix: str) -> Path:
        """Return the file of an entry."""
        return self.folder / key[:2] / f"{key[2:]}{suffix}"

    def read(self, key: str, suffix: str) -> bytes | None:
        """Return an entry, ``None`` where there is none that can be read."""
        path = self.path(key, suffix)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self.refuse(key, suffix, error)
            return None
        with suppress(OSError):
            os.utime(path)  # what was used last is deleted last
        return content

    def refuse(self, key: str, suffix: str, error: Exception) -> None:
        """Tell that an entry is damaged and will be replaced.

        Args:
            key: Digest of the question.
            suffix: What kind of answer it is.
            error: What is wrong with it.
        """
        _LOG.warning("%s: %s; solving anew", self.path(key, suffix), error)

    def write(self, key: str, suffix: str, content: bytes) -> None:
        """Store an entry, whole or not at all.

        Args:
            key: Digest of the question.
            suffix: What kind of answer it is.
            content: The answer.
        """
        path = self.path(key, suffix)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(name).replace(path)
        except OSError as error:
            _LOG.warning("cannot store an answer: %s", error)

    def keep_newest(self, suffix: str, count: int) -> None:
        """Delete all entries of a kind but those that were used last.

        Args:
            suffix: The kind.
            count: How many are kept.
        """
        try:
            found = sorted(self.folder.glob(f"??/*{suffix}"), key=lambda item: item.stat().st_mtime)
            for path in found[: max(0, len(found) - count)]:
                path.unlink(missing_ok=True)
        except OSError as error:
            _LOG.warning("cannot delete an answer: %s", error)

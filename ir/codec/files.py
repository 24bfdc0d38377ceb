"""Write a file so that it is there whole or not at all."""

import csv
import os
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import OptionError


def check_writable(path: Path) -> None:
    """Check, before any work, that a file may be written there.

    Raises:
        OptionError: It is a folder, or its own folder is missing.
    """
    if path.is_dir():
        raise OptionError(f"cannot write {path}: it is a folder")
    if not path.absolute().parent.is_dir():
        raise OptionError(f"cannot write {path}: {path.parent} is not a folder")


@contextmanager
def replacing(path: Path) -> Generator[Path, None, None]:
    """Give the path of an empty file beside ``path`` that takes its place if all goes well.

    Devices and pipes are written as they are.

    Raises:
        OptionError: The folder is missing, or the disk refuses.
    """
    check_writable(path)
    is_device = path.exists() and not path.is_file()
    try:
        partial = path if is_device else _beside(path)
        try:
            yield partial
            if not is_device:
                partial.chmod(0o666 & ~_umask())
                partial.replace(path)
        finally:
            if not is_device:
                partial.unlink(missing_ok=True)
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror}") from error


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows of equal columns as CSV with a heading.

    Raises:
        OptionError: The file cannot be written.
    """
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _beside(path: Path) -> Path:
    """Return a new file in the folder of ``path``."""
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    os.close(handle)
    return Path(name)


def _umask() -> int:
    """Return the process's file mode mask (reading it means setting it twice)."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask

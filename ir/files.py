"""Write a file so that it is there whole or not at all."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from .errors import OptionError


@contextmanager
def replacing(path: Path) -> Generator[Path, None, None]:
    """Give the path of an empty file beside ``path`` that takes its place if all goes well.

    Raises:
        OptionError: The folder is missing, or the disk refuses.
    """
    if path.is_dir():
        raise OptionError(f"cannot write {path}: it is a folder")
    if path.exists() and not path.is_file():  # a device or a pipe is written as it is
        yield path
        return
    try:
        handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror}") from error
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        partial.chmod(0o644)
        partial.replace(path)
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)

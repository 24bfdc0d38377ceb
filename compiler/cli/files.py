"""Write single files so that they are there whole or not at all."""

import os
import tempfile
from pathlib import Path

from ...ir.errors import OptionError


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically.

    Raises:
        OptionError: The folder does not exist, the path is one, or the disk refuses.
    """
    if not path.absolute().parent.is_dir():
        raise OptionError(f"cannot write {path}: {path.parent} is not a folder")
    if path.is_dir():
        raise OptionError(f"cannot write {path}: it is a folder")
    try:
        _replace(path, content)
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror}") from error


def _replace(path: Path, content: bytes) -> None:
    """Write beside the target, then put it in the target's place."""
    with tempfile.NamedTemporaryFile(
        dir=path.absolute().parent, prefix=f".{path.name}.", delete=False
    ) as file:
        partial = Path(file.name)
        try:
            file.write(content)
            file.close()
            partial.chmod(0o666 & ~_umask())
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def _umask() -> int:
    """Return the process's file mode mask (reading it means setting it twice)."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask

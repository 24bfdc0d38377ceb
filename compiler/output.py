"""Write the folder of results so that it is there whole or not at all."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from ..ir.errors import OptionError

MARKER = "report.json"
"""A folder with this file is ours and may be replaced."""


def check_target(folder: Path) -> None:
    """Check, before any work, that results may be written there.

    Raises:
        OptionError: The parent is missing, or the folder holds something else.
    """
    if not folder.absolute().parent.is_dir():
        raise OptionError(f"cannot write {folder}: {folder.absolute().parent} is not a folder")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise OptionError(f"cannot write {folder}: it exists and is not a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).is_file():
        raise OptionError(
            f"will not overwrite {folder}: it is not empty and holds no {MARKER}",
            hint="choose another folder with -o",
        )


def write_folder(folder: Path, files: Mapping[str, Callable[[Path], None]]) -> None:
    """Write files to a new folder beside the target, then put it in the target's place.

    Args:
        folder: The target.
        files: How to write each file, by its name.

    Raises:
        OptionError: The disk refuses.
    """
    check_target(folder)
    try:
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
        try:
            for name, write in files.items():
                write(partial / name)
            partial.chmod(0o755)
            if folder.exists():
                shutil.rmtree(folder)
            partial.rename(folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    except OSError as error:
        raise OptionError(f"cannot write {folder}: {error.strerror}") from error

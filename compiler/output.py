"""Write the folder of results so that it is there whole or not at all."""

import errno
import glob
import json
import os
import platform
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, cast

from ..ir.errors import OptionError

MARKER = "report.json"
"""A folder with this file is ours and may be replaced, if it holds nothing else."""

OURS = frozenset(
    {
        "model.onnx",
        "module.ir",
        "program.acc",
        "program.asm",
        "report.html",
        MARKER,
        "trace.json",
    }
)
"""What a folder of results may hold."""


_TRIES = 100
"""How often results try to take the place of others."""

_TAKEN = (errno.ENOTEMPTY, errno.EEXIST)
"""What a system says of a folder that has become full."""


def check_target(folder: Path) -> None:
    """Check, before any work, that results may be written there.

    Raises:
        OptionError: The parent is missing, takes no files, or the folder holds something else.
    """
    parent = folder.absolute().parent
    if not parent.is_dir():
        raise OptionError(f"cannot write {folder}: {parent} is not a folder")
    if folder.resolve() == Path.cwd():
        raise OptionError(f"cannot write {folder}: it is the working folder")
    for _ in range(_TRIES):
        found = _identity(folder)
        try:
            _check_replaceable(folder, found)
            break
        except (OptionError, FileNotFoundError):
            if found is not None and _identity(folder) == found:
                raise  # else another run's results have just taken its place
    try:
        _new_folder(folder).rmdir()
    except OSError as error:
        raise OptionError(f"cannot write {folder}: {error.strerror}") from error


class _Identity(NamedTuple):
    """What another file or folder of the same name would not have; links are not followed."""

    number: int
    changed: int
    mode: int


def _identity(path: Path) -> _Identity | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return _Identity(found.st_ino, found.st_ctime_ns, found.st_mode)


def _check_replaceable(folder: Path, identity: _Identity | None) -> None:
    """Check that a folder is absent, empty, or one of results and nothing else."""
    if identity is not None and not stat.S_ISDIR(identity.mode):
        raise OptionError(f"cannot write {folder}: it exists and is not a folder")
    found = {item.name for item in folder.iterdir()} if folder.is_dir() else set[str]()
    if not found:
        return
    foreign = sorted(found - OURS)
    if MARKER not in found:
        reason = f"it is not empty and holds no {MARKER}"
    elif foreign:
        reason = f"it also holds {foreign[0]}, which is no result"
    elif not _is_report(folder / MARKER):
        reason = f"its {MARKER} is no report of accnn"
    elif not folder.stat().st_mode & stat.S_IWUSR:
        reason = "it is read-only"
    else:
        return
    raise OptionError(
        f"will not overwrite {folder}: {reason}", hint="choose another folder with -o"
    )


def _is_report(path: Path) -> bool:
    """Return whether a file is a report of any version, not just one of the same name."""
    try:
        found: object = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and {"schema_version", "model"} <= cast("set[str]", found.keys())


def write_folder(folder: Path, files: Mapping[str, Callable[[Path], None]]) -> None:
    """Write files to a new folder beside the target, then put it in the target's place.

    What runs left beside the target that were killed while they wrote is deleted.

    Args:
        folder: The target.
        files: How to write each file, by its name; all are among ``OURS``.

    Raises:
        OptionError: The disk refuses.
    """
    check_target(folder)
    try:
        partial = _new_folder(folder)
        try:
            for name, write in files.items():
                write(partial / name)
            partial.chmod(0o755)
            _take_place(partial, folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        _delete_leftovers(folder)
    except OSError as error:
        raise OptionError(f"cannot write {folder}: {error.strerror}") from error


def _new_folder(folder: Path) -> Path:
    """Return a new folder beside ``folder``, by whose name its process can be found."""
    prefix = f"{_prefix(folder)}{os.getpid()}."
    return Path(tempfile.mkdtemp(prefix=prefix, dir=folder.absolute().parent))


def _prefix(folder: Path) -> str:
    return f".{folder.absolute().name}.{platform.node()}."


def _delete_leftovers(folder: Path) -> None:
    """Delete the unfinished folders of processes that have ended on this machine."""
    prefix = _prefix(folder)
    for path in folder.absolute().parent.glob(f"{glob.escape(prefix)}*.*"):
        owner = path.name.removeprefix(prefix).partition(".")[0]
        if owner.isdecimal() and not _is_running(int(owner)):
            shutil.rmtree(path, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _take_place(partial: Path, folder: Path) -> None:
    """Let ``partial`` become ``folder``; what was there is deleted once that has happened.

    Where another run's results come in between, these are what was there.

    Raises:
        OSError: The disk refuses, or other runs come in between again and again.
    """
    for _ in range(_TRIES):
        older = _new_folder(folder)
        try:
            is_aside = _is_moved(folder, older)
            try:
                partial.rename(folder)
            except BaseException as error:
                if isinstance(error, OSError) and error.errno in _TAKEN:
                    continue
                if is_aside:
                    older.rename(folder)
                raise
            return
        finally:
            shutil.rmtree(older, ignore_errors=True)
    raise OSError(errno.EBUSY, "other runs write it all the time")


def _is_moved(folder: Path, older: Path) -> bool:
    """Move a folder onto an empty one, if it is there."""
    try:
        folder.rename(older)
    except FileNotFoundError:
        return False
    return True

"""Functions that Numba compiles to machine code, and where that is kept.

Numba's file cache watches only the file of the function that it compiled: a helper in another file
could change unnoticed. So machine code is kept in a folder that is named after the digest of all
files in the folder of the function: beside them, or below the user's cache where that cannot be
written. What a compiled function calls therefore lies in its folder.
"""

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from numba import config, njit  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

from .cache_folder import cache_folder

_Function = TypeVar("_Function", bound=Callable[..., Any])
_ONLY_COMPILED: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def inner(function: _Function) -> _Function:
    """Compile a function that only compiled code calls, and that makes no arrays.

    It has no wrappers for Python, and does not count references: its callers hold all arrays. Half
    of the time of compilation would be spent on counting, and a good part of a run.
    """
    return njit(error_model="numpy", _nrt=False, **_ONLY_COMPILED)(function)  # pyright: ignore


def maker(function: _Function) -> _Function:
    """Compile a function that only compiled code calls, and that makes arrays.

    It says that it counts references: else it would do as its callers do.
    """
    return njit(error_model="numpy", _nrt=True, **_ONLY_COMPILED)(function)  # pyright: ignore


def small(function: _Function) -> _Function:
    """Compile a function into its callers: passing all arrays would take longer than its work."""
    return njit(inline="always", error_model="numpy")(function)  # pyright: ignore


def entry(function: _Function) -> _Function:
    """Compile a function that Python calls, and keep it on disk.

    One that takes long returns numbers only, and writes to arrays that it was given. While arrays
    are returned Python runs: it would raise there what a signal asks for meanwhile, such as Ctrl-C,
    and break off with a ``SystemError``, or crash.
    """
    before: str = config.CACHE_DIR  # pyright: ignore
    folder = machine_code_folder(Path(function.__code__.co_filename).parent)
    config.CACHE_DIR = str(folder)  # pyright: ignore[reportAttributeAccessIssue]
    try:
        return njit(cache=True, error_model="numpy")(function)  # pyright: ignore
    finally:
        config.CACHE_DIR = before  # pyright: ignore[reportAttributeAccessIssue]


@lru_cache
def kernel_digest(folder: Path) -> str:
    """Return a digest of the sources in a folder as they were when it was first asked for.

    How they are compiled takes part.
    """
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def machine_code_folder(folder: Path) -> Path:
    """Return where machine code of the functions of a folder is kept."""
    name = f"numba-{kernel_digest(folder)}"
    beside = folder / "__pycache__"
    is_writable = os.access(beside if beside.exists() else folder, os.W_OK)
    return (beside if is_writable else cache_folder()) / name

"""How functions of the kernel are compiled, and where the result is kept.

Numba's file cache watches only the file of the function that it compiled: a helper in another file
could change unnoticed. So machine code is kept in a folder that is named after the digest of all
sources of the kernel: beside them, or below the user's cache where that cannot be written.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import config, njit  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

from ......ir.cache_folder import cache_folder

_Function = TypeVar("_Function", bound=Callable[..., Any])
_HERE = Path(__file__).parent


def inner(function: _Function) -> _Function:
    """Compile a function that only compiled code calls: without wrappers for Python."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def outer(function: _Function) -> _Function:
    """Compile a function that Python calls."""
    return _compiled(function)


def _compiled(function: _Function, **options: bool) -> _Function:
    before: str = config.CACHE_DIR  # pyright: ignore
    config.CACHE_DIR = _FOLDER  # pyright: ignore[reportAttributeAccessIssue]
    try:
        return njit(cache=True, error_model="numpy", **options)(function)  # pyright: ignore
    finally:
        config.CACHE_DIR = before  # pyright: ignore[reportAttributeAccessIssue]


def kernel_digest() -> str:
    """Return the digest of all sources of the kernel."""
    digest = hashlib.sha256()
    for path in sorted(_HERE.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _folder() -> str:
    beside = _HERE / "__pycache__"
    if os.access(beside if beside.exists() else _HERE, os.W_OK):
        return str(beside / f"numba-{kernel_digest()}")
    return str(cache_folder() / f"numba-{kernel_digest()}")


_FOLDER = _folder()

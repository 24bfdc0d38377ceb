"""Numba's compiler, and a cache on disk that notices a change in any file of the kernel.

Numba's own cache watches only the file of the function that it compiled. Entry points call into
other files, so their entries carry a digest of all of them.
"""

# The stubs of Numba are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core.caching import FunctionCache

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _digest() -> str:
    """Return a digest of the files of the kernel."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


DIGEST = _digest()
"""Of the kernel's files when they were imported."""


class _WatchingCache(FunctionCache):
    """A cache whose entries are valid for one state of all files of the kernel."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), DIGEST)


_ONLY_COMPILED: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def inner(function: _Function) -> _Function:
    """Compile a function that only compiled code calls, and that makes no arrays.

    It has no wrappers for Python, and does not count references: its callers hold all arrays. Half
    of the time of compilation would be spent on counting, and a good part of a run.
    """
    return njit(error_model="numpy", _nrt=False, **_ONLY_COMPILED)(function)  # pyright: ignore


def maker(function: _Function) -> _Function:
    """Compile a function that only compiled code calls, and that makes arrays."""
    return njit(error_model="numpy", _nrt=True, **_ONLY_COMPILED)(function)  # pyright: ignore


def small(function: _Function) -> _Function:
    """Compile a function into its callers: passing all arrays would take longer than its work."""
    return njit(inline="always", error_model="numpy")(function)  # pyright: ignore


def entry(function: _Function) -> _Function:
    """Compile a function that Python calls, and keep it on disk."""
    dispatcher: Any = njit(error_model="numpy")(function)
    dispatcher._cache = _WatchingCache(function)
    return dispatcher

"""How the functions of the mesh are compiled."""

# The stubs of Numba are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeStubs=false

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core.caching import FunctionCache

_Function = TypeVar("_Function", bound=Callable[..., Any])
_FILES = sorted(Path(__file__).parent.glob("*.py"))
_DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in _FILES)).hexdigest()


class _OfAllFiles(FunctionCache):
    """A cache whose entries are valid for one state of all files of this folder."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), _DIGEST)


def inner(function: _Function) -> _Function:
    """Compile a function that only compiled code calls; its callers hold all arrays.

    To count references to them would take most of the time.
    """
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(error_model="numpy", _nrt=False, **options)(function)  # pyright: ignore


def entry(function: _Function) -> _Function:
    """Compile a function that Python calls, and keep it on disk."""
    options: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
    dispatcher: Any = njit(**options)(function)  # pyright: ignore
    dispatcher._cache = _OfAllFiles(function)
    return dispatcher

"""accnn: a compiler for DNN accelerators that proves every program by running it.

::

    result = accnn.compile("resnet50.onnx", arch="simba.toml")
    accnn.write_results(result, Path("resnet50.acc"))

Names are imported when they are first used, so that ``import accnn`` is cheap.
"""

import importlib
import os

# Else onnxruntime writes a device id below ~/.cache; see docs/third-party.md.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


TYPE_CHECKING = False
"""True for type checkers; importing ``typing`` would take longer than all the rest."""

if TYPE_CHECKING:
    from .compiler.artifacts import write_results
    from .compiler.driver import Result, compile
    from .compiler.explain.explaining import explain
    from .compiler.options import CompileOptions, VerifyMode
    from .ir.errors import AccnnError

__all__ = [
    "AccnnError",
    "CompileOptions",
    "Result",
    "VerifyMode",
    "compile",
    "explain",
    "write_results",
]

_HOMES = {
    "AccnnError": "ir.errors",
    "CompileOptions": "compiler.options",
    "Result": "compiler.driver",
    "VerifyMode": "compiler.options",
    "compile": "compiler.driver",
    "explain": "compiler.explain.explaining",
    "write_results": "compiler.artifacts",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a public name from the module that defines it."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *__all__})

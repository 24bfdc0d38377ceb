"""Make changes, one per process, and print what their proofs say, one line of JSON each.

    python -m tests.end_to_end.changes.run

Every proof is also tried on the house as it is, where it must not hold.
"""

import json
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from tests.end_to_end.changes.catalogue import CHANGES
from tests.end_to_end.changes.change import Change

_HEAVY = (
    "highspy",
    "hypothesis",
    "jinja2",
    "lark",
    "mip",
    "numba",
    "onnx",
    "onnxruntime.quantization",
    "pydantic.json_schema",
    "rich.console",
    "safetensors.numpy",
    "threadpoolctl",
    "typer",
)
"""Imported once, for all processes."""


def _objection(change: Change) -> str | None:
    """Return what a proof objects to, ``None`` if nothing."""
    try:
        change.proof()
    except Exception:  # whatever is missing shows itself in its own way
        return traceback.format_exc()
    return None


def _apart(changes: Sequence[Change], *, is_made: bool) -> None:
    """Prove changes in a process of their own, and print what the proofs say."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    for change in changes:
        if is_made:
            change.make()
        said = _objection(change)
        line = {"row": change.row, "is_made": is_made, "said": said}
        os.write(1, (json.dumps(line) + "\n").encode())
    os._exit(0)


def main() -> None:
    """Prove every change, and that it is one."""
    for name in _HEAVY:
        import_module(name)
    for change in CHANGES:
        _apart([change], is_made=True)
    _apart(CHANGES, is_made=False)


if __name__ == "__main__":
    main()

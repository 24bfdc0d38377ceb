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
    "pytest",
    "rich.console",
    "safetensors.numpy",
    "threadpoolctl",
    "typer",
)
"""Imported once, for all processes."""


def _objection(change: Change, *, is_made: bool) -> str | None:
    """Return what a proof objects to, or why a change cannot be made; ``None`` if nothing."""
    try:
        if is_made:
            change.make()
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
        said = _objection(change, is_made=is_made)
        line = {"row": change.row, "is_made": is_made, "said": said}
        os.write(1, (json.dumps(line) + "\n").encode())
    os._exit(0)  # leaving in the usual way waits for threads that a forked process does not have


def main() -> None:
    """Prove every change, and that it is one."""
    for name in _HEAVY:
        import_module(name)
    for change in CHANGES:
        _apart([change], is_made=True)
    _apart(CHANGES, is_made=False)


if __name__ == "__main__":
    main()

"""Commands and the processes that map operators look for garbage rarely."""

import subprocess
import sys

import pytest

_COMMAND = """
import sys
from accnn.compiler.cli import start
sys.argv = ["acc-cache", "--help"]
try:
    start.acc_cache()
except SystemExit:
    pass
"""
_WORKER = """
import io, os, sys
from accnn.compiler.mapping import worker
sys.argv = ["worker", str(os.getppid())]
sys.stdin = io.TextIOWrapper(io.BytesIO())
worker.main()
sys.stdout = sys.stderr
"""


@pytest.mark.parametrize("code", [_COMMAND, _WORKER])
def test_looks_for_garbage_rarely(code: str) -> None:
    assert every(code) > 10 * every("")


def every(code: str) -> int:
    """Return how many new values a process of its own makes between two looks, after some code."""
    code = f"import gc, sys\n{code}\nprint('every', gc.get_threshold()[0], file=sys.stderr)"
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    return int(done.stderr.split("every")[-1])

"""Commands and the processes that map operators look for garbage rarely."""

import gc
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
    code += "print('every', gc.get_threshold()[0], file=sys.stderr)"

    done = subprocess.run(
        (sys.executable, "-c", "import gc\n" + code), capture_output=True, text=True, check=True
    )

    assert int(done.stderr.split("every")[-1]) > 10 * gc.get_threshold()[0]

"""A worker does not outlive whoever started it."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from accnn.compiler.mapping.process import WorkerProcess
from tests.questions import Sleeper

ASK = """
from accnn.compiler.mapping.process import WorkerProcess
from tests.questions import Sleeper

worker = WorkerProcess()
print(worker.pid, flush=True)
worker.ask(Sleeper({seconds}))
"""


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with suppress(OSError):  # ended, not yet waited for
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


def wait_until_gone(pid: int) -> bool:
    for _ in range(100):
        if not is_there(pid):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("seconds", [1, 600])
def test_a_worker_ends_quietly_with_a_parent_that_is_terminated(seconds: int) -> None:
    code = ASK.format(seconds=seconds)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stderr is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGTERM)
        gone = wait_until_gone(pid)
        if not gone:
            os.kill(pid, signal.SIGKILL)
        said = parent.stderr.read()

    assert gone
    assert said == ""


def test_a_worker_answers_while_its_parent_is_there() -> None:
    worker = WorkerProcess()
    try:
        assert worker.ask(Sleeper(0.5)) == 0
    finally:
        worker.stop()

"""One process that answers questions: pickled questions go in, pickled answers come out.

A question is any value with a method ``answer()``; see :mod:`.worker`.
"""

import os
import pickle
import subprocess
import sys
from contextlib import suppress
from typing import Any

_COMMAND = (sys.executable, "-P", "-m", f"{__package__}.worker")


class ProcessDied(Exception):  # noqa: N818 - said of the process
    """A process ended before it had answered."""


class WorkerProcess:
    """A process of its own, started at once; it answers questions in their order."""

    def __init__(self) -> None:
        path = os.pathsep.join(item for item in sys.path if item)
        self._process = subprocess.Popen(
            (*_COMMAND, str(os.getpid())),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def ask(self, question: object) -> Any:
        """Return what the question's ``answer()`` returns there.

        Raises:
            ProcessDied: The process ended, or what it sent is no answer.
        """
        self.send(question)
        return self.receive()

    def send(self, question: object) -> None:
        """Put a question behind those that the process has; few fit before this waits.

        Raises:
            ProcessDied: The process ended.
        """
        assert self._process.stdin is not None
        text = pickle.dumps(question)
        try:
            self._process.stdin.write(text)
            self._process.stdin.flush()
        except OSError as error:
            raise ProcessDied(str(error)) from error

    def receive(self) -> Any:
        """Wait for the answer to the first question that has none.

        Raises:
            ProcessDied: The process ended, or what it sent is no answer.
        """
        assert self._process.stdout is not None
        try:
            return pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise ProcessDied(str(error)) from error

    def interrupt(self) -> None:
        """End the process now; whoever waits for its answer learns that it died."""
        self._process.kill()

    def stop(self) -> None:
        """End the process, also at work, and give back what it holds."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None and not stream.closed:
                with suppress(BrokenPipeError):  # what was not yet sent has no reader now
                    stream.close()

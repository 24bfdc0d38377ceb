"""Do in a child process what a library may crash on, so that its crash is a message.

Parsing, checking and running a file that nobody knows is the work of native code. Where that ends
its process, the process is a copy of this one, made for it, and nothing is lost.
"""

import faulthandler
import gc
import os
import pickle
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..ir.errors import ModelError

T = TypeVar("T")

_PATIENCE = 300
"""Seconds after which a copy is given up: a lock that another thread holds stays locked in it."""

_STANDSTILL = 60
"""Seconds in which a copy that has something to do cannot but have computed."""


def crash_of(action: Callable[[], object], patience: int = _PATIENCE) -> str | None:
    """Return the name of the signal that an action ends a copy of this process with, if any.

    What it returns or raises is of no interest; who wants that runs it once more. Where processes
    cannot be copied nothing is tried, and what takes too long tells nothing.

    Args:
        action: What is tried.
        patience: How long it may take [s].
    """
    if not hasattr(os, "fork"):
        return None
    child = _fork()
    if not child:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(patience)
            action()
        finally:
            os._exit(0)
    ended = _end_of(child)
    return None if ended in (None, signal.SIGALRM) else signal.Signals(ended).name


def result_of(action: Callable[[], T], what: str, standstill: float = _STANDSTILL) -> T:
    """Return what an action returns in a copy of this process.

    Where it raises there, or its copy stands still, it is done here. So it is on systems where
    nobody can tell whether a copy stands still.

    Args:
        action: What is done; its result can be pickled.
        what: What that is, for the message: "onnxruntime ends with SIGSEGV when it is to ...".
        standstill: How long a copy may not compute [s].

    Raises:
        ModelError: A signal ended the copy.
    """
    if sys.platform != "linux":
        return action()
    reader, writer = os.pipe()
    here = os.getpid()
    child = _fork()
    if not child:
        try:
            threading.Thread(target=end_with, args=(here, 1.0), daemon=True).start()
            with os.fdopen(writer, "wb") as stream:
                stream.write(pickle.dumps(action()))
        finally:
            os._exit(0)
    os.close(writer)
    try:
        content = _read(reader, child, standstill)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(reader)
        ended = _end_of(child)
    if content is None or (not content and ended is None):
        return action()
    if ended is not None:
        name = signal.Signals(ended).name
        raise ModelError(f"onnxruntime ends with {name} when it is to {what}")
    return pickle.loads(content)


def end_with(parent: int, pause: float) -> None:
    """End this process once the one that made it is gone, also in the midst of its work.

    A parent that is ended from outside cannot end its children.

    Args:
        parent: The process that made this one.
        pause: Between two looks at whether it is there [s].
    """
    while os.getppid() == parent:
        time.sleep(pause)
    os._exit(1)


def _read(reader: int, child: int, standstill: float) -> bytes | None:
    """Return all that a child writes; of one that stands still, which is killed, ``None``."""
    parts: list[bytes] = []
    spent = -1
    while True:
        ready, _, _ = select.select([reader], [], [], standstill)
        if ready:
            part = os.read(reader, 1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)
            continue
        before, spent = spent, _ticks_of(child)
        if spent == before:
            os.kill(child, signal.SIGKILL)
            return None


def _ticks_of(process: int) -> int:
    """Return how long a process has computed, all its threads together [clock tick]."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)


def _fork() -> int:
    """Return the number of a copy of this process; 0 in the copy.

    There a crash ends it by the signal that it is. CBC, once used, would end it by another one.
    """
    with warnings.catch_warnings(action="ignore"):  # of threads: the copy uses none of theirs
        child = os.fork()
    if not child:
        gc.freeze()  # what is garbage may wait for threads that only the parent has
        faulthandler.disable()  # what it would put back is not the default
        for crash in _CRASHES:
            signal.signal(crash, signal.SIG_DFL)
    return child


def _end_of(child: int) -> int | None:
    """Wait for a process, and return the signal that ended it, if any."""
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else None

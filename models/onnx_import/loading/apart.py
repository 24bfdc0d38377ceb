"""Try in a child process what a library may crash on, so that its crash is a message.

Parsing and checking a file that nobody knows is the work of native code. Where that ends its
process, the process is a copy of this one, made for it, and nothing is lost.
"""

import os
import signal
import warnings
from collections.abc import Callable

_PATIENCE = 300
"""Seconds after which a copy is given up: a lock that another thread holds stays locked in it."""


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
    with warnings.catch_warnings(action="ignore"):  # of threads: the copy uses none of theirs
        child = os.fork()
    if not child:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(patience)
            action()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    return None if ended in (None, signal.SIGALRM) else signal.Signals(ended).name

"""Try in a child process what a library may crash on, so that its crash is a message.

Parsing and checking a file that nobody knows is the work of native code. Where that ends its
process, the process is a copy of this one, made for it, and nothing is lost.
"""

import os
import signal
import warnings
from collections.abc import Callable


def crash_of(action: Callable[[], object]) -> str | None:
    """Return the name of the signal that an action ends a copy of this process with, if any.

    What it returns or raises is of no interest; who wants that runs it once more. Where processes
    cannot be copied nothing is tried.

    Args:
        action: What is tried.
    """
    if not hasattr(os, "fork"):
        return None
    with warnings.catch_warnings(action="ignore"):  # of threads: the copy uses none of theirs
        child = os.fork()
    if not child:
        try:
            action()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else None

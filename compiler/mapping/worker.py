"""A process that answers questions to mappers: pickled jobs on stdin, pickled answers on stdout.

``multiprocessing`` would import the user's main module into every worker, which breaks scripts
that call :func:`accnn.compile` at their top level; this process imports nothing but accnn.
"""

import os
import pickle
import signal
import sys
import threading
from contextlib import suppress

from ...models.apart import end_with
from ..garbage import collect_rarely

_LOOK_EVERY = 0.2
"""Between two looks at whether the parent is there [s]."""


def main() -> None:
    """Answer until stdin ends or the parent does. What libraries print goes to stderr.

    The one argument is the parent's number.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    collect_rarely()
    threading.Thread(target=end_with, args=(int(sys.argv[1]), _LOOK_EVERY), daemon=True).start()
    with suppress(BrokenPipeError):  # nobody reads the answer any more
        _answer_all()


def _answer_all() -> None:
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        while True:
            try:
                job = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            try:
                pickle.dump(job.answer(), answers)
                answers.flush()
            except BrokenPipeError:  # nobody waits any more
                os._exit(0)  # what is left in the buffer could not be written either


if __name__ == "__main__":
    main()

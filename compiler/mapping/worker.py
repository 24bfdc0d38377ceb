"""A process that answers questions to mappers: pickled jobs on stdin, pickled answers on stdout.

``multiprocessing`` would import the user's main module into every worker, which breaks scripts
that call :func:`accnn.compile` at their top level; this process imports nothing but accnn.
"""

import os
import pickle
import signal
import sys


def main() -> None:
    """Answer until stdin ends. What libraries print goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        while True:
            try:
                job = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            pickle.dump(job.answer(), answers)
            answers.flush()


if __name__ == "__main__":
    main()

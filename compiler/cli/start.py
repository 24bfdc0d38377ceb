"""Where the commands start: nothing is imported before an interrupt is taken care of.

Modules that take milliseconds are imported where they are needed, for until this one is there an
interrupt leaves a traceback.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

from ..garbage import collect_rarely
from .exit_codes import INTERRUPTED

_HELP_WIDTH = 80
"""Columns."""


def acc_cache() -> None:
    """Run the command line of ``acc-cache``."""
    with _interruptible("acc-cache"):
        _show_help("acc-cache")
        from .acc_cache import app

        app()


def acc_compare() -> None:
    """Run the command line of ``acc-compare``."""
    with _interruptible("acc-compare"):
        _show_help("acc-compare")
        from .acc_compare import app

        app()


def acc_compile() -> None:
    """Run the command line of ``acc-compile``."""
    with _interruptible("acc-compile"):
        _show_help("acc-compile")
        from .acc_compile import app

        app()


def acc_explore() -> None:
    """Run the command line of ``acc-explore``."""
    with _interruptible("acc-explore"):
        _show_help("acc-explore")
        from .acc_explore import app

        app()


def acc_map() -> None:
    """Run the command line of ``acc-map``."""
    with _interruptible("acc-map"):
        _show_help("acc-map")
        from .acc_map import app

        app()


def acc_opt() -> None:
    """Run the command line of ``acc-opt``."""
    with _interruptible("acc-opt"):
        _show_help("acc-opt")
        from .acc_opt import app

        app()


def acc_run() -> None:
    """Run the command line of ``acc-run``."""
    with _interruptible("acc-run"):
        _show_help("acc-run")
        from .acc_run import app

        app()


def acc_zoo() -> None:
    """Run the command line of ``acc-zoo``."""
    with _interruptible("acc-zoo"):
        _show_help("acc-zoo")
        from .acc_zoo import app

        app()


@contextmanager
def _interruptible(tool: str) -> Generator[None]:
    """End with one line where Ctrl-C comes while the tool is still being imported.

    Args:
        tool: Its name, for the line.
    """
    _open_output()
    collect_rarely()
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"{tool}: interrupted\n")
        sys.exit(INTERRUPTED)


def _show_help(tool: str) -> None:
    """Show the help of a tool and end, where that is all that is asked for.

    The texts lie beside this file, as the library that reads options writes them for terminals of
    that width and more; importing it takes several times as long.

    Args:
        tool: Its name; where it was called by another, the library shows that one.
    """
    if sys.argv[1:] != ["--help"] or sys.argv[0].rpartition(os.sep)[2] != tool:
        return
    import shutil
    from pathlib import Path

    if shutil.get_terminal_size().columns < _HELP_WIDTH:
        return
    path = Path(__file__).parent / "help" / f"{tool.replace('-', '_')}.txt"
    try:
        sys.stdout.write(path.read_text(encoding="utf-8"))
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left would fail again at the exit
        if isinstance(error, BrokenPipeError):
            sys.exit(1)
        sys.stderr.write(f"{tool}: error: cannot write the output: {error.strerror}\n")
        sys.exit(2)
    sys.exit(0)


def _open_output() -> None:
    """Let a closed standard output or error be one that takes everything.

    Else the next file that is opened would get its number, and what a library prints.
    """
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_WRONLY)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))

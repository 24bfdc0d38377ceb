"""Where the commands start: nothing is imported before an interrupt is taken care of."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

from .exit_codes import INTERRUPTED


def acc_compile() -> None:
    """Run the command line of ``acc-compile``."""
    with _interruptible("acc-compile"):
        from .acc_compile import app

        app()


def acc_map() -> None:
    """Run the command line of ``acc-map``."""
    with _interruptible("acc-map"):
        from .acc_map import app

        app()


def acc_opt() -> None:
    """Run the command line of ``acc-opt``."""
    with _interruptible("acc-opt"):
        from .acc_opt import app

        app()


def acc_run() -> None:
    """Run the command line of ``acc-run``."""
    with _interruptible("acc-run"):
        from .acc_run import app

        app()


def acc_zoo() -> None:
    """Run the command line of ``acc-zoo``."""
    with _interruptible("acc-zoo"):
        from .acc_zoo import app

        app()


@contextmanager
def _interruptible(tool: str) -> Generator[None]:
    """End with one line where Ctrl-C comes while the tool is still being imported."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"{tool}: interrupted\n")
        sys.exit(INTERRUPTED)

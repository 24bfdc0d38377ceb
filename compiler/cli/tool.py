"""What the command-line tools share: how they look, and how they end."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

import typer

from ...ir.errors import AccnnError, InputError
from .exit_codes import INTERRUPTED


def new_tool() -> typer.Typer:
    """Return a tool with plain help, to which one command is added."""
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@contextmanager
def reported(tool: str) -> Generator[None]:
    """Turn what ends a tool early into one message and an exit code.

    Defects of accnn itself keep their traceback.

    Args:
        tool: Its name, for the message.
    """
    try:
        yield
        sys.stdout.flush()
    except AccnnError as error:
        raise _ended(tool, f"error: {error}", error.exit_code) from error
    except MemoryError as error:
        raise _ended(tool, f"error: not enough memory: {error}", AccnnError.exit_code) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None or error.strerror is None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left would fail again at the exit
        message = f"error: cannot write the output: {error.strerror}"
        raise _ended(tool, message, InputError.exit_code) from error
    except KeyboardInterrupt as error:
        raise _ended(tool, "interrupted", INTERRUPTED) from error


def _ended(tool: str, message: str, code: int) -> typer.Exit:
    typer.echo(f"{tool}: {message}", err=True)
    return typer.Exit(code)

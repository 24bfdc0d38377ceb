"""What the command-line tools share: how they look, and how they end."""

import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand

from ...ir.errors import AccnnError, InputError
from .exit_codes import INTERRUPTED

_WORDS = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "it is no integer",
    "Input should be a valid number, unable to parse string as a number": "it is no number",
}
"""What the library says of values that do not fit an option, in words for users."""


_WORDS_TO_CHOOSE = re.compile(r"<(.*\|.*)>$")


class ToolCommand(TyperCommand):
    """A command whose help has one style, and whose messages have no words of libraries."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line: arguments in capitals, optional ones in brackets."""
        return ["[OPTIONS]", *(_usage_of(item) for item in self.params if _is_argument(item))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write what arguments and options are."""
        for title, wanted in (("Arguments", True), ("Options", False)):
            rows = [
                _help_of(item, ctx) for item in self.get_params(ctx) if _is_argument(item) is wanted
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the arguments that are left; see the base class."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = in_plain_words(error.message)
            raise


def _is_argument(parameter: Any) -> bool:
    return parameter.param_type_name == "argument"


def _usage_of(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper())
    return name if argument.required else f"[{name}]"


def _help_of(parameter: Any, ctx: Any) -> tuple[str, str]:
    """Return how a parameter is written, and what it is."""
    shown, text = parameter.get_help_record(ctx)
    if _is_argument(parameter):
        return parameter.metavar or parameter.name.upper(), text
    return _WORDS_TO_CHOOSE.sub(r"\1", shown), text


def in_plain_words(message: str) -> str:
    """Return what is wrong with a value of an option without words of libraries."""
    for old, new in _WORDS.items():
        message = message.replace(old, new)
    return message


def new_tool() -> typer.Typer:
    """Return a tool with plain help, to which one command is added."""
    return typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)


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

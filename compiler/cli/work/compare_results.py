"""Compare two folders of results."""

from pathlib import Path

import typer
from rich.console import Console

from ....ir.codec.files import replacing
from ....ir.codec.json_codec import dump_json
from ....ir.errors import AccnnError, InputError, OptionError
from ....ir.report import Report, from_json
from ...output import MARKER
from ...report.comparison import Comparison, compare
from ...report.comparison_table import comparison_tables

_FILE_WIDTH = 160
"""Columns of a table that goes to a file."""


def compare_results(
    first: Path, second: Path, *, shown: int, as_json: bool, page: Path | None = None
) -> None:
    """Print what differs between two compilations.

    Args:
        first: Folder of results, or its report.
        second: What it is compared with.
        shown: How many operators to show at most.
        as_json: Whether as JSON, with all operators.
        page: File to write a page to, with all operators.

    Raises:
        InputError: A report cannot be read.
        OptionError: The number of operators is negative, or the page cannot be written.
    """
    if shown < 0:
        raise OptionError(f"--operators {shown}: must be 0 or more")
    found = compare(_report(first), _report(second))
    if page is not None:
        _write_page(page, found)
    if as_json:
        typer.echo(dump_json(found), nl=False)
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH)
    console.print(comparison_tables(found, shown=shown, width=console.width))


def _write_page(path: Path, found: Comparison) -> None:
    from ...report.html import comparison_page

    with replacing(path) as partial:
        partial.write_text(comparison_page(found), encoding="utf-8")


def _report(given: Path) -> Report:
    path = given / MARKER if given.is_dir() else given
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror}", hint="give a folder that acc-compile wrote"
        ) from error
    except (AccnnError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no report of this accnn: {error}") from error

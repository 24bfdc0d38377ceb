"""``acc-compare``: tell two compilations apart, operator by operator."""

from pathlib import Path
from typing import Annotated

import typer

from .exit_codes import epilog
from .tool import ToolCommand, new_tool, reported
from .version import Version

app = new_tool()


@app.command(
    cls=ToolCommand, epilog=epilog("acc-compare before.acc after.acc"), no_args_is_help=True
)
def acc_compare(
    first: Annotated[
        Path, typer.Argument(metavar="A", help="Folder of results, or its report.json.")
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="What it is compared with.")],
    operators: Annotated[
        int, typer.Option(metavar="N", help="Operators to show, those that differ most first.")
    ] = 20,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all figures as JSON, and nothing else.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write both side by side as a page to look at, too."),
    ] = None,
    version: Version = False,
) -> None:
    """Compare two runs, machines or versions of a network: cycles, energy and bytes off chip.

    A ratio above one means that B takes more.
    """
    del version
    with reported("acc-compare"):
        from .work.compare_results import compare_results

        compare_results(first, second, shown=operators, as_json=as_json, page=html)

"""``acc-cache``: what is kept between compilations, and how to get rid of it."""

from typing import Annotated

import typer

from .exit_codes import epilog
from .tool import ToolCommand, new_tool, reported
from .version import Version

app = new_tool()

_EPILOG = epilog("acc-cache info", "acc-cache clear --older-than 30")


@app.callback(epilog=_EPILOG, no_args_is_help=True)
def acc_cache(version: Version = False) -> None:
    """Show or delete what is kept between compilations.

    It lies in $ACCNN_CACHE, else in accnn below $XDG_CACHE_HOME or ~/.cache. Answers take
    $ACCNN_CACHE_LIMIT bytes at most (e.g. 500M; 4G if not set): those that were not used for
    longest go first. All of it can be made again.
    """
    del version


@app.command(cls=ToolCommand, epilog=_EPILOG)
def info(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print it as JSON, and nothing else.")
    ] = False,
) -> None:
    """Show where the cache lies, what is in it and how much it may take."""
    with reported("acc-cache"):
        from .work.show_cache import show_cache

        show_cache(as_json=as_json)


@app.command(cls=ToolCommand, epilog=_EPILOG)
def clear(
    older_than: Annotated[
        float | None,
        typer.Option(metavar="DAYS", help="Only what was not used for so long; all if absent."),
    ] = None,
) -> None:
    """Delete what is in the cache; files that accnn did not write are left alone."""
    with reported("acc-cache"):
        from .work.show_cache import clear_cache

        clear_cache(older_than)

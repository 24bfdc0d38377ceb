"""``acc-explore``: compare many architectures on a set of networks."""

from pathlib import Path
from typing import Annotated

import typer

from .exit_codes import epilog
from .tool import ToolCommand, new_tool, reported
from .verbosity import Quiet, Verbose, chosen_verbosity
from .version import Version

app = new_tool()


@app.command(
    cls=ToolCommand,
    epilog=epilog("acc-explore study.toml", "acc-explore status study.toml"),
    no_args_is_help=True,
)
def acc_explore(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[ACTION] STUDY",
            help="A study file, and what is done: run, status, resume or report.",
        ),
    ],
    executor: Annotated[
        str,
        typer.Option(
            "--executor",
            metavar="WHERE",
            help="local, dask://host:8786, ray://host:10001 or ray://.",
        ),
    ] = "local",
    processes: Annotated[
        int, typer.Option(metavar="N", help="Processes of the local executor.")
    ] = 2,
    results: Annotated[
        str | None,
        typer.Option(
            "--results",
            metavar="FILE|URL",
            help="SQLite file or SQLAlchemy URL; STUDY.db if absent.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="The report; STUDY.html if absent."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Write a row per point and network."),
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option("--parquet", metavar="FILE", help="The same as Parquet; needs pyarrow."),
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Map everything anew.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    version: Version = False,
) -> None:
    """Compare many architectures on a set of networks.

    run begins a study or goes on with it, and is what happens if no word is given; resume goes on
    and tries again what timed out or died; status tells how far it is; report writes its results.
    """
    del version
    with reported("acc-explore"):
        verbosity = chosen_verbosity(quiet=quiet, verbose=verbose)
        from .work import explore as work

        work.explore(
            work.ExploreRequest(
                words=tuple(words),
                executor=executor,
                processes=processes,
                results=results,
                html=html,
                csv=csv,
                parquet=parquet,
                cached=not no_cache,
                verbosity=verbosity,
            )
        )

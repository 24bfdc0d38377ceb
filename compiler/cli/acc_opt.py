"""``acc-opt``: run passes on the text of a module."""

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
    epilog=epilog(
        "acc-opt --list-passes", "acc-opt net.acc/module.ir -p eliminate-dead,fold-layout"
    ),
    no_args_is_help=True,
)
def acc_opt(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Text of a module; - reads stdin.")
    ] = None,
    passes: Annotated[
        str | None,
        typer.Option(
            "--pipeline",
            "-p",
            metavar="TEXT|FILE",
            help="Passes, e.g. eliminate-dead,fold-layout.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write instead of stdout."),
    ] = None,
    constants: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Data of the constants (safetensors).")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Seed of what is random.", show_default=False),
    ] = None,
    verify_each: Annotated[bool, typer.Option(help="Verify the module after each pass.")] = True,
    print_ir_after: Annotated[
        list[str] | None,
        typer.Option(metavar="PASS", help="Print the module after a pass, or after 'all'."),
    ] = None,
    timing: Annotated[bool, typer.Option("--timing", help="Show the time of each pass.")] = False,
    reproducer: Annotated[
        Path, typer.Option(metavar="FILE", help="Where to write what reproduces a crash.")
    ] = Path("reproducer.ir"),
    list_passes: Annotated[
        bool, typer.Option("--list-passes", help="Show passes and options, and exit.")
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    version: Version = False,
) -> None:
    """Read a module, run passes on it, and print it.

    Pipeline, seed and constants may also stand in comments at the head of the file, as in the
    reproducer of a crash: `// pipeline: eliminate-dead`. Options win.
    """
    del version
    with reported("acc-opt"):
        verbosity = chosen_verbosity(quiet=quiet, verbose=verbose)
        if list_passes:
            from .work import listings

            listings.list_passes()
            return
        from .work import run_passes as work

        work.run_passes(
            work.PassesRequest(
                file=file,
                passes=passes,
                output=output,
                constants=constants,
                seed=seed,
                verify_each=verify_each,
                print_ir_after=tuple(print_ir_after or ()),
                timing=timing,
                reproducer=reproducer,
                verbosity=verbosity,
            )
        )

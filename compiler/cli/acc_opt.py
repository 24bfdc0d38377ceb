"""``acc-opt``: run passes on the text of a module."""

from pathlib import Path
from typing import Annotated

import typer

from .exit_codes import EXIT_CODES
from .tool import new_tool, reported

app = new_tool()


@app.command(epilog=f"{EXIT_CODES}.")
def acc_opt(
    file: Annotated[Path | None, typer.Argument(help="Text of a module; - reads stdin.")] = None,
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
        Path | None, typer.Option("--output", "-o", help="File to write instead of stdout.")
    ] = None,
    constants: Annotated[
        Path | None, typer.Option(help="Data of the constants (safetensors).")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of what is random.")] = None,
    verify_each: Annotated[bool, typer.Option(help="Verify the module after each pass.")] = True,
    print_ir_after: Annotated[
        list[str] | None,
        typer.Option(metavar="PASS", help="Print the module after a pass, or after 'all'."),
    ] = None,
    timing: Annotated[bool, typer.Option("--timing", help="Show the time of each pass.")] = False,
    reproducer: Annotated[
        Path, typer.Option(help="Where to write what reproduces a crash.")
    ] = Path("reproducer.ir"),
    list_passes: Annotated[
        bool, typer.Option("--list-passes", help="Show passes and options, and exit.")
    ] = False,
) -> None:
    """Read a module, run passes on it, and print it.

    Pipeline, seed and constants may also stand in comments at the head of the file, as in the
    reproducer of a crash: `// pipeline: eliminate-dead`. Options win.
    """
    with reported("acc-opt"):
        from .work import run_passes as work

        if list_passes:
            work.list_passes()
            return
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
            )
        )

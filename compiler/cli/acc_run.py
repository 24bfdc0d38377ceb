"""``acc-run``: execute a compiled program in the simulator."""

from pathlib import Path
from typing import Annotated

import typer

from .exit_codes import EXIT_CODES
from .tool import new_tool, reported

app = new_tool()


@app.command(epilog=f"{EXIT_CODES}.")
def acc_run(
    program: Annotated[Path, typer.Argument(help="Package that acc-compile wrote (program.acc).")],
    inputs: Annotated[
        Path, typer.Option("--input", "-i", help="Inputs: .npz, one array per ONNX input.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Outputs: .npz to write.")],
    trace: Annotated[
        Path | None, typer.Option("--trace", help="Write a trace that Perfetto opens.")
    ] = None,
    races: Annotated[
        bool,
        typer.Option(
            "--races/--no-races", help="Stop at unordered accesses and reads of unwritten bytes."
        ),
    ] = True,
) -> None:
    """Execute a compiled program on inputs; the ONNX model is not needed."""
    with reported("acc-run"):
        from .work.run_package import run_package

        run_package(program, inputs, output, trace, races=races)

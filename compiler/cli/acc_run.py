"""``acc-run``: execute a compiled program in the simulator."""

from pathlib import Path
from typing import Annotated

import typer

from .choices import TimingName
from .exit_codes import epilog
from .tool import ToolCommand, new_tool, reported
from .verbosity import Quiet, Verbose, chosen_verbosity
from .version import Version

app = new_tool()


@app.command(
    cls=ToolCommand,
    epilog=epilog("acc-run net.acc/program.acc -i in.npz -o out.npz"),
    no_args_is_help=True,
)
def acc_run(
    program: Annotated[
        Path,
        typer.Argument(metavar="PROGRAM", help="Package that acc-compile wrote (program.acc)."),
    ],
    inputs: Annotated[
        Path,
        typer.Option(
            "--input", "-i", metavar="FILE", help="Inputs: .npz, one array per ONNX input."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Outputs: .npz to write.")
    ],
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FILE", help="Write a trace that Perfetto opens."),
    ] = None,
    races: Annotated[
        bool,
        typer.Option(
            "--races/--no-races", help="Stop at unordered accesses and reads of unwritten bytes."
        ),
    ] = True,
    timing: Annotated[
        TimingName,
        typer.Option(
            help="network: transfers cross the mesh and use the memory of the machine's tables "
            "[network] and [dram]."
        ),
    ] = "analytical",
    quiet: Quiet = False,
    verbose: Verbose = False,
    version: Version = False,
) -> None:
    """Execute a compiled program on inputs; the ONNX model is not needed."""
    del version
    with reported("acc-run"):
        verbosity = chosen_verbosity(quiet=quiet, verbose=verbose)
        from .work.run_package import run_package

        run_package(program, inputs, output, trace, races=races, timing=timing, verbosity=verbosity)

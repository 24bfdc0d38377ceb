"""``acc-compile``: compile an ONNX network, run it on the simulator, compare with onnxruntime."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ...backend.load import catalogue
from ...ir.errors import MismatchError
from ...ir.report import VerificationStatus
from ...passes.instrument import WriteReproducer
from ...passes.mapping.base import Objective
from ...passes.mapping.registry import MAPPERS
from ..artifacts import write_results
from ..cache import default_folder
from ..driver import Result, compile
from ..options import CompileOptions, VerifyMode
from ..output import check_target
from ..pipelines import GRAPH_SCHEDULERS, TILE_SCHEDULERS
from ..report.table import report_tables
from .progress import shown_progress
from .shapes import parse_shapes
from .sizes import parse_budget
from .tool import EXIT_CODES, new_tool, reported

app = new_tool()

_DEFAULT = CompileOptions()
_EPILOG = f"{EXIT_CODES}, 3 the outputs differ from onnxruntime's."


def _show_archs(wanted: bool) -> None:
    """Print the catalogue of architectures and stop."""
    if not wanted:
        return
    table = Table("name", "description", box=None, pad_edge=False)
    for entry in catalogue():
        table.add_row(entry.name, entry.description)
    with reported("acc-compile"):
        Console().print(table)
    raise typer.Exit()


@app.command(epilog=_EPILOG, no_args_is_help=True)
def acc_compile(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The network, an .onnx file.")],
    arch: Annotated[
        str,
        typer.Option(
            "--arch", "-a", metavar="NAME", help="A TOML file, or a name of --list-archs."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Folder of results; MODEL.acc if not given."
        ),
    ] = None,
    mapper: Annotated[
        str, typer.Option(metavar="NAME", help=f"Finds loop nests: {', '.join(MAPPERS)}.")
    ] = _DEFAULT.mapper,
    objective: Annotated[
        Objective, typer.Option(help="What mappers minimise.")
    ] = _DEFAULT.objective,
    scheduler: Annotated[
        str,
        typer.Option(metavar="NAME", help=f"Plans the scratchpad: {', '.join(GRAPH_SCHEDULERS)}."),
    ] = _DEFAULT.scheduler,
    tiles: Annotated[
        str,
        typer.Option(
            metavar="NAME", help=f"Orders tiles on the NPUs: {', '.join(TILE_SCHEDULERS)}."
        ),
    ] = _DEFAULT.tiles,
    scratchpad: Annotated[
        str | None,
        typer.Option(
            metavar="mr|mh|mp|BYTES",
            help="Use this much of the scratchpad, e.g. 64K; mr: each operator fits with all "
            "its tensors; mp: nothing has to be spilled; mh: halfway.",
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Data to quantise a float model with: .npz, .npy, or a folder of them.",
        ),
    ] = None,
    shape: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=EXTENTS", help="Fix a dynamic input, e.g. x=1,3,224,224; repeatable."
        ),
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Inputs to verify on, .npz; seeded noise if not given."),
    ] = None,
    verify: Annotated[
        VerifyMode,
        typer.Option(help="Compare outputs, every layer, or nothing with onnxruntime."),
    ] = _DEFAULT.verify,
    races: Annotated[
        bool,
        typer.Option(
            "--races/--no-races",
            help="Look for unordered accesses and unwritten bytes while simulating.",
        ),
    ] = _DEFAULT.races,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of made-up data, 0 or more.")
    ] = _DEFAULT.seed,
    until: Annotated[
        str | None,
        typer.Option(metavar="PASS", help="Stop after this pass and write what exists by then."),
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Look for all loop nests anew.")
    ] = False,
    processes: Annotated[
        int, typer.Option(metavar="N", help="Processes that look for loop nests.")
    ] = _DEFAULT.processes,
    list_archs: Annotated[
        bool,
        typer.Option(
            "--list-archs",
            is_eager=True,
            callback=_show_archs,
            help="Show the catalogue of architectures and exit.",
        ),
    ] = False,
) -> None:
    """Compile a network for an accelerator, and prove the program by running it.

    The folder of results holds program.acc (for acc-run), program.asm, module.ir, model.onnx,
    trace.json (for ui.perfetto.dev), report.json, and report.html, the same for people.
    """
    del list_archs
    with reported("acc-compile"):
        options = CompileOptions(
            mapper=mapper,
            objective=objective,
            scheduler=scheduler,
            tiles=tiles,
            scratchpad=None if scratchpad is None else parse_budget(scratchpad, "--scratchpad"),
            seed=seed,
            calibration=calibration,
            shapes=parse_shapes(shape or []),
            verify=verify,
            races=races,
            inputs=inputs,
            until=until,
            cache=None if no_cache else default_folder(),
            processes=processes,
        )
        _run(model, arch, output, options)


def main() -> None:
    """Run the command line of ``acc-compile``."""
    app()


def _run(model: Path, arch: str, output: Path | None, options: CompileOptions) -> None:
    folder = output or Path(f"{model.stem}.acc")
    check_target(folder)
    reproducer = WriteReproducer(Path(f"{model.stem}.reproducer.ir"))
    with shown_progress() as observe:
        result = compile(
            model, arch=arch, options=options, observer=observe, instruments=(reproducer,)
        )
        observe("write", 0, 0)
        write_results(result, folder)
    console = Console()
    console.print(f"results in {folder}", markup=False, highlight=False, soft_wrap=True)
    console.print(report_tables(result.report))
    _judge(result)


def _judge(result: Result) -> None:
    """Turn a verdict into an exit code.

    Raises:
        MismatchError: Outputs differ.
    """
    found = result.report.verification
    if found.status is VerificationStatus.FAILED:
        raise MismatchError(
            f"{found.mismatches} of {found.elements} elements differ from {found.against}",
            hint="--verify=layers names the first operator that differs",
        )

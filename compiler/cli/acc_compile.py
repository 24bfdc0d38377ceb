"""``acc-compile``: compile an ONNX network, run it on the simulator, compare with onnxruntime."""

from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from ...backend.load import catalogue
from ...ir.errors import AccnnError, MismatchError, OptionError
from ...ir.report import VerificationStatus
from ...passes.mapping.base import Objective
from ...passes.mapping.registry import MAPPERS
from ..artifacts import write_results
from ..driver import Result, compile
from ..options import CompileOptions, VerifyMode
from ..output import check_target
from ..pipelines import GRAPH_SCHEDULERS, TILE_SCHEDULERS
from ..report.table import report_tables
from .shapes import parse_shapes

_Value = TypeVar("_Value")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_EPILOG = (
    "Exit codes: 0 verified (or verification switched off), 1 internal failure, "
    "2 the input cannot be used, 3 outputs differ from onnxruntime."
)


@app.command(epilog=_EPILOG)
def acc_compile(
    model: Annotated[Path | None, typer.Argument(help="The network, an .onnx file.")] = None,
    arch: Annotated[
        str | None,
        typer.Option(help="Architecture: a TOML file, or a name of --list-archs."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of results [default: MODEL.acc].")
    ] = None,
    mapper: Annotated[
        str, typer.Option(help=f"Finds loop nests: {', '.join(MAPPERS)}.")
    ] = CompileOptions().mapper,
    objective: Annotated[
        Objective, typer.Option(help="What mappers minimise.")
    ] = Objective.LATENCY,
    scheduler: Annotated[
        str, typer.Option(help=f"Plans the scratchpad: {', '.join(GRAPH_SCHEDULERS)}.")
    ] = CompileOptions().scheduler,
    tiles: Annotated[
        str, typer.Option(help=f"Orders tiles on the NPUs: {', '.join(TILE_SCHEDULERS)}.")
    ] = CompileOptions().tiles,
    scratchpad: Annotated[
        str | None, typer.Option(help="Scratchpad bytes to use instead of the architecture's.")
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(help="Calibration data for quantising: .npz, .npy, or a folder of them."),
    ] = None,
    shape: Annotated[
        list[str] | None,
        typer.Option(help="Fix a dynamic input: NAME=1,3,224,224. May be given several times."),
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(help="Inputs to verify on, .npz [default: seeded noise].")
    ] = None,
    verify: Annotated[
        VerifyMode,
        typer.Option(help="Compare the outputs, every layer, or nothing with onnxruntime."),
    ] = VerifyMode.OUTPUTS,
    races: Annotated[
        bool, typer.Option("--races", help="Look for unordered accesses while simulating.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of made-up data, 0 or more.")] = 0,
    until: Annotated[
        str | None, typer.Option(help="Stop after this pass and write what exists by then.")
    ] = None,
    list_archs: Annotated[
        bool, typer.Option("--list-archs", help="Show the catalogue of architectures and exit.")
    ] = False,
) -> None:
    """Compile a network for an accelerator and prove the program by running it."""
    try:
        if list_archs:
            Console().print(_catalogue())
            return
        options = CompileOptions(
            mapper=mapper,
            objective=objective,
            scheduler=scheduler,
            tiles=tiles,
            scratchpad=None if scratchpad is None else _bytes(scratchpad),
            seed=seed,
            calibration=calibration,
            shapes=parse_shapes(shape or []),
            verify=verify,
            races=races,
            inputs=inputs,
            until=until,
        )
        network = _given(model, "the model", "an .onnx file")
        _run(network, _given(arch, "--arch", "a TOML file or a name"), output, options)
    except AccnnError as error:
        typer.echo(f"acc-compile: error: {error}", err=True)
        raise typer.Exit(error.exit_code) from error


def main() -> None:
    """Run the command line of ``acc-compile``."""
    app()


def _given(value: _Value | None, name: str, what: str) -> _Value:
    if value is None:
        raise OptionError(f"{name} is missing: give {what}", hint="see acc-compile --help")
    return value


def _bytes(text: str) -> int:
    """Read a size such as ``65536``, ``64K`` or ``1M``."""
    factors = {"K": 1024, "M": 1024**2}
    digits, factor = (text[:-1], factors[text[-1]]) if text[-1:] in factors else (text, 1)
    if not digits.isdecimal():
        raise OptionError(f"--scratchpad {text}: not a number of bytes", hint="e.g. 65536 or 64K")
    return int(digits) * factor


def _run(model: Path, arch: str, output: Path | None, options: CompileOptions) -> None:
    folder = output or Path(f"{model.stem}.acc")
    check_target(folder)
    console = Console()
    with _progress(console) as progress:
        task = progress.add_task("read", total=None)

        def observe(step: str, done: int, total: int) -> None:
            progress.update(task, description=step, completed=done, total=total or None)

        result = compile(model, arch=arch, options=options, observer=observe)
        observe("write", 0, 0)
        write_results(result, folder)
    console.print(report_tables(result.report))
    console.print(f"results: {folder}", highlight=False)
    _judge(result)


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _judge(result: Result) -> None:
    found = result.report.verification
    if found.status is VerificationStatus.FAILED:
        raise MismatchError(
            f"{found.mismatches} of {found.elements} elements differ from {found.against}"
        )


def _catalogue() -> Table:
    table = Table("name", "description", box=None)
    for entry in catalogue():
        table.add_row(entry.name, entry.description)
    return table

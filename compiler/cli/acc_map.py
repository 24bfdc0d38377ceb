"""``acc-map``: schedule single layers, without a network around them."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ...backend.load import load_architecture
from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError, OptionError
from ...ir.files import check_writable
from ...passes.mapping.base import MapOptions, MappingResult, Objective
from ...passes.mapping.registry import find_mapper
from ...passes.scheduling.flexer.options import FlexerOptions, Memory, Metric, Priority
from ..cache import MapJob, MappingCache, default_folder
from ..layers import Layer, parse_layer, parse_spatial, read_layers
from ..map_schedulers import rows_text, schedule_layers, write_rows
from ..mapping import Answer, solve_all
from ..report.layer_table import (
    LayerCounting,
    Row,
    nest_text,
    row_of,
    rules_of,
    table_of,
    write_csv,
)
from ..timeloop_files import folder_names, write_timeloop
from .tool import EXIT_CODES, new_tool, reported

_FILE_WIDTH = 160
"""Columns of a table that goes to a file."""

app = new_tool()


@app.command(epilog=f"{EXIT_CODES}.")
def acc_map(
    arch: Annotated[str, typer.Option("--arch", help="Architecture: NAME.toml or a path.")],
    layer: Annotated[
        str | None, typer.Option("--layer", help='A layer: "R=3 S=3 P=56 Q=56 C=64 K=64 stride=1".')
    ] = None,
    layers: Annotated[
        Path | None, typer.Option("--layers", help="CSV of layers: dnn,layer,R,S,P,Q,C,K,N,...")
    ] = None,
    mapper: Annotated[str, typer.Option("--mapper", help="Mappers, separated by commas.")] = "cosa",
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", help="Compare tile schedulers instead: flexer,static."),
    ] = None,
    metric: Annotated[
        Metric, typer.Option("--metric", help="What tile schedulers minimise.")
    ] = Metric.PRODUCT,
    weight: Annotated[
        float, typer.Option("--weight", help="Of transfers, for --metric weighted: 0 .. 2.")
    ] = 1.0,
    priority: Annotated[
        Priority, typer.Option("--priority", help="Which tile operations come next.")
    ] = Priority.BEST,
    memory: Annotated[
        Memory, typer.Option("--memory", help="Which tiles make room for others.")
    ] = Memory.BEST,
    trade: Annotated[
        bool,
        typer.Option("--trade", help="Allow more cycles or bytes than static for a better metric."),
    ] = False,
    objective: Annotated[
        Objective, typer.Option("--objective", help="What to minimise.")
    ] = Objective.LATENCY,
    counting: Annotated[
        LayerCounting,
        typer.Option(
            "--counting", help="Whose rules count in the figures; salsa and loma search by them."
        ),
    ] = LayerCounting.ACCNN,
    spatial: Annotated[
        str | None,
        typer.Option(
            "--spatial", help='Unrolled loops for salsa and loma: "P=14@column R=3@row K=4@row".'
        ),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write one row per layer and mapper.")
    ] = None,
    emit: Annotated[
        str | None, typer.Option("--emit", help="Also write files of another tool: timeloop.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Argument(help="Folder for the files of --emit.", metavar="[DIR]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of mappers that draw at random.")] = 0,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Map everything anew.")] = False,
    processes: Annotated[int, typer.Option(help="Processes at most.")] = 2,
) -> None:
    """Map single layers and compare mappers."""
    with reported("acc-map"):
        _check_options(seed, processes, csv, emit, directory)
        chosen = _layers(layer, layers)
        machine = load_architecture(arch)
        if scheduler is not None:
            tile_options = FlexerOptions(
                metric=metric, weight=weight, priority=priority, memory=memory, trade=trade
            )
            _compare_schedulers(chosen, machine, scheduler.split(","), tile_options, csv)
            return
        single = machine.for_npu(machine.npus[0])
        options = MapOptions(
            objective=objective,
            seed=seed,
            even=emit is not None,
            rules=rules_of(counting),
            spatial=None if spatial is None else parse_spatial(spatial, single),
        )
        jobs = [
            MapJob(workload=item.workload, arch=single, mapper=find_mapper(name), options=options)
            for item in chosen
            for name in mapper.split(",")
        ]
        cache = None if no_cache else MappingCache(default_folder())
        answers = solve_all(jobs, cache, processes=processes)
        rows = [
            _row(chosen[index // len(mapper.split(","))], job, answer, counting)
            for index, (job, answer) in enumerate(zip(jobs, answers, strict=True))
        ]
        _show(rows, answers, single)
        if csv is not None:
            write_csv(csv, rows)
        if directory is not None:
            names = folder_names([f"{row.layer}.{row.mapper}" for row in rows])
            for name, answer in zip(names, answers, strict=True):
                if isinstance(answer, MappingResult):
                    write_timeloop(directory / name, answer.nest, single)


def main() -> None:
    """Run the command line of ``acc-map``."""
    app()


def _layers(layer: str | None, path: Path | None) -> tuple[Layer, ...]:
    if (layer is None) == (path is None):
        raise OptionError("give either --layer or --layers")
    if layer is not None:
        return (parse_layer(layer),)
    assert path is not None
    return read_layers(path)


def _compare_schedulers(
    layers: tuple[Layer, ...],
    machine: Architecture,
    names: list[str],
    options: FlexerOptions,
    csv: Path | None,
) -> None:
    rows = schedule_layers(layers, machine, names, options)
    typer.echo(rows_text(rows))
    if csv is not None:
        write_rows(csv, rows)


def _check_options(
    seed: int, processes: int, csv: Path | None, emit: str | None, directory: Path | None
) -> None:
    """Check, before any work, what no type says.

    Raises:
        OptionError: A number is too small, or a file cannot be written.
    """
    if seed < 0:
        raise OptionError(f"seed is {seed}, must be 0 or more")
    if processes < 1:
        raise OptionError(f"processes is {processes}, must be 1 or more")
    if csv is not None:
        check_writable(csv)
    if emit not in (None, "timeloop"):
        raise OptionError(f"--emit knows no tool {emit!r}", hint="known: timeloop")
    if (emit is None) != (directory is None):
        raise OptionError("--emit needs a tool and a folder", hint="--emit timeloop DIR")
    if directory is not None and directory.exists() and not directory.is_dir():
        raise OptionError(f"cannot write {directory}: it is not a folder")


def _row(layer: Layer, job: MapJob, answer: Answer, counting: LayerCounting) -> Row:
    if isinstance(answer, InfeasibleError):
        raise InfeasibleError(f"{layer.name}: {answer.message}", hint=answer.hint)
    return row_of(layer.name, job, answer, counting)


def _show(rows: list[Row], answers: tuple[Answer, ...], arch: Architecture) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH)
    for row, answer in zip(rows, answers, strict=True):
        if isinstance(answer, MappingResult) and len(rows) <= 4:
            console.print(f"{row.layer}, {row.mapper}:", markup=False, highlight=False)
            console.print(nest_text(answer.nest, arch), markup=False, highlight=False)
    console.print(table_of(rows))

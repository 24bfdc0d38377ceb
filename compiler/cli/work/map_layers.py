"""Map single layers, compare mappers or tile schedulers."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import typer
from rich.console import Console

from ....backend.load import load_architecture
from ....ir.arch import Architecture
from ....ir.codec.files import check_writable, replacing, write_csv
from ....ir.codec.json_codec import dump_json
from ....ir.errors import InfeasibleError, OptionError
from ....ir.mesh import mesh_of
from ....ir.suggest import suggest
from ....passes.analysis.cost import evaluate
from ....passes.analysis.mesh_load import mesh_load, network_cycles
from ....passes.mapping.mapper import Mapper, MappingResult
from ....passes.mapping.problem import MappingProblem, Objective
from ....passes.mapping.registry import find_mapper
from ....passes.scheduling.flexer.options import FlexerOptions, Metric, Priority, SpaceRule
from ....runtime_sim.noc.nest_traffic import run_nest
from ...layers.emit import TOOLS, folder_names
from ...layers.judge import GivenNest, parse_names
from ...layers.picture import nest_svg
from ...layers.read import Layer, parse_layer, parse_spatial, read_layers
from ...layers.schedulers import rows_text, schedule_layers
from ...mapping.solve import Answer, solve_all
from ...report.layer_table import (
    LayerCounting,
    Row,
    nest_text,
    row_of,
    rules_of,
    table_of,
)
from ...stores.inventory import limited
from ...stores.mappings import MapJob, MappingCache
from ...stores.store import default_folder
from ..verbosity import Verbosity
from .progress import shown_progress

_FILE_WIDTH = 160
"""Columns of a table that goes to a file."""

_TAKE_SPATIAL = ("salsa", "loma")
"""Mappers that take given unrolled loops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersRequest:
    """What the command line asks for.

    Attributes:
        arch: Name or path of an architecture.
        layer: A layer as text, or
        layers: a table of them.
        mappers: Names of the mappers to compare.
        schedulers: Names of tile schedulers to compare instead; ``None`` compares mappers.
        metric: What tile schedulers minimise.
        weight: Of transfers in the weighted metric.
        priority: Which tile operations come next.
        memory: Which tiles make way for others.
        trade: Whether more cycles or bytes than static are allowed.
        objective: What mappers minimise.
        counting: Whose rules count in the figures.
        timing: Whether the mesh is simulated, too: ``analytical`` or ``network``.
        spatial: Unrolled loops as text, where they are given.
        csv: File for one row per layer and mapper.
        as_json: Whether standard output is the rows as JSON, and nothing else.
        even: Whether all operands of a level start at one loop.
        emit: Another tool to write files for.
        directory: Folder of these files.
        imported: Mapping of Timeloop to judge instead of looking for one.
        rename: Its levels to those of the machine, as text.
        picture: SVG file for a picture of the nest.
        seed: Of mappers that draw at random.
        cached: Whether answers of before count.
        processes: Processes at most.
        verbosity: How much is said.
    """

    arch: str
    layer: str | None
    layers: Path | None
    mappers: tuple[str, ...]
    schedulers: tuple[str, ...] | None
    metric: str
    weight: float
    priority: str
    memory: str
    trade: bool
    objective: str
    counting: str
    timing: str
    spatial: str | None
    csv: Path | None
    as_json: bool
    even: bool
    emit: str | None
    directory: Path | None
    imported: Path | None
    rename: str | None
    picture: Path | None
    seed: int
    cached: bool
    processes: int
    verbosity: Verbosity


def map_layers(request: LayersRequest) -> None:
    """Map layers and show what each mapper found.

    Raises:
        AccnnError: An option is wrong, a file cannot be read, or nothing fits.
    """
    _check_options(request)
    chosen = _layers(request.layer, request.layers)
    machine = load_architecture(request.arch)
    if request.timing == "network":
        mesh_of(machine)  # complains before anything is mapped
    if request.schedulers is not None:
        _compare_schedulers(request, chosen, machine)
        return
    single = machine.for_npu(machine.npus[0])
    counting = LayerCounting(request.counting)
    problems = [
        MappingProblem(
            workload=item.workload,
            arch=single,
            objective=Objective(request.objective),
            seed=request.seed,
            even=request.even or request.emit == "timeloop",
            rules=rules_of(counting),
            spatial=None if request.spatial is None else parse_spatial(request.spatial, single),
        )
        for item in chosen
    ]
    mappers = _mappers(request)
    jobs = [MapJob(problem, mapper) for problem in problems for mapper in mappers]
    cached = request.cached and request.imported is None  # a file says what it says now
    cache = MappingCache(default_folder()) if cached else None
    with limited(cache and cache.folder), shown_progress("acc-map", request.verbosity) as observe:
        answers = solve_all(
            jobs,
            cache,
            processes=request.processes,
            progress=lambda done, total, asked: observe(
                "map" if asked is None else f"map: {asked.problem.workload}", done, total
            ),
        )
    layers = [item for item in chosen for _ in mappers]
    rows = [
        _row(layer, job, answer, counting, request.timing)
        for layer, job, answer in zip(layers, jobs, answers, strict=True)
    ]
    if request.as_json:
        typer.echo(dump_json(tuple(rows)), nl=False)
    else:
        _show(rows, answers, single)
    if request.csv is not None:
        write_csv(request.csv, list(map(asdict, rows)))
    if request.directory is not None and request.emit is not None:
        _emit(request.emit, request.directory, rows, answers, single)
    if request.picture is not None:
        _draw(request.picture, rows, answers, single)


def _mappers(request: LayersRequest) -> list[Mapper]:
    if request.imported is None:
        return [find_mapper(name) for name in request.mappers]
    return [GivenNest(path=request.imported, names=parse_names(request.rename))]


def _draw(path: Path, rows: list[Row], answers: tuple[Answer, ...], arch: Architecture) -> None:
    """Write the picture of the one nest."""
    (row,), (answer,) = rows, answers
    if isinstance(answer, MappingResult):
        with replacing(path) as partial:
            title = f"{row.layer} on {arch.name}, {row.mapper}"
            partial.write_text(nest_svg(answer.nest, arch, title), encoding="utf-8")


def _emit(
    tool: str,
    directory: Path,
    rows: list[Row],
    answers: tuple[Answer, ...],
    arch: Architecture,
) -> None:
    names = folder_names([f"{row.layer}.{row.mapper}" for row in rows])
    for name, answer in zip(names, answers, strict=True):
        if isinstance(answer, MappingResult):
            TOOLS[tool](directory / name, answer.nest, arch)


def _layers(layer: str | None, path: Path | None) -> tuple[Layer, ...]:
    if layer is not None and path is None:
        return (parse_layer(layer),)
    if path is not None and layer is None:
        return read_layers(path)
    raise OptionError("give either --layer or --layers")


def _compare_schedulers(
    request: LayersRequest, layers: tuple[Layer, ...], machine: Architecture
) -> None:
    options = FlexerOptions(
        metric=Metric(request.metric),
        weight=request.weight,
        priority=Priority(request.priority),
        memory=SpaceRule(request.memory),
        trade=request.trade,
    )
    rows = schedule_layers(layers, machine, request.schedulers or (), options)
    typer.echo(dump_json(rows) if request.as_json else f"{rows_text(rows)}\n", nl=False)
    if request.csv is not None:
        write_csv(request.csv, list(map(asdict, rows)))


def _check_options(request: LayersRequest) -> None:
    """Check, before any work, what no type says.

    Raises:
        OptionError: A number is too small, or a file cannot be written.
    """
    if request.seed < 0:
        raise OptionError(f"seed is {request.seed}, must be 0 or more")
    if request.processes < 1:
        raise OptionError(f"processes is {request.processes}, must be 1 or more")
    if request.timing == "network" and request.schedulers is not None:
        raise OptionError("--timing network has no effect with --scheduler")
    if request.csv is not None:
        check_writable(request.csv)
    emit, directory = request.emit, request.directory
    if emit is not None and emit not in TOOLS:
        raise OptionError(f"--emit knows no tool {emit!r}", hint=suggest(emit, TOOLS))
    if request.rename is not None and request.imported is None:
        raise OptionError("--rename has no effect without --import")
    if request.imported is not None and (request.layer is None or request.schedulers is not None):
        raise OptionError("--import judges one nest", hint="give its layer with --layer")
    if request.even and (request.imported is not None or request.schedulers is not None):
        raise OptionError("--even has no effect with --import or --scheduler")
    if request.picture is not None:
        check_writable(request.picture)
        if request.layer is None or len(request.mappers) > 1 or request.schedulers is not None:
            raise OptionError("--picture draws one nest", hint="give one layer and one mapper")
    if request.spatial is not None and (useless := _without_spatial(request)):
        raise OptionError(
            f"--spatial has no effect with {useless}, which chooses its own",
            hint="salsa and loma take it",
        )
    if (emit is None) != (directory is None):
        raise OptionError("--emit needs a tool and a folder", hint="--emit timeloop DIR")
    if directory is not None and directory.exists() and not directory.is_dir():
        raise OptionError(f"cannot write {directory}: it is not a folder")


def _without_spatial(request: LayersRequest) -> str:
    """Return a mapper that disregards given unrolled loops; empty where none does."""
    if request.imported is not None:
        return "--import"
    return next((name for name in request.mappers if name not in _TAKE_SPATIAL), "")


def _row(layer: Layer, job: MapJob, answer: Answer, counting: LayerCounting, timing: str) -> Row:
    if isinstance(answer, InfeasibleError):
        raise InfeasibleError(f"{layer.name}: {answer.message}", hint=answer.hint)
    row = row_of(layer.name, job, answer, counting)
    if timing == "analytical":
        return row
    nest, arch = answer.nest, job.problem.arch
    estimate = network_cycles(evaluate(nest, arch), mesh_load(nest, arch))
    run = run_nest(nest, arch)
    shares = {operand: waited / run.simulated_cycles for operand, waited in run.waits.items()}
    waits = " ".join(f"{operand} {share:.0%}" for operand, share in shares.items() if share > 0.005)
    return replace(row, network_cycles=run.cycles, network_estimate=estimate, network_waits=waits)


def _show(rows: list[Row], answers: tuple[Answer, ...], arch: Architecture) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH)
    for row, answer in zip(rows, answers, strict=True):
        if isinstance(answer, MappingResult) and len(rows) <= 4:
            console.print(f"{row.layer}, {row.mapper}:", markup=False, highlight=False)
            console.print(nest_text(answer.nest, arch), markup=False, highlight=False)
    console.print(table_of(rows, console.width))

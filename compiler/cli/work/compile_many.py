"""Compile several networks for several machines: a folder of results each, and one table."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ....ir.codec.json_codec import dump_json
from ....ir.errors import AccnnError, OptionError
from ....ir.report import Report
from ....passes.instrument import WriteReproducer
from ...artifacts import write_results
from ...driver import compile
from ...layers.emit import folder_names
from ...options import CompileOptions
from ...output import check_target
from ...report.figures import UNKNOWN, amount, cycles_text, joule, ratio
from ...report.summary import ReportSummary, summary_of
from ..verbosity import Verbosity
from .compile_network import judge
from .progress import shown_progress


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledPair:
    """What came of one network on one machine.

    Attributes:
        model: Name of the network's file.
        arch: Name of the machine.
        folder: Of the results; empty where there are none.
        error: Why there are none, or which outputs differ; empty where all is well.
        exit_code: Of the command, had this been all.
        report: Its head; ``None`` where there is none.
    """

    model: str
    arch: str
    folder: str
    error: str
    exit_code: int
    report: ReportSummary | None


def compile_many(
    models: Sequence[Path],
    archs: Sequence[str],
    output: Path | None,
    options: CompileOptions,
    *,
    as_json: bool = False,
    verbosity: Verbosity = Verbosity.NORMAL,
) -> int:
    """Compile every network for every machine; what fails is a row of the table, too.

    Args:
        models: ``.onnx`` files.
        archs: Names or paths of architectures.
        output: Folder of the folders of results; the working folder if not given.
        options: All else, the same for all.
        as_json: Whether standard output is a list with an object for each pair, and nothing else.
        verbosity: How much is said.

    Returns:
        The exit code: that of the first pair that failed, or 0.

    Raises:
        OptionError: A folder cannot be written.
    """
    parent = output or Path()
    if output is not None and output.exists() and not output.is_dir():
        raise OptionError(f"cannot write {output}: it exists and is not a folder")
    parent.mkdir(exist_ok=True)
    pairs = [(model, arch) for model in models for arch in archs]
    names = folder_names([f"{model.stem}.{Path(arch).stem}" for model, arch in pairs])
    folders = [parent / f"{name}.acc" for name in names]
    for folder in folders:
        check_target(folder)
    found = [
        _compiled(model, arch, folder, options, verbosity)
        for (model, arch), folder in zip(pairs, folders, strict=True)
    ]
    if as_json:
        typer.echo(dump_json(tuple(found)), nl=False)
    elif verbosity is not Verbosity.QUIET:
        Console().print(pairs_table(found))
    return next((item.exit_code for item in found if item.exit_code), 0)


def _compiled(
    model: Path, arch: str, folder: Path, options: CompileOptions, verbosity: Verbosity
) -> CompiledPair:
    """Return what came of one pair; errors are printed on stderr as they come."""
    tool = f"acc-compile: {model.name} on {arch}"
    report: Report | None = None
    try:
        with shown_progress(tool, verbosity) as observe:
            reproducer = WriteReproducer(folder.with_suffix(".reproducer.ir"))
            result = compile(
                model, arch=arch, options=options, observer=observe, instruments=(reproducer,)
            )
            write_results(result, folder)
        report = result.report
        judge(report.verification)
    except AccnnError as error:
        typer.echo(f"{tool}: error: {error}", err=True)
        text, code = error.message, error.exit_code
    else:
        text, code = "", 0
    return CompiledPair(
        model=model.name,
        arch=Path(arch).stem,
        folder="" if report is None else str(folder),
        error=text,
        exit_code=code,
        report=None if report is None else summary_of(report),
    )


def pairs_table(found: Sequence[CompiledPair]) -> Table:
    """Return one row for each pair: what it takes, and whether it is right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in ("network", "machine", "verdict"):
        table.add_column(heading, overflow="fold")
    for heading in ("cycles", "x bound", "energy", "off chip"):
        table.add_column(heading, justify="right", no_wrap=True)
    for item in found:
        names = (Text(item.model), Text(item.arch))
        table.add_row(*names, Text(_verdict(item)), *_figures(item.report))
    return table


def _verdict(item: CompiledPair) -> str:
    return f"error: {item.error}" if item.report is None else str(item.report.verification.status)


def _figures(report: ReportSummary | None) -> tuple[str, ...]:
    if report is None:
        return (UNKNOWN,) * 4
    totals = report.totals
    cycles = totals.cycles_simulated or totals.cycles_model
    return (
        cycles_text(cycles),
        ratio(cycles, totals.cycles_lower_bound),
        amount(joule(totals.energy_pj), "J"),
        amount(totals.offchip_bytes, "B"),
    )

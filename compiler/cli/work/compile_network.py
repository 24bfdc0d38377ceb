"""Compile a network and show what came of it."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ....ir.errors import MismatchError
from ....ir.report import VerificationStatus
from ....models.quantisation.options import PERCENTILE
from ....models.quantisation.ranges import CalibrationMethod
from ....passes.instrument import WriteReproducer
from ....passes.mapping.problem import Objective
from ....passes.scheduling.fusion import Fuse
from ...artifacts import write_results
from ...driver import Result, compile
from ...mapping.solve import cores
from ...options import CompileOptions, VerifyMode
from ...output import check_target
from ...pipelines import pipeline_text
from ...report.table import report_tables
from ...stopwatch import Observer
from ...stores.store import default_folder
from .option_values import parse_budget, parse_constants, parse_shapes

__all__ = [
    "PERCENTILE",
    "CalibrationMethod",
    "CompileOptions",
    "Fuse",
    "Objective",
    "VerifyMode",
    "compile_network",
    "cores",
    "default_folder",
    "parse_budget",
    "parse_constants",
    "parse_shapes",
    "pipeline_text",
]


def compile_network(model: Path, arch: str, output: Path | None, options: CompileOptions) -> None:
    """Compile a network, write the results, show the report.

    Args:
        model: The ``.onnx`` file.
        arch: Name or path of an architecture.
        output: Folder of results; named after the model if not given.
        options: All else.

    Raises:
        MismatchError: The outputs differ.
    """
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
        remarks = "".join(f"; {item.remark}" for item in found.outputs if item.remark)
        raise MismatchError(
            f"{found.mismatches} of {found.elements} elements differ from {found.against}{remarks}",
            hint="--verify=layers names the first operator that differs",
        )


@contextmanager
def shown_progress() -> Generator[Observer]:
    """Give an observer that draws one line on stderr, and wipe it at the end.

    Nothing is drawn where stderr is not a terminal.
    """
    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description:<24}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task("start", total=None)

        def observe(step: str, done: int, total: int) -> None:
            shown = f"{step} {done}/{total}" if total else step
            progress.update(task, description=shown, completed=done, total=total or None)

        yield observe

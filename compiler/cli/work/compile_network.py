"""Compile a network and show what came of it."""

from pathlib import Path

from rich.console import Console

from ....ir.errors import MismatchError
from ....ir.report import VerificationStatus
from ....models.quantize_options import PERCENTILE
from ....models.ranges import CalibrationMethod
from ....passes.instrument import WriteReproducer
from ....passes.mapping.problem import Objective
from ....passes.scheduling.fusion import Fuse
from ...artifacts import write_results
from ...driver import Result, compile
from ...mapping import cores
from ...options import CompileOptions, VerifyMode
from ...output import check_target
from ...pipelines import pipeline_text
from ...report.table import report_tables
from ...store import default_folder
from .constants import parse_constants
from .progress import shown_progress
from .shapes import parse_shapes
from .sizes import parse_budget

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

"""Compile a network and show what came of it."""

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from ....ir.codec.json_codec import dump_json
from ....ir.errors import MismatchError, OptionError
from ....ir.report import Verification, VerificationStatus
from ....models.onnx_import.loading.nodes import nodes_of_file
from ....models.quantisation.options import PERCENTILE
from ....models.quantisation.ranges import CalibrationMethod
from ....passes.instrument import WriteReproducer
from ....passes.mapping.problem import Objective
from ....passes.scheduling.fusion import Fuse
from ....runtime_sim.timing.events import TimingModel
from ...artifacts import write_results
from ...driver import Result, compile
from ...explain.explaining import explain as explain_operator
from ...explain.names import check_name
from ...explain.words import explained
from ...mapping.solve import cores
from ...options import CompileOptions, VerifyMode
from ...output import check_target
from ...pipelines import chosen_pipeline, pipeline_text
from ...report.summary import summary_json
from ...report.table import report_tables
from ...sizes import parse_budget
from ...stores.store import default_folder
from ..run_file import options_text
from ..verbosity import Verbosity
from .option_values import parse_constants, parse_shapes
from .progress import shown_progress

__all__ = [
    "PERCENTILE",
    "CalibrationMethod",
    "CompileOptions",
    "Fuse",
    "Objective",
    "TimingModel",
    "VerifyMode",
    "check_effects",
    "check_one",
    "compile_network",
    "cores",
    "default_folder",
    "parse_budget",
    "parse_constants",
    "parse_shapes",
    "pipeline_text",
    "run_text",
]


def compile_network(
    model: Path,
    arch: str,
    output: Path | None,
    options: CompileOptions,
    *,
    explain: str | None = None,
    as_json: bool = False,
    verbosity: Verbosity = Verbosity.NORMAL,
) -> None:
    """Compile a network, write the results, show the report.

    Args:
        model: The ``.onnx`` file.
        arch: Name or path of an architecture.
        output: Folder of results; named after the model if not given.
        options: All else.
        explain: The operator to explain instead of showing the report.
        as_json: Whether standard output is the figures as JSON, and nothing else.
        verbosity: How much is said.

    Raises:
        MismatchError: The outputs differ.
        OptionError: There is no operator to explain.
    """
    if explain is not None and not options.lowers:
        raise OptionError("--explain needs the whole compilation", hint="leave out --until")
    if explain is not None:
        check_name(nodes_of_file(model), explain)
    folder = output or Path(f"{model.stem}.acc")
    check_target(folder)
    reproducer = WriteReproducer(Path(f"{model.stem}.reproducer.ir"))
    with shown_progress("acc-compile", verbosity) as observe:
        result = compile(
            model, arch=arch, options=options, observer=observe, instruments=(reproducer,)
        )
        observe("write", 0, 0)
        write_results(result, folder)
        found = None if explain is None else explain_operator(result, explain, observer=observe)
    if found is None and (as_json or verbosity is not Verbosity.QUIET):
        _show(result, folder, as_json=as_json)
    elif found is not None:
        typer.echo(dump_json(found) if as_json else f"{explained(found)}\n", nl=False)
    judge(result.report.verification)


def check_effects(
    verify: str, *, races: bool | None, inputs: Path | None, timing: str = TimingModel.ANALYTICAL
) -> None:
    """Refuse options that would have no effect.

    Args:
        verify: How much is verified.
        races: Whether races are looked for; ``None`` where nobody said.
        inputs: What is verified on.
        timing: How long transfers take in the simulation.

    Raises:
        OptionError: Nothing is simulated, and an option concerns the simulation.
    """
    asked = {
        "--races": races,
        "--inputs": inputs,
        "--timing network": timing == TimingModel.NETWORK,
    }
    given = [name for name, is_given in asked.items() if is_given]
    if verify == VerifyMode.OFF and given:
        raise OptionError(
            f"{given[0]} has no effect with --verify off, which simulates nothing",
            hint="leave out one of them",
        )


def check_one(explain: str | None) -> None:
    """Refuse what explains one compilation where there are several.

    Raises:
        OptionError: An explanation is asked for.
    """
    if explain is not None:
        raise OptionError("--explain needs one network and one machine")


def run_text(
    context: typer.Context, models: Sequence[Path], archs: Sequence[str], options: CompileOptions
) -> str:
    """Return the options of a run as the file that ``--config`` reads.

    The passes that they choose are its comment; a pipeline that was a file is in it as text.

    Args:
        context: Of the command; its options are read.
        models: The networks.
        archs: The machines.
        options: All else.

    Raises:
        OptionError: The options choose no pipeline.
    """
    passes = chosen_pipeline(options)
    own: dict[str, object] = {
        "model": str(models[0]) if len(models) == 1 else [*map(str, models)],
        "arch": archs[0] if len(archs) == 1 else [*archs],
    }
    if options.pipeline is not None:
        own["pipeline"] = options.pipeline
    return f"# passes: {passes}\n{options_text(context, own)}"


def _show(result: Result, folder: Path, *, as_json: bool) -> None:
    if as_json:
        typer.echo(summary_json(result.report), nl=False)
        return
    console = Console()
    console.print(f"results in {folder}", markup=False, highlight=False, soft_wrap=True)
    console.print(report_tables(result.report))


def judge(found: Verification) -> None:
    """Turn a verdict into an exit code.

    Raises:
        MismatchError: Outputs differ.
    """
    if found.status is VerificationStatus.FAILED:
        remarks = "".join(f"; {item.remark}" for item in found.outputs if item.remark)
        first = f"; first in {found.first_difference}" if found.first_difference else ""
        raise MismatchError(
            f"{found.mismatches} of {found.elements} elements differ from "
            f"{found.against}{remarks}{first}",
            hint=None if first else "--verify=layers names the first operator that differs",
        )

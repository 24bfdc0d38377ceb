"""``acc-compile``: compile an ONNX network, run it on the simulator, compare with onnxruntime."""

from pathlib import Path
from typing import Annotated

import typer

from ...ir.errors import ModelError
from .choices import (
    MAPPER_NAMES,
    SCHEDULER_NAMES,
    TILE_NAMES,
    CalibrationName,
    FuseName,
    ObjectiveName,
    TimingName,
    VerifyName,
)
from .exit_codes import EXIT_CODES, epilog
from .tool import ToolCommand, new_tool, reported
from .verbosity import Quiet, Verbose, chosen_verbosity
from .version import Version

app = new_tool()

_EPILOG = epilog(
    "acc-compile net.onnx --arch simba",
    "acc-compile net.onnx --arch mine.toml --scratchpad 64K --explain conv1",
    "acc-compile a.onnx b.onnx --arch simba --arch edge-1m",
    codes=f"{EXIT_CODES}, 3 the outputs differ from onnxruntime's",
)


def _show_archs(wanted: bool) -> None:
    """Print the catalogue of architectures and stop."""
    if not wanted:
        return
    with reported("acc-compile"):
        from .work.listings import list_archs

        list_archs()
    raise typer.Exit()


def _read_config(context: typer.Context, path: Path | None) -> None:
    """Let a file say what the command line does not."""
    if path is None:
        return
    with reported("acc-compile"):
        from .run_file import take_options_of

        take_options_of(path, context)


@app.command(cls=ToolCommand, epilog=_EPILOG, no_args_is_help=True)
def acc_compile(
    context: typer.Context,
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL...", help="The network, an .onnx file; or several."),
    ],
    archs: Annotated[
        list[str],
        typer.Option(
            "--arch",
            "-a",
            metavar="NAME",
            help="A TOML file, or a name of --list-archs; repeatable.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder of results, or of those of several; MODEL.acc if absent.",
        ),
    ] = None,
    mapper: Annotated[
        str, typer.Option(metavar="NAME", help=f"Finds loop nests: {', '.join(MAPPER_NAMES)}.")
    ] = "cosa",
    objective: Annotated[
        ObjectiveName, typer.Option(help="What loop nests and groups are chosen for.")
    ] = "latency",
    scheduler: Annotated[
        str,
        typer.Option(metavar="NAME", help=f"Plans the scratchpad: {', '.join(SCHEDULER_NAMES)}."),
    ] = "cosma",
    fuse: Annotated[
        FuseName,
        typer.Option(
            help="What may run together, tensors kept on chip between them: nothing; operators of "
            "one element with the convolution before them; whole stretches, stripe by stripe."
        ),
    ] = "groups",
    tiles: Annotated[
        str,
        typer.Option(metavar="NAME", help=f"Orders tiles on the NPUs: {', '.join(TILE_NAMES)}."),
    ] = "static-across",
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
    calibration_method: Annotated[
        CalibrationName,
        typer.Option(
            help="How ranges follow from the data: all of it, a share of it, or by entropy."
        ),
    ] = "minmax",
    percentile: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="Values inside of a range [percent], for percentile; 99.999 if absent.",
        ),
    ] = None,
    accuracy: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Examples to measure top-1 and top-5 on: as --calibration, with an array labels "
            "or without.",
        ),
    ] = None,
    shape: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=EXTENTS",
            help="Fix a dynamic input, e.g. x=1,3,224,224, or axes, e.g. batch=1,sequence=128; "
            "repeatable.",
        ),
    ] = None,
    constant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="Compile an input in as a constant, e.g. axes=0,1, where an operator needs one; "
            "repeatable.",
        ),
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Inputs to verify on, .npz; made up if not given."),
    ] = None,
    verify: Annotated[
        VerifyName,
        typer.Option(help="Compare outputs, every layer, or nothing with onnxruntime."),
    ] = "outputs",
    races: Annotated[
        bool | None,
        typer.Option(
            "--races/--no-races",
            help="Look for unordered accesses and unwritten bytes while simulating; on if absent.",
        ),
    ] = None,
    timing: Annotated[
        TimingName,
        typer.Option(
            help="network: in the simulated run, transfers cross the mesh and use the memory of "
            "the machine's tables [network] and [dram]."
        ),
    ] = "analytical",
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of made-up data, 0 or more.")] = 0,
    pipeline: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT|FILE",
            help="Passes to run instead of those that the options above choose; see acc-opt.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PASS.OPTION=VALUE",
            help="Set an option of a pass, e.g. schedule-cosma.rounds=0; repeatable.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="PASS", help="Stop after this pass and write what exists by then."),
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="End searches after so many seconds, with what they have found; none if absent.",
        ),
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Look for all loop nests anew.")
    ] = False,
    processes: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Processes that look for loop nests and groups; all cores if absent."
        ),
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="OP",
            help="Say why an operator (or ONNX node) costs what it costs, and what would help.",
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print the figures of the whole network as JSON, and nothing else."
        ),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            is_eager=True,
            callback=_read_config,
            help="Take options from a TOML file; those of the command line count more.",
        ),
    ] = None,
    dump_config: Annotated[
        bool,
        typer.Option("--dump-config", help="Print the options as such a file, and do no more."),
    ] = False,
    list_archs: Annotated[
        bool,
        typer.Option(
            "--list-archs",
            is_eager=True,
            callback=_show_archs,
            help="Show the catalogue of architectures and exit.",
        ),
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    version: Version = False,
) -> None:
    """Compile a network for an accelerator, and prove the program by running it.

    The folder of results holds program.acc (for acc-run), program.asm, module.ir, model.onnx,
    trace.json (for ui.perfetto.dev), report.json, and report.html, the same for people.

    Several networks or machines give a folder each, MODEL.MACHINE.acc, and one table.
    """
    del config, list_archs, version
    with reported("acc-compile"):
        verbosity = chosen_verbosity(quiet=quiet, verbose=verbose)
        for path in models:
            if not path.exists():  # before seconds of imports
                raise ModelError(f"{path}: no such file")
        from .work import compile_network as work

        work.check_effects(verify, races=races, inputs=inputs, timing=timing)

        options = work.CompileOptions(
            mapper=mapper,
            objective=work.Objective(objective),
            scheduler=scheduler,
            fuse=work.Fuse(fuse),
            tiles=tiles,
            scratchpad=None if scratchpad is None else work.parse_budget(scratchpad),
            seed=seed,
            calibration=calibration,
            calibration_method=work.CalibrationMethod(calibration_method),
            percentile=work.PERCENTILE if percentile is None else percentile,
            accuracy=accuracy,
            shapes=work.parse_shapes(shape or []),
            constants=work.parse_constants(constant or []),
            verify=work.VerifyMode(verify),
            races=races is not False,
            timing=work.TimingModel(timing),
            inputs=inputs,
            pipeline=None if pipeline is None else work.pipeline_text(pipeline),
            settings=tuple(settings or ()),
            until=until,
            max_seconds=max_seconds,
            cache=None if no_cache else work.default_folder(),
            processes=work.cores() if processes is None else processes,
        )
        if dump_config:
            typer.echo(work.run_text(context, models, archs, options), nl=False)
            return
        if len(models) * len(archs) > 1:
            work.check_one(explain)
            from .work.compile_many import compile_many

            code = compile_many(
                models, archs, output, options, as_json=as_json, verbosity=verbosity
            )
            raise typer.Exit(code)
        work.compile_network(
            models[0],
            archs[0],
            output,
            options,
            explain=explain,
            as_json=as_json,
            verbosity=verbosity,
        )

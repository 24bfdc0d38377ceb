"""``acc-map``: schedule single layers, without a network around them."""

from pathlib import Path
from typing import Annotated

import typer

from .choices import CountingName, MemoryName, MetricName, ObjectiveName, PriorityName, TimingName
from .exit_codes import epilog
from .tool import ToolCommand, new_tool, reported
from .verbosity import Quiet, Verbose, chosen_verbosity
from .version import Version

app = new_tool()


@app.command(
    cls=ToolCommand,
    epilog=epilog(
        'acc-map --arch simba --layer "R=3 S=3 P=56 Q=56 C=64 K=64"',
        "acc-map --arch simba --layers layers.csv --mapper cosa,salsa --csv found.csv",
    ),
    no_args_is_help=True,
)
def acc_map(
    arch: Annotated[
        str,
        typer.Option(
            "--arch",
            "-a",
            metavar="NAME",
            help="A TOML file, or a name of acc-compile --list-archs.",
        ),
    ],
    layer: Annotated[
        str | None,
        typer.Option(
            "--layer", metavar="TEXT", help='A layer: "R=3 S=3 P=56 Q=56 C=64 K=64 stride=1".'
        ),
    ] = None,
    layers: Annotated[
        Path | None,
        typer.Option("--layers", metavar="FILE", help="CSV of layers: dnn,layer,R,S,P,Q,C,K,N,..."),
    ] = None,
    mapper: Annotated[
        str, typer.Option("--mapper", metavar="NAMES", help="Mappers, separated by commas.")
    ] = "cosa",
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler", metavar="NAMES", help="Compare tile schedulers instead: flexer,static."
        ),
    ] = None,
    metric: Annotated[
        MetricName, typer.Option("--metric", help="What tile schedulers minimise.")
    ] = "product",
    weight: Annotated[
        float,
        typer.Option("--weight", metavar="N", help="Of transfers, for --metric weighted: 0 .. 2."),
    ] = 1.0,
    priority: Annotated[
        PriorityName, typer.Option("--priority", help="Which tile operations come next.")
    ] = "best",
    memory: Annotated[
        MemoryName, typer.Option("--memory", help="Which tiles give way to others.")
    ] = "best",
    trade: Annotated[
        bool,
        typer.Option("--trade", help="Allow more cycles or bytes than static for a better metric."),
    ] = False,
    objective: Annotated[
        ObjectiveName, typer.Option("--objective", help="What to minimise.")
    ] = "latency",
    counting: Annotated[
        CountingName,
        typer.Option(
            "--counting", help="Whose rules count in the figures; salsa and loma search by them."
        ),
    ] = "accnn",
    timing: Annotated[
        TimingName,
        typer.Option(
            "--timing", help="network: also simulate the traffic of each nest over the mesh."
        ),
    ] = "analytical",
    spatial: Annotated[
        str | None,
        typer.Option(
            "--spatial",
            metavar="TEXT",
            help='Unrolled loops for salsa and loma: "P=14@column R=3@row K=4@row".',
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Write one row per layer and mapper."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the rows as JSON, and nothing else.")
    ] = False,
    even: Annotated[
        bool,
        typer.Option("--even", help="Only nests whose operands start at one loop of each level."),
    ] = False,
    emit: Annotated[
        str | None,
        typer.Option(
            "--emit",
            metavar="TOOL",
            help="Also write files for another tool: timeloop, zigzag, cuda.",
        ),
    ] = None,
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Folder for the files of --emit.")
    ] = None,
    imported: Annotated[
        Path | None,
        typer.Option(
            "--import",
            metavar="FILE",
            help="Judge the nest of a Timeloop mapping, for --layer, instead of looking for one.",
        ),
    ] = None,
    rename: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help='Levels of --import to those of the machine: "Registers=reg GlobalBuffer=gb".',
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the nest, its levels as boxes, as SVG."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of mappers that draw at random.")] = 0,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Map everything anew.")] = False,
    processes: Annotated[int, typer.Option(metavar="N", help="Processes at most.")] = 2,
    quiet: Quiet = False,
    verbose: Verbose = False,
    version: Version = False,
) -> None:
    """Map single layers and compare mappers, or judge a nest that another tool found."""
    del version
    with reported("acc-map"):
        verbosity = chosen_verbosity(quiet=quiet, verbose=verbose)
        from .work import map_layers as work

        work.map_layers(
            work.LayersRequest(
                arch=arch,
                layer=layer,
                layers=layers,
                mappers=tuple(mapper.split(",")),
                schedulers=None if scheduler is None else tuple(scheduler.split(",")),
                metric=metric,
                weight=weight,
                priority=priority,
                memory=memory,
                trade=trade,
                objective=objective,
                counting=counting,
                timing=timing,
                spatial=spatial,
                csv=csv,
                as_json=as_json,
                even=even,
                emit=emit,
                directory=directory,
                imported=imported,
                rename=rename,
                picture=picture,
                seed=seed,
                cached=not no_cache,
                processes=processes,
                verbosity=verbosity,
            )
        )

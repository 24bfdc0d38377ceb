"""``acc-map``: schedule single layers, without a network around them."""

from pathlib import Path
from typing import Annotated

import typer

from .choices import CountingName, MemoryName, MetricName, ObjectiveName, PriorityName
from .exit_codes import EXIT_CODES
from .tool import new_tool, reported

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
        MetricName, typer.Option("--metric", help="What tile schedulers minimise.")
    ] = "product",
    weight: Annotated[
        float, typer.Option("--weight", help="Of transfers, for --metric weighted: 0 .. 2.")
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
                spatial=spatial,
                csv=csv,
                emit=emit,
                directory=directory,
                seed=seed,
                cached=not no_cache,
                processes=processes,
            )
        )

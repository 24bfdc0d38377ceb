"""``acc-zoo``: write a network of the zoo as an ONNX file."""

from pathlib import Path
from typing import Annotated

import typer

from .exit_codes import EXIT_CODES
from .tool import new_tool, reported

app = new_tool()


@app.command(epilog=f"{EXIT_CODES}.")
def acc_zoo(
    name: Annotated[str | None, typer.Argument(help="A network of --list.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; NAME.onnx if not given.")
    ] = None,
    image_size: Annotated[
        int | None,
        typer.Option(help="Height and width of images, in pixels; as published if not given."),
    ] = None,
    sequence: Annotated[int, typer.Option(help="Length of texts, in tokens.")] = 128,
    batch: Annotated[int, typer.Option(help="Inputs per inference.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the weights, 0 or more.")] = 0,
    list_: Annotated[bool, typer.Option("--list", help="Show the networks and exit.")] = False,
) -> None:
    """Build a network with seeded weights and write it as an ONNX file."""
    with reported("acc-zoo"):
        from .work import write_network as work

        if list_:
            work.list_networks()
            return
        work.write_network(
            name, output, image_size=image_size, sequence=sequence, batch=batch, seed=seed
        )

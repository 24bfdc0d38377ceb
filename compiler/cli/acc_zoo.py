"""``acc-zoo``: write a network of the zoo as an ONNX file."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ...ir.errors import OptionError
from ...ir.files import check_writable, replacing
from ...models.zoo.build import build
from ...models.zoo.registry import NETWORKS, find
from .tool import EXIT_CODES, new_tool, reported

app = new_tool()


@app.command(epilog=f"{EXIT_CODES}.")
def acc_zoo(
    name: Annotated[str | None, typer.Argument(help="A network of --list.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; NAME.onnx if not given.")
    ] = None,
    image_size: Annotated[
        int, typer.Option(help="Height and width of the input, in pixels.")
    ] = 224,
    batch: Annotated[int, typer.Option(help="Images per inference.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the weights, 0 or more.")] = 0,
    list_: Annotated[bool, typer.Option("--list", help="Show the networks and exit.")] = False,
) -> None:
    """Build a network with seeded weights and write it as an ONNX file."""
    with reported("acc-zoo"):
        if list_:
            Console().print(_table())
            return
        _write_network(name, output, image_size=image_size, batch=batch, seed=seed)


def main() -> None:
    """Run the command line of ``acc-zoo``."""
    app()


def _write_network(
    name: str | None, output: Path | None, *, image_size: int, batch: int, seed: int
) -> None:
    if name is None:
        raise OptionError("no network given", hint="see acc-zoo --list")
    find(name)
    path = output or Path(f"{name}.onnx")
    check_writable(path)
    model = build(name, image_size=image_size, batch=batch, seed=seed)
    with replacing(path) as partial:
        partial.write_bytes(model.SerializeToString(deterministic=True))
    typer.echo(f"{path}: {name}, input {batch}x3x{image_size}x{image_size}, seed {seed}")


def _table() -> Table:
    table = Table("name", "parameters", "network", box=None)
    table.columns[1].justify = "right"
    for network in NETWORKS:
        table.add_row(network.name, f"{network.parameters:,}", network.summary)
    return table

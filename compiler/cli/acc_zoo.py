"""``acc-zoo``: write a network of the zoo as an ONNX file."""

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ...ir.errors import AccnnError, OptionError
from ...models.zoo.build import build
from ...models.zoo.registry import NETWORKS, find

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def acc_zoo(
    name: Annotated[str | None, typer.Argument(help="A network of --list.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write [default: NAME.onnx].")
    ] = None,
    image_size: Annotated[int, typer.Option(help="Height and width of the input [pixel].")] = 224,
    batch: Annotated[int, typer.Option(help="Images per inference.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the weights, 0 or more.")] = 0,
    list_: Annotated[bool, typer.Option("--list", help="Show the networks and exit.")] = False,
) -> None:
    """Build a network with seeded weights and write it as an ONNX file."""
    try:
        if list_:
            Console().print(_table())
            return
        _write_network(name, output, image_size=image_size, batch=batch, seed=seed)
    except AccnnError as error:
        typer.echo(f"acc-zoo: error: {error}", err=True)
        raise typer.Exit(error.exit_code) from error


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
    if not path.parent.is_dir():
        raise OptionError(f"cannot write {path}: {path.parent} is not a folder")
    if path.is_dir():
        raise OptionError(f"cannot write {path}: it is a folder")
    model = build(name, image_size=image_size, batch=batch, seed=seed)
    _write_atomically(path, model.SerializeToString(deterministic=True))
    typer.echo(f"{path}: {name}, input {batch}x3x{image_size}x{image_size}, seed {seed}")


def _write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            partial = Path(file.name)
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                partial.chmod(0o666 & ~_umask())
                partial.replace(path)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror}") from error


def _umask() -> int:
    """Return the process's file mode mask (reading it means setting it twice)."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _table() -> Table:
    table = Table("name", "parameters", "network", box=None)
    table.columns[1].justify = "right"
    for network in NETWORKS:
        table.add_row(network.name, f"{network.parameters:,}", network.summary)
    return table

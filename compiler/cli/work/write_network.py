"""Write a network of the zoo."""

from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from ....ir.codec.files import check_writable, replacing
from ....ir.errors import OptionError
from ....models.data.calibration import input_specs
from ....models.session import Model, save_model
from ....models.zoo.build import build
from ....models.zoo.registry import NETWORKS, find, published


def write_network(
    name: str | None,
    output: Path | None,
    *,
    image_size: int | None,
    sequence: int,
    batch: int,
    seed: int,
) -> None:
    """Build a network and write its file.

    Args:
        name: Of the zoo.
        output: The file; named after the network if not given.
        image_size: Height and width of images [pixel]; as published where ``None``.
        sequence: Length of texts [token].
        batch: Inputs per inference.
        seed: Of the weights.

    Raises:
        OptionError: There is no such network, or the file cannot be written.
    """
    if name is None:
        raise OptionError("no network given", hint="see acc-zoo --list")
    find(name)
    path = output or Path(f"{name}.onnx")
    check_writable(path)
    model = build(name, image_size=image_size, sequence=sequence, batch=batch, seed=seed)
    with replacing(path) as partial:
        save_model(model, partial)
    typer.echo(f"{path}: {name}, {_inputs(model)}, seed {seed}")


def list_networks() -> None:
    """Print the networks of the zoo."""
    table = Table("name", "parameters", "MACs", "operators", "network", "source", box=None)
    table.columns[0].no_wrap = True
    for column in table.columns[1:4]:
        column.justify = "right"
    for network in NETWORKS:
        built = published(network)
        table.add_row(
            network.name,
            f"{network.parameters:,}",
            f"{built.macs / 1e9:.3f} G",
            f"{built.operator_count}",
            network.summary,
            network.source,
        )
    Console().print(table)


def _inputs(model: Model) -> str:
    specs = input_specs(model)
    return ", ".join(f"{spec.name} {'x'.join(map(str, spec.shape))}" for spec in specs)

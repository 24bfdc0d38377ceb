"""Write a network of the zoo."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from ....ir.codec.files import check_writable, replacing
from ....ir.codec.json_codec import dump_json
from ....ir.errors import OptionError
from ....models.data.calibration import input_specs
from ....models.session import Model, save_model
from ....models.zoo.build import PRODUCER, build
from ....models.zoo.registry import NETWORKS, ZooNetwork, find, published
from ..verbosity import Verbosity

_PRODUCER_WITHIN = 64
"""An ONNX file names its producer behind one number, at its very beginning [byte]."""


def write_network(
    name: str | None,
    output: Path | None,
    *,
    image_size: int | None,
    sequence: int,
    batch: int,
    seed: int,
    verbosity: Verbosity,
) -> None:
    """Build a network and write its file.

    Args:
        name: Of the zoo.
        output: The file; named after the network if not given.
        image_size: Height and width of images [pixel]; as published where ``None``.
        sequence: Length of texts [token].
        batch: Inputs per inference.
        seed: Of the weights.
        verbosity: How much is said.

    Raises:
        OptionError: There is no such network, or the file cannot be written or is another's.
    """
    if name is None:
        raise OptionError("no network given", hint="see acc-zoo --list")
    find(name)
    path = output or Path(f"{name}.onnx")
    check_writable(path)
    _check_ours(path)
    model = build(name, image_size=image_size, sequence=sequence, batch=batch, seed=seed)
    with replacing(path) as partial:
        save_model(model, partial)
    if verbosity is not Verbosity.QUIET:
        typer.echo(f"{path}: {name}, {_inputs(model)}, seed {seed}")


def _check_ours(path: Path) -> None:
    """Check that a file is absent, or a network of the zoo: it can be made again.

    Raises:
        OptionError: It is somebody else's.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        start = file.read(_PRODUCER_WITHIN)
    if start and PRODUCER.encode() not in start:
        raise OptionError(
            f"will not overwrite {path}: acc-zoo did not write it",
            hint="choose another file with -o",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooRow:
    """What the list says of a network, at its published size.

    Attributes:
        name: What users call it.
        parameters: Trainable ones.
        macs: Multiply-accumulates of one inference.
        operators: ONNX operators.
        network: One line for people.
        source: Who published the number of parameters.
    """

    name: str
    parameters: int
    macs: int
    operators: int
    network: str
    source: str


def list_networks(*, as_json: bool = False) -> None:
    """Print the networks of the zoo.

    Args:
        as_json: Whether as JSON, an object per network.
    """
    rows = tuple(_row(network) for network in NETWORKS)
    if as_json:
        typer.echo(dump_json(rows), nl=False)
    else:
        _show(rows)


def _row(network: ZooNetwork) -> ZooRow:
    built = published(network)
    return ZooRow(
        name=network.name,
        parameters=network.parameters,
        macs=built.macs,
        operators=built.operator_count,
        network=network.summary,
        source=network.source,
    )


_WIDE = 72
"""Terminals with fewer columns do without operators and sources."""


def _show(rows: Sequence[ZooRow]) -> None:
    console = Console()
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("name", "parameters", "MACs"):
        table.add_column(name, no_wrap=True, justify="left" if name == "name" else "right")
    is_wide = console.width >= _WIDE
    if is_wide:
        table.add_column("operators", no_wrap=True, justify="right")
    table.add_column("network", overflow="fold")
    if is_wide:
        table.add_column("source", overflow="fold")
    for row in rows:
        size = (row.name, f"{row.parameters:,}", f"{row.macs / 1e9:.3f} G")
        others = (f"{row.operators}", row.network, row.source) if is_wide else (row.network,)
        table.add_row(*size, *others)
    console.print(table)


def _inputs(model: Model) -> str:
    specs = input_specs(model)
    return ", ".join(f"{spec.name} {'x'.join(map(str, spec.shape))}" for spec in specs)

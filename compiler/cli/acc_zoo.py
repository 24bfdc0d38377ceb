"""``acc-zoo``: write a network of the zoo as an ONNX file."""

from pathlib import Path
from typing import Annotated

import typer

from ...ir.errors import OptionError
from .exit_codes import epilog
from .tool import ToolCommand, new_tool, reported
from .verbosity import Quiet, Verbose, chosen_verbosity
from .version import Version

app = new_tool()


@app.command(
    cls=ToolCommand,
    epilog=epilog("acc-zoo --list", "acc-zoo resnet18 --image-size 64 -o net.onnx"),
    no_args_is_help=True,
)
def acc_zoo(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A network of --list.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write; NAME.onnx if not given."
        ),
    ] = None,
    image_size: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Height and width of images, in pixels; as published if not given."
        ),
    ] = None,
    sequence: Annotated[int, typer.Option(metavar="N", help="Length of texts, in tokens.")] = 128,
    batch: Annotated[int, typer.Option(metavar="N", help="Inputs per inference.")] = 1,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the weights, 0 or more.")] = 0,
    list_: Annotated[bool, typer.Option("--list", help="Show the networks and exit.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Show them as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    version: Version = False,
) -> None:
    """Build a network with seeded weights and write it as an ONNX file."""
    del version
    with reported("acc-zoo"):
        verbosity = chosen_verbosity(quiet=quiet, verbose=verbose)
        from .work import write_network as work

        if list_:
            work.list_networks(as_json=as_json)
            return
        if as_json:
            raise OptionError("--json shows the networks of --list", hint="acc-zoo --list --json")
        work.write_network(
            name,
            output,
            image_size=image_size,
            sequence=sequence,
            batch=batch,
            seed=seed,
            verbosity=verbosity,
        )

"""What users learn of plug-ins that cannot be used."""

from typing import Any

import typer

from ....ir.plugins import Plugins


def tell_broken(found: Plugins[Any]) -> None:
    """Tell which plug-ins cannot be used, and why."""
    for error in found.broken.values():
        typer.echo(f"warning: {error}", err=True)

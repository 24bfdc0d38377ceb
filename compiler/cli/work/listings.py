"""What ``acc-compile --list-archs`` and ``acc-opt --list-passes`` show."""

from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from ....backend.load import catalogue, plugin_targets
from ....ir.module import Stage
from ....ir.plugins import Plugins
from ....passes.base import STAGES
from ....passes.options import option_fields
from ....passes.registry import PASSES, plugin_passes


def list_archs() -> None:
    """Print name and description of every architecture, and which plug-ins are broken."""
    table = Table("name", "description", box=None, pad_edge=False)
    for entry in catalogue():
        table.add_row(entry.name, entry.description)
    Console().print(table)
    _say_broken(plugin_targets())


def list_passes() -> None:
    """Print the registered passes with stages and options, and which plug-ins are broken."""
    others = plugin_passes()
    lines: list[str] = []
    for item in (*PASSES, *others.usable.values()):
        lines += [item.name, f"    {item.summary()}"]
        lines.append(f"    {_joined(item.needs)} -> {_joined(item.gives)}")
        lines += [
            f"    {option.name}={option.print(option.default)}  ({option.type_text})"
            for option in option_fields(item)
        ]
    typer.echo("\n".join(lines))
    _say_broken(others)


def _joined(stages: frozenset[Stage]) -> str:
    return ", ".join(stage for stage in STAGES if stage in stages)


def _say_broken(plugins: Plugins[Any]) -> None:
    """Say which plug-ins cannot be used, and why."""
    for error in plugins.broken.values():
        typer.echo(f"warning: {error}", err=True)
